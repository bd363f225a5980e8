"""A lane whose bound is one microsecond higher than its slack allows.

Defect: `ts - slack + 1`: a record exactly a slack late is late.
How one gets it: an inclusive bound converted to an exclusive one.
Expected: a lane's progress is wrong.
For attributes other than time, whose progress is not reported, the rows differ.
"""

from __future__ import annotations

import polars as pl

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.planted import planted
from windowing.engine.progress.slack import SlackTime
from windowing.engine.wids import Ints
from windowing.model.file.pipeline import Pipeline
from windowing.model.progress import Slack


def by_slack(pipeline: Pipeline) -> bool:
    """Whether lanes have a slack in time."""
    return isinstance(pipeline.source.disorder, Slack)


class ShortSlack(SlackTime):
    """Adds a microsecond to each bound."""

    def bounds(self, records: pl.DataFrame, memory: list[int]) -> Ints:  # noqa: D102
        return super().bounds(records, memory) + 1


BUG = planted_bug(
    planted("slack_one_short", ShortSlack),
    "progress",
    "deterministic",
    "dead letters",
    "conservation",
    shows_in=by_slack,
)
