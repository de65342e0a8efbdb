"""A trained gate: a threshold on a weighted sum of features (logistic regression)."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["Gate"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """The weights of a logistic regression in log odds, and the threshold from which a text is kept."""

    threshold: float
    intercept: float
    weights: Mapping[str, float]

    def margin(self, features: Mapping[str, float]) -> float:
        """Return the distance from the threshold in log odds; the text is kept when it is not negative."""
        weights = self.weights
        return self.intercept + sum(weights.get(name, 0.0) * value for name, value in features.items()) - self.threshold

    @staticmethod
    def score(margin: float) -> float:
        """Return a margin as a score from 0 to 1; 0.5 is the threshold."""
        return 1 / (1 + math.exp(-max(-30.0, min(30.0, margin))))
