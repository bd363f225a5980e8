"""Bounded disorder: a record promises that none older than its time less the slack follows.

`ordered` is a slack of zero.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from windowing.spec.lengths import INT64_MIN


def slack_bounds(ts_us: NDArray[np.int64], slack_us: int) -> NDArray[np.int64]:
    """The bound after each record, `ts_us - slack_us`, never below the smallest 64-bit integer."""
    lowest = INT64_MIN + slack_us
    return np.where(ts_us < lowest, np.int64(INT64_MIN), ts_us - np.int64(slack_us))
