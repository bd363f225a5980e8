"""Bounded disorder: a record promises that none older than its time minus the slack follows.

`ordered` is a slack of zero.
"""

from __future__ import annotations

import polars as pl

from windowing.engine.columns import TIME
from windowing.engine.progress.generator import OwnRecords, lane_generator
from windowing.engine.wids import Ints, lowered
from windowing.model.progress import Slack


@lane_generator(Slack.name, memoryless=True)
class SlackTime(OwnRecords):
    """A generator whose bound after a record is its time minus the slack.

    Args:
        data: the slack.
        lane: the lane; all lanes have the same slack.
    """

    def __init__(self, data: Slack, lane: str) -> None:
        del lane
        self._slack_us = data.slack_us

    def bounds(self, records: pl.DataFrame, memory: list[int]) -> Ints:
        """Return the bound after each record."""
        return lowered(records[TIME].to_numpy(), self._slack_us)
