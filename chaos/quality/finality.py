"""Up to which event time the windows of a run are final."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Final

from windowing.model.file.pipeline import Pipeline
from windowing.model.query import Flow
from windowing.model.rules import ends_at_a_time

Reached = Mapping[str, int | float | None]
"""Per lane, its progress in microseconds as of a batch whose rows are all written; None: it had
none yet; `math.inf`: it has ended."""

ALL: Final = "all"
"""Instead of an instant: every lane has ended, and all windows are final."""

NOTHING_DUE: Final = "nothing due"
"""Instead of an instant that a log has reached: no window has ended yet by it."""

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_FIRST_US, _LAST_US = (
    (end - _EPOCH) // timedelta(microseconds=1)
    for end in (datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC))
)


def final_until(pipeline: Pipeline, reached: Reached) -> dict[str, str | None]:
    """Return, by query, the instant T in ISO 8601 such that windows that end by T never change.

    All of their rows are written, too: the slowest lane has passed T, and, if late records revise
    windows (`update`), T is before that by the retention and the length of a late epoch. None: T is
    not known (a lane without progress, no limit to the retention) or does not exist, as for joins
    without windows, operators, and windows whose ends are not event times.

    Args:
        reached: the progress of its lanes; of lanes that are not named nothing is known.
    """
    return {query.name: _of(query, pipeline, reached) for query in pipeline.flows}


def _of(query: Flow, pipeline: Pipeline, reached: Reached) -> str | None:
    source = pipeline.source
    window = query.extents_in
    if window is None or not ends_at_a_time(query, source.event_time.field):
        return None
    declared = {source.lane(number): None for number in range(source.partitions)}
    known = [us for us in {**declared, **reached}.values() if us is not None]
    if len(known) < len({**declared, **reached}):
        return None
    slowest = min(known)
    if slowest == math.inf:
        return ALL
    revisable_us = 0
    if query.late.policy == "update":
        if query.retention_us is None:
            return None
        revisable_us = query.retention_us + (query.late.every_us or 0)
    # Windows at records include their end, at which another record may still come.
    inclusive_us = 1 if window.traits.at_records else 0
    return instant(int(slowest) - revisable_us - inclusive_us)


def instant(us: int) -> str | None:
    """Spell a time in ISO 8601; after the year 9999 its last instant, None before the year 1."""
    if us < _FIRST_US:
        return None
    return (_EPOCH + timedelta(microseconds=min(us, _LAST_US))).isoformat()
