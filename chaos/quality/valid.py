"""Which entries of a `quality` block are valid, with Great Expectations asked about the doubtful.

To import it takes a second. An entry whose expectation and arguments are listed here is valid
without its opinion; of all others it alone says whether they are, and what is wrong.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from chaos.quality.block import Check, read_block
from chaos.quality.expectation import (
    COMPLETE,
    CONSERVED,
    EXPECTATIONS,
    FEW_DEAD,
    FEW_LATE,
    FEW_REVISED,
    PLAUSIBLE,
    REVISIONS,
    SUMS_FIT,
    WINDOW_SET,
)
from windowing.model.file.pipeline import Pipeline


def validate(pipeline: Pipeline, file: str = "<pipeline>") -> list[Check]:
    """Read a pipeline's `quality` block with the names and arguments of Great Expectations.

    Raises:
        PipelineError: with every problem that was found.
        ModuleNotFoundError: Great Expectations is needed, and not installed.
    """
    checks = read_block(pipeline, file)
    if not all(map(is_surely_valid, checks)):
        from chaos.quality import suites  # noqa: PLC0415 - seconds, wanted only here

        suites.validate(pipeline, checks, file)
    return checks


def is_surely_valid(check: Check) -> bool:
    """Whether an entry is valid for certain; otherwise it may be, too."""
    known, given = _KNOWN.get(check.expectation), check.arguments
    # A plug-in's expectation of the same name comes first, and may take other arguments.
    if known is None or check.expectation in EXPECTATIONS:
        return False
    takes = {**known.needs, **known.may_have}
    return (
        known.needs.keys() <= given.keys() <= takes.keys()
        and (not known.one_of or any(name in given for name in known.one_of))
        and all(takes[name](value) for name, value in given.items())
        and len({isinstance(given[name], datetime) for name in _BOUNDS if name in given}) <= 1
    )


_Takes = dict[str, Callable[[Any], bool]]


@dataclass(frozen=True)
class _Arguments:
    """What an expectation takes: each argument, and whether a value is legal for it."""

    needs: _Takes = field(default_factory=dict)
    may_have: _Takes = field(default_factory=dict)
    one_of: tuple[str, ...] = ()


def _text(value: Any) -> bool:
    return isinstance(value, str) and bool(value)


def _texts(value: Any) -> bool:
    return isinstance(value, list) and len(value) > 1 and all(map(_text, value))


def _flag(value: Any) -> bool:
    return isinstance(value, bool)


def _count(value: Any) -> bool:
    return type(value) is int and value > 0


def _number(value: Any) -> bool:
    return type(value) is int or (type(value) is float and abs(value) < float("inf"))


def _share(value: Any) -> bool:
    return _number(value) and 0 <= value <= 1


def _bound(value: Any) -> bool:
    return _number(value) or isinstance(value, datetime)


def _values(value: Any) -> bool:
    kinds = (_text, _number)
    return isinstance(value, list) and bool(value) and any(all(map(kind, value)) for kind in kinds)


_BOUNDS: Final = ("min_value", "max_value")
_COLUMN: Final[_Takes] = {"column": _text}
_PAIR: Final[_Takes] = {"column_A": _text, "column_B": _text}
_MOSTLY: Final[_Takes] = {"mostly": _share}
_BOUNDED: Final[_Takes] = dict.fromkeys(_BOUNDS, _bound)
_NUMBERS: Final[_Takes] = dict.fromkeys(_BOUNDS, _number)

_KNOWN: Final = {
    WINDOW_SET: _Arguments(),
    REVISIONS: _Arguments(),
    CONSERVED: _Arguments(),
    FEW_DEAD: _Arguments({}, {"max_share": _share}),
    FEW_LATE: _Arguments({}, {"max_share": _share}),
    PLAUSIBLE: _Arguments({}, {"max_share": _share}),
    SUMS_FIT: _Arguments({}, {"max_share": _share}),
    COMPLETE: _Arguments({}, {"max_share": _share, "last": _count}),
    FEW_REVISED: _Arguments({"max_share": _share}, {"last": _count}),
    "expect_table_row_count_to_equal": _Arguments({"value": _count}),
    "expect_column_mean_to_be_between": _Arguments(_COLUMN, _NUMBERS, _BOUNDS),
    "expect_column_values_to_be_between": _Arguments(_COLUMN, _BOUNDED | _MOSTLY, _BOUNDS),
    "expect_column_values_to_be_in_set": _Arguments(_COLUMN | {"value_set": _values}, _MOSTLY),
    "expect_column_values_to_be_unique": _Arguments(_COLUMN, _MOSTLY),
    "expect_column_values_to_match_regex": _Arguments(_COLUMN | {"regex": _text}, _MOSTLY),
    "expect_column_values_to_not_be_null": _Arguments(_COLUMN, _MOSTLY),
    "expect_column_pair_values_a_to_be_greater_than_b": _Arguments(
        _PAIR, {"or_equal": _flag, **_MOSTLY}
    ),
    "expect_compound_columns_to_be_unique": _Arguments({"column_list": _texts}, _MOSTLY),
}
