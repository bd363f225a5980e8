"""Bounded disorder: a record promises that none older than its time less the slack follows.

`ordered` is a slack of zero.
"""

from __future__ import annotations

import polars as pl

from windowing.engine.columns import TIME
from windowing.engine.progress.generator import OwnRecords
from windowing.engine.wids import Ints, lowered


class SlackTime(OwnRecords):
    """The bound after a record is its time less the slack.

    Args:
        slack_us: the slack.
    """

    def __init__(self, slack_us: int) -> None:
        self._slack_us = slack_us

    def bounds(self, records: pl.DataFrame, memory: list[int]) -> Ints:
        """The bound after each record."""
        return lowered(records[TIME].to_numpy(), self._slack_us)
