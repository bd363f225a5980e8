"""Bounded disorder: a record promises that none older than its time less the slack follows.

`ordered` is a slack of zero.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from windowing.progress.generator import Ints, OwnRecords
from windowing.spec.lengths import INT64_MIN


class SlackTime(OwnRecords):
    """The bound after a record is its time less the slack.

    Args:
        slack_us: the slack.
    """

    def __init__(self, slack_us: int) -> None:
        self._slack_us = slack_us

    def bounds(self, records: pl.DataFrame, memory: list[int]) -> Ints:
        """The bound after each record."""
        return lowered(records["ts_us"].to_numpy(), self._slack_us)


def lowered(ts_us: Ints, by_us: int) -> Ints:
    """Each time less so much, never below the smallest 64-bit integer."""
    lowest = INT64_MIN + by_us
    return np.where(ts_us < lowest, np.int64(INT64_MIN), ts_us - np.int64(by_us))
