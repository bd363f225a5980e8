"""The closed list of functions and units of expressions, as data; `semantics.md` says what they do.

The names of calls in the tree are those of `FUNCTIONS`, and of operators:
`= <> < <= > >= + - * / div mod || and or not is_null in between like case negate add_interval`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class Form:
    """How a function is called.

    Attributes:
        usage: a call, for messages.
        least, most: how many arguments it takes; most = None: any number.
    """

    usage: str
    least: int
    most: int | None


FUNCTIONS: Final = {
    "abs": Form("abs(x)", 1, 1),
    "cast": Form("cast(x AS int)", 1, 1),
    "ceil": Form("ceil(x)", 1, 1),
    "coalesce": Form("coalesce(a, b)", 1, None),
    "date_trunc": Form("date_trunc('day', t, 'Europe/Berlin')", 2, 3),
    "extract": Form("extract(hour FROM t, 'Europe/Berlin')", 1, 2),
    "floor": Form("floor(x)", 1, 1),
    "greatest": Form("greatest(a, b)", 1, None),
    "least": Form("least(a, b)", 1, None),
    "length": Form("length(s)", 1, 1),
    "lower": Form("lower(s)", 1, 1),
    "nullif": Form("nullif(a, b)", 2, 2),
    "round": Form("round(x, 2)", 1, 2),
    "starts_with": Form("starts_with(s, 'prefix')", 2, 2),
    "substr": Form("substr(s, 1, 8)", 2, 3),
    "trim": Form("trim(s)", 1, 1),
    "upper": Form("upper(s)", 1, 1),
}

TRUNC_UNITS: Final = ("second", "minute", "hour", "day", "week", "month", "quarter", "year")
"""Units of `date_trunc`; weeks begin on Mondays."""

EXTRACT_UNITS: Final = (
    *("second", "minute", "hour", "day", "isodow", "doy"),
    *("week", "month", "quarter", "isoyear", "year"),
)
"""Units of `extract`; `week` and `isoyear` are those of ISO 8601, `isodow` is 1 on Mondays."""

INTERVAL_UNITS: Final = {
    "second": 1_000_000,
    "minute": 60_000_000,
    "hour": 3_600_000_000,
    "day": 86_400_000_000,
    "week": 604_800_000_000,
}
"""Units of intervals, in microseconds: a day is 24 hours."""

ROUND_PLACES: Final = 38
"""`round` takes from -38 to 38 places."""
