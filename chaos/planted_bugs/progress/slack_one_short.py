"""A lane whose bound is one microsecond further than its slack allows.

Defect: `ts - slack + 1`: a record exactly a slack late is late.
How one gets it: a bound that is read as "all up to and with", turned into "all below".
Expected: a lane's progress is not what its records say.
Of another attribute than the time, whose progress no lane tells, its rows show it.
"""

from __future__ import annotations

import polars as pl

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.planted import planted
from windowing.engine.progress.slack import SlackTime
from windowing.engine.wids import Ints
from windowing.model.file.pipeline import Pipeline
from windowing.model.progress.disorder import Slack


def by_slack(pipeline: Pipeline) -> bool:
    """Lanes have a slack in time."""
    return isinstance(pipeline.source.disorder, Slack)


class ShortSlack(SlackTime):
    """Promises one microsecond more."""

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
