"""Schedules: of incremental runs, and of the upkeep of tables.

A schedule is a cron expression, or `continuous` for none. Valid are exactly the expressions that
Airflow accepts as a timetable: minute, hour, day, month, weekday.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Annotated, Final

from pydantic import AfterValidator, BeforeValidator, Field

from windowing.model.errors import shown
from windowing.model.event_time import SpecModel
from windowing.model.lengths import duration_us

CONTINUOUS: Final = "continuous"

_PRESETS: Final = frozenset({"@hourly", "@daily", "@weekly", "@monthly", "@yearly"})
# Besides names of months and days, cron has `L` and `#`; `R` and `H` are random and refused.
_FIELD: Final = re.compile(r"[0-9A-Za-z*/,#?-]{1,200}")
_LOTS: Final = re.compile(r"(?<![A-Za-z])[RrHh](?![A-Za-z])")
# Only to test whether a schedule ever fires.
_SOME_INSTANT: Final = datetime(2024, 1, 1, tzinfo=UTC)


def check_schedule(value: object) -> str:
    """Check that a schedule is `continuous`, or a cron expression that fires at some time.

    Raises:
        ValueError: it is not.
    """
    if isinstance(value, str) and (value == CONTINUOUS or value in _PRESETS):
        return value
    fields = value.split() if isinstance(value, str) else []
    legal = len(fields) == 5 and all(map(_FIELD.fullmatch, fields))
    if not isinstance(value, str) or not legal or _LOTS.search(value):
        msg = (
            f"{shown(value)} is neither continuous nor a cron expression, as "
            'schedule: "*/15 * * * *" (minute hour day month weekday)'
        )
        raise ValueError(msg)
    from croniter import CroniterError, croniter  # noqa: PLC0415 - wanted only here

    try:
        croniter(value, _SOME_INSTANT).get_next()
    except (CroniterError, ValueError) as error:
        msg = f'{shown(value)} is not a schedule ({error}): write one as "*/15 * * * *"'
        raise ValueError(msg) from None
    return value


Schedule = Annotated[str, BeforeValidator(check_schedule)]


RETENTION_LEAST: Final = timedelta(hours=1)
"""The shortest retention: a batch that is being written has files that no commit names yet, and a
reader may still be reading an older version."""

_RETENTION_US: Final = timedelta(days=7) // timedelta(microseconds=1)


def _at_times(schedule: str) -> str:
    if schedule == CONTINUOUS:
        msg = 'upkeep is due at times: write schedule: "@daily", or leave out upkeep'
        raise ValueError(msg)
    return schedule


_Retention = Annotated[
    int,
    BeforeValidator(partial(duration_us, minimum_us=RETENTION_LEAST // timedelta(microseconds=1))),
]


class Upkeep(SpecModel):
    """The section `upkeep:` of a pipeline file.

    Attributes:
        schedule: a cron expression, at which small files are merged and old ones removed.
        retention_us: how long files stay that the newest version of a table does not need.
    """

    schedule: Annotated[Schedule, AfterValidator(_at_times)]
    retention_us: _Retention = Field(default=_RETENTION_US, alias="retention")

    @property
    def retention(self) -> timedelta:
        """How long files stay that the newest version of a table does not need."""
        return timedelta(microseconds=self.retention_us)
