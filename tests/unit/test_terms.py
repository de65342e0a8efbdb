"""The terms of a ranking, as an explanation shows them."""

import numpy as np

from recall.search.candidates import Terms


def test_rows_that_may_not_be_found_disturb_no_term() -> None:
    terms = Terms(2, kept=True)
    hidden = np.float32(-np.inf)
    for step, scores in enumerate(([1, 1], [3, hidden], [4, hidden])):
        terms.added(f"step {step}", np.array(scores, np.float32))
    assert terms.of(0) == {"step 0": 1.0, "step 1": 2.0, "step 2": 1.0}
