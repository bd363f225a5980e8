"""The `quality` block of a pipeline file: expectations, their rows, and their arguments.

    quality:
      - {query: hourly, expect_column_values_to_be_between: {column: flights, min_value: 1}}
      - {query: hourly, revisions: all, expect_column_values_to_not_be_null: {column: records}}
      - {query: hourly, expect_window_set_to_match_definition: {}}
      - {query: hourly, expect_revisions_to_rise_without_holes: {}}
      - {expect_records_to_be_conserved: {}}

An entry is a mapping with exactly one expectation, by its name in Great Expectations, and its
arguments. It also has `query`, the table to judge, and `revisions`: `final` (the default: only the
last revision of each window and key) or `all`. Expectations about revisions always see all of them.
Those about records are judged per query; without `query` they apply to every query.

What our own expectations compare with comes from the pipeline and its log, and cannot be written
here (`expected`, `read`, `reference`, `window_columns`). Instants are compared as instants: write
`min_value: 2013-01-01T00:00:00Z`, without quotes.

Expectations that apply by default: of the records read, at most a tenth are bad, and at most a
tenth are too late to count; where ints are summed, every sum fits int64; where windows end at event
times, these are plausible. An entry of the same name replaces the default
(`{expect_dead_records_to_be_few: {max_share: 0.4}}`); a share of 1 ends it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from typing import Any, Final, Literal, cast

from chaos.quality.columns import column_names
from chaos.quality.expectation import (
    COMPLETE,
    CONSERVED,
    FEW_DEAD,
    FEW_LATE,
    FEW_REVISED,
    FRESH,
    OF_COUNTS,
    OF_REVISIONS,
    PLAUSIBLE,
    REVISIONS,
    SUMS_FIT,
    WINDOW_SET,
)
from windowing.model.errors import PipelineError, Problem, shown
from windowing.model.file.pipeline import Pipeline
from windowing.model.file.yaml_lines import Path, line_of, load_with_lines
from windowing.model.query import Flow
from windowing.model.rules import ends_at_a_time
from windowing.model.source import Source
from windowing.model.windows.traits import Ends

SHARE_MAX: Final = 0.1
"""Default maximum share of bad, and of late, records; generous, far above a healthy share."""

Revisions = Literal["final", "all"]

_EXAMPLE = "as {query: hourly, expect_column_values_to_be_between: {column: records, min_value: 1}}"
_SUPPLIED = {
    WINDOW_SET: ("expected",),
    COMPLETE: ("periods",),
    REVISIONS: ("window_columns", "with_holes"),
    FEW_REVISED: ("window_columns",),
    CONSERVED: ("read",),
    FRESH: ("reference",),
    PLAUSIBLE: ("unit", "first_us", "end_us", "progress"),
}
# Internal to Great Expectations, or (conditions in text) evaluated as code.
_REFUSED = (
    *("id", "meta", "rendered_content", "catch_exceptions", "result_format"),
    *("row_condition", "condition_parser"),
)
_NUMBERED = (Ends.SLIDES, Ends.CALENDAR, Ends.ROWS, Ends.NUMBERED)
_ONE_COLUMN = ("column", "column_A", "column_B")
_ABOUT_COLUMNS = ("expect_column_to_exist", "expect_table_column")


@dataclass(frozen=True)
class Check:
    """One entry of the block.

    Attributes:
        query: the query whose rows are judged; None: the records of every query.
        arguments: the arguments in the file; instants have a time zone.
        revisions: only the last revision of each window and key, or all of them.
    """

    query: str | None
    expectation: str
    arguments: dict[str, Any]
    revisions: Revisions
    line: int
    field: str


class _Mistake(ValueError):
    def __init__(self, path: Path, message: str) -> None:
        self.path = path
        super().__init__(message)


def read_block(pipeline: Pipeline, file: str = "<pipeline>") -> list[Check]:
    """Read the block, without Great Expectations and so without checking names and arguments.

    Messages name the pipeline's `file`.

    Raises:
        PipelineError: with every problem that was found.
    """
    lines = load_with_lines(pipeline.text, file)[1] if pipeline.text else {}
    checks: list[Check] = []
    problems: list[Problem] = []
    for index, entry in enumerate(pipeline.quality):
        here: Path = ("quality", index)
        try:
            checks.append(_check(pipeline, entry, here, lines))
        except _Mistake as mistake:
            problems.append(_problem(file, mistake.path, lines, str(mistake)))
    if problems:
        raise PipelineError(problems)
    return checks


def with_defaults(pipeline: Pipeline, checks: list[Check]) -> list[Check]:
    """Return the entries, followed by the defaults that they do not replace."""
    added = []
    for name in (FEW_DEAD, FEW_LATE):
        said = {check.query for check in checks if check.expectation == name}
        if not said:
            added.append(_default(name, None))
        elif None not in said:
            others = (query.name for query in pipeline.flows if query.name not in said)
            added += [_default(name, query) for query in others]
    source = pipeline.source
    for name, applies in ((SUMS_FIT, _may_overflow), (PLAUSIBLE, _may_be_implausible)):
        said = {check.query for check in checks if check.expectation == name}
        for query in pipeline.flows:
            if query.name not in said and applies(query, source):
                judged = _judged_by_default(name, query)
                added.append(Check(query.name, name, {}, judged, 0, "quality"))
    return [*checks, *added]


def _judged_by_default(name: str, query: Flow | None) -> Revisions:
    if name in OF_REVISIONS:
        return "all"
    # Only rows that show the whole window replace the one before.
    parts = query is not None and query.accumulation == "discarding"
    return "all" if name == SUMS_FIT and parts else "final"


def _default(name: str, query: str | None) -> Check:
    return Check(query, name, {"max_share": SHARE_MAX}, "final", 0, "quality")


def _problem(file: str, path: Path, lines: dict[Path, int], message: str) -> Problem:
    return Problem(file, line_of(path, lines), ".".join(map(str, path)), message)


def _check(pipeline: Pipeline, entry: dict[str, Any], here: Path, lines: dict[Path, int]) -> Check:
    name = _expectation(entry, here)
    arguments = _arguments(name, entry[name], (*here, name))
    query = _query(pipeline, entry, name, here)
    revisions = _revisions(entry, name, query, here)
    if query is not None and name not in OF_COUNTS:
        _known_columns(query, name, arguments, (*here, name))
        if (problem := _misfit(name, query, pipeline.source)) is not None:
            raise _Mistake((*here, name), problem)
    _possible(arguments, (*here, name))
    return Check(
        query=None if query is None else query.name,
        expectation=name,
        arguments=arguments,
        revisions=revisions,
        line=line_of((*here, name), lines),
        field=".".join(map(str, (*here, name))),
    )


def _expectation(entry: dict[str, Any], here: Path) -> str:
    names = [name for name in entry if name not in ("query", "revisions")]
    strange = [name for name in names if not str(name).startswith("expect_")]
    if strange:
        msg = (
            f"{strange[0]!r} is neither query, nor revisions, nor the name of an expectation, "
            f"which begins with expect_: {_EXAMPLE}"
        )
        raise _Mistake((*here, strange[0]), msg)
    if len(names) != 1:
        found = ", ".join(names) or "none"
        msg = f"an entry has exactly one expectation, this one has {found}: write {_EXAMPLE[3:]}"
        raise _Mistake(here, msg)
    return names[0]


def _arguments(name: str, value: object, here: Path) -> dict[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        msg = f"{value!r} are no arguments: they are a mapping by name, {{}} for none, {_EXAMPLE}"
        raise _Mistake(here, msg)
    for argument in value:
        if argument in _SUPPLIED.get(name, ()):
            msg = f"{argument} comes from the pipeline and its log: take it out"
            raise _Mistake((*here, argument), msg)
        if argument in _REFUSED:
            msg = f"{argument} cannot be set in a pipeline file: take it out"
            raise _Mistake((*here, str(argument)), msg)
    return {str(argument): _with_zone(part) for argument, part in value.items()}


def _misfit(name: str, query: Flow, source: Source) -> str | None:
    if name == COMPLETE and not _is_numbered(query):
        return (
            f"the windows of {query.name} are not numbered in a row, so that none can be missing "
            f"between two: use {WINDOW_SET}"
        )
    if name == COMPLETE and query.having is not None:
        return (
            f"having leaves out rows of {query.name}, so that a window which is missing says "
            f"nothing: use {WINDOW_SET}, which knows which ones are sent"
        )
    if name == SUMS_FIT and not query.may_overflow(source.fields):
        return f"{query.name} has neither sums of ints nor classes of yours: take it out"
    if name in (FRESH, PLAUSIBLE) and not _ends_in_time(query, source):
        return (
            f"the windows of {query.name} do not end at event times ({source.event_time.field}), "
            "so that they have no age, and no date: take it out"
        )
    return None


def _is_numbered(query: Flow) -> bool:
    return query.window is not None and query.window.traits.ends in _NUMBERED


def _may_overflow(query: Flow, source: Source) -> bool:
    return bool(query.may_overflow(source.fields))


def _may_be_implausible(query: Flow, source: Source) -> bool:
    judged = any(part.event_time.is_judged for part in source.parts)
    return judged and _ends_in_time(query, source)


def _ends_in_time(query: Flow, source: Source) -> bool:
    return ends_at_a_time(query, source.event_time.field)


def _possible(arguments: dict[str, Any], here: Path) -> None:
    """Check that arguments can be met; Great Expectations would only notice while judging."""
    for argument in ("regex", "regex_list"):
        given = arguments.get(argument)
        for pattern in given if isinstance(given, list) else [given]:
            try:
                re.compile(pattern if isinstance(pattern, str) else "")
            except re.error as error:
                msg = f"{shown(pattern)} is no regular expression ({error}): correct it"
                raise _Mistake((*here, argument), msg) from None
    least, most = arguments.get("min_value"), arguments.get("max_value")
    numbers = isinstance(least, int | float) and isinstance(most, int | float)
    instants = isinstance(least, datetime) and isinstance(most, datetime)
    if (numbers or instants) and least > most:  # type: ignore[operator]
        msg = f"min_value {shown(least)} is beyond max_value {shown(most)}: nothing lies between"
        raise _Mistake((*here, "min_value"), msg)


def _with_zone(value: Any) -> Any:
    """Convert a date to its first instant; an instant without a time zone is UTC."""
    if isinstance(value, datetime):
        return value if value.tzinfo else value.replace(tzinfo=UTC)
    if isinstance(value, date):
        return datetime.combine(value, time(), UTC)
    if isinstance(value, list):
        return [_with_zone(part) for part in value]
    return value


def _query(pipeline: Pipeline, entry: dict[str, Any], name: str, here: Path) -> Flow | None:
    queries = {query.name: query for query in pipeline.flows}
    known = f"one of {', '.join(queries)}"
    asked = entry.get("query")
    if asked is None:
        if name in OF_COUNTS:
            return None
        msg = f"query is missing: say whose rows {name} judges, {known}"
        raise _Mistake(here, msg)
    if asked not in queries:
        msg = f"{asked!r} is not a query of this pipeline: use {known}"
        raise _Mistake((*here, "query"), msg)
    return queries[asked]


def _revisions(entry: dict[str, Any], name: str, query: Flow | None, here: Path) -> Revisions:
    asked = entry.get("revisions", _judged_by_default(name, query))
    path = (*here, "revisions")
    if asked not in ("final", "all"):
        msg = f"{asked!r} is not allowed: use final (the default) or all, as revisions: all"
        raise _Mistake(path, msg)
    if name in OF_COUNTS and "revisions" in entry:
        msg = f"{name} judges counts, not rows: take revisions out"
        raise _Mistake(path, msg)
    if name in OF_REVISIONS and asked == "final":
        msg = f"{name} needs every revision: write revisions: all, or take it out"
        raise _Mistake(path, msg)
    return cast("Revisions", asked)


def _known_columns(query: Flow, name: str, arguments: dict[str, Any], here: Path) -> None:
    if name.startswith(_ABOUT_COLUMNS):  # these judge whether a column is there
        return
    known = column_names(query)
    for argument in (*_ONE_COLUMN, "column_list", "per"):
        value = arguments.get(argument)
        asked = value if isinstance(value, list) else [] if value is None else [value]
        for column in asked:
            if column not in known:
                msg = f"{column!r} is not a column of {query.name}: use one of {', '.join(known)}"
                raise _Mistake((*here, argument), msg)
