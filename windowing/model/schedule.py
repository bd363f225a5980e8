"""When increments of a pipeline run: `continuous` for never, or a cron expression.

Exactly those expressions are valid that Airflow accepts as a timetable: minute, hour, day, month,
    weekday.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Annotated, Final

from croniter import CroniterError, croniter
from pydantic import BeforeValidator

from windowing.model.errors import shown

CONTINUOUS: Final = "continuous"

_PRESETS: Final = frozenset({"@hourly", "@daily", "@weekly", "@monthly", "@yearly"})
# Names of months and days aside, `L` and `#` are the letters of cron; `R` and `H` draw lots.
_FIELD: Final = re.compile(r"[0-9A-Za-z*/,#?-]{1,200}")
_LOTS: Final = re.compile(r"(?<![A-Za-z])[RrHh](?![A-Za-z])")
# Only for the question whether a schedule ever comes.
_SOME_INSTANT: Final = datetime(2024, 1, 1, tzinfo=UTC)


def check_schedule(value: object) -> str:
    """See that a schedule is `continuous`, or a cron expression that some instant fulfils.

    Raises:
        ValueError: it is neither.
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
    try:
        croniter(value, _SOME_INSTANT).get_next()
    except (CroniterError, ValueError) as error:
        msg = f'{shown(value)} is not a schedule ({error}): write one as "*/15 * * * *"'
        raise ValueError(msg) from None
    return value


Schedule = Annotated[str, BeforeValidator(check_schedule)]
