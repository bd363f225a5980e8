"""The upkeep of a pipeline's tables: when it is due, and how long replaced files stay."""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from typing import Annotated, Final

from pydantic import AfterValidator, BeforeValidator, Field

from windowing.model.lengths import duration_us
from windowing.model.schedule import CONTINUOUS, Schedule
from windowing.model.source import SpecModel

RETENTION_LEAST: Final = timedelta(hours=1)
"""The shortest retention: a batch that is being written has files that no commit names yet, and a
reader may still be reading an older version."""

_RETENTION_US: Final = timedelta(days=7) // timedelta(microseconds=1)


def _at_times(schedule: str) -> str:
    """Check that a schedule has times.

    Raises:
        ValueError: it is `continuous`.
    """
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
