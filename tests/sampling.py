"""Large products of cases: all of them by night, a sample in any other run."""

import os
from collections.abc import Iterable
from typing import TypeVar

Case = TypeVar("Case")


def sampled(cases: Iterable[Case], every: int) -> list[Case]:
    """Every n-th case, the same in each run; by night (`make nightly`) every case.

    Args:
        cases: a product, in the order of its factors.
        every: n; without a common factor with the size of any factor, so that each value of each
            factor is met.
    """
    whole = list(cases)
    return whole if os.environ.get("HYPOTHESIS_PROFILE") == "nightly" else whole[::every]
