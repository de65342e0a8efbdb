"""The form of a trained gate: a threshold over a sum of weighted features."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["Gate"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """Log odds that a text holds something worth keeping, and from where on it is kept."""

    threshold: float
    intercept: float
    weights: Mapping[str, float]

    def margin(self, features: Mapping[str, float]) -> float:
        """How far above the threshold: kept when not negative."""
        weights = self.weights
        return self.intercept + sum(weights.get(name, 0.0) * value for name, value in features.items()) - self.threshold

    @staticmethod
    def score(margin: float) -> float:
        """0..1; a half is the threshold."""
        return 1 / (1 + math.exp(-max(-30.0, min(30.0, margin))))
