"""The flows of a pipeline file: all defaults applied, and all rules checked."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Literal

from windowing.model.arguments import checked_aggregate
from windowing.model.asof import KIND as ASOF
from windowing.model.asof import checks_of_asof, resolve_asof
from windowing.model.emission import Retention, check_early, check_empty, check_idle
from windowing.model.errors import meant
from windowing.model.expressions.parse import parse_expression
from windowing.model.expressions.tree import Name
from windowing.model.fields import Aggregate, value_type
from windowing.model.file.declared import Declared
from windowing.model.file.query_file import QueryFile
from windowing.model.having import Having, parse_having
from windowing.model.join import PAIRS, PLACE, Join
from windowing.model.limits import check_lengths, check_reach
from windowing.model.metadata import is_metadata, metadata_type
from windowing.model.names import check_field_name
from windowing.model.operators.file import OperatorFile, StepsFile
from windowing.model.operators.join import PolicyJoinQuery, checks_of_operator
from windowing.model.operators.query import OperatorQuery
from windowing.model.operators.resolve import checks, resolve
from windowing.model.query import JoinQuery, Query
from windowing.model.rules import (
    check_added_lanes,
    check_gaps,
    check_late,
    check_number,
    check_progress_key,
    check_step,
)
from windowing.model.source import Source, known_fields
from windowing.model.window_join import KIND as WINDOW_JOIN
from windowing.model.window_join import checks_of_window_join, resolve_window_join
from windowing.model.windows.activity import Activity, Places
from windowing.model.windows.parsing import parse_window
from windowing.model.windows.sliding import with_activity
from windowing.model.windows.window import Window

_NO_RETENTION = "late: {policy: update} needs a retention, as retention: 12 hours"


class FieldError(ValueError):
    """A broken rule across fields, with the path of the field to blame."""

    def __init__(self, path: tuple[str | int, ...], message: str) -> None:
        self.path = path
        super().__init__(message)


@contextmanager
def _blaming(*path: str | int) -> Iterator[None]:
    try:
        yield
    except ValueError as error:
        raise FieldError(path, str(error)) from None


def resolve_join(declared: Declared, join: Join) -> JoinQuery:
    """The join with all defaults applied."""
    for rule in _checks_of_join(declared, join):
        rule()
    if join.operator is not None:
        return _policy_join(declared, join)
    late, retention = declared.late, declared.retention or Retention()
    kept_us = None if retention.time is None else retention.time.amount
    if join.kind == ASOF:
        return resolve_asof(join, late, kept_us, retention.entries)
    if join.kind == WINDOW_JOIN:
        return resolve_window_join(join, late, retention)
    return JoinQuery(
        sources=(join.left.source, join.right.source),
        left=join.left.window_us,
        right=join.right.window_us,
        kind=join.kind,
        on=join.equal,
        where=join.where,
        select=join.select,
        late=late,
        # Also where nothing late is taken: a side without a window is seen as far back.
        retention_us=kept_us,
        entries_max=retention.entries,
    )


def _checks_of_join(declared: Declared, join: Join) -> Iterator[Callable[[], object]]:
    """Yield the rules of a join: calls that raise where one is broken."""
    retention = declared.retention or Retention()

    def names() -> None:
        with _blaming("join", "select"):
            declared.destination.rules.check_names(PAIRS, [*join.key, *PLACE, *join.select])

    def late() -> None:
        with _blaming("late"):
            counted = join.kind == WINDOW_JOIN and retention.windows is not None
            if declared.late.policy == "update" and retention.time is None and not counted:
                raise ValueError(_NO_RETENTION)

    def kept() -> None:
        with _blaming("retention"):
            if retention.windows is not None and join.kind != WINDOW_JOIN:
                msg = "a join has no windows to count: give a time"
                raise ValueError(msg)
            for step in (declared.late.every, retention.time):
                check_step(join.left.source.event_time.field, step, timed=True)

    def kept_by_windows() -> None:
        with _blaming("retention"):
            if retention.time is not None or retention.windows is not None:
                msg = (
                    "windows of a join say themselves what they keep: give entries only, or leave "
                    "it out"
                )
                raise ValueError(msg)

    yield names
    yield from checks_of_operator(join, declared.late, _blaming)
    yield from checks_of_asof(join, _blaming)
    rules = declared.destination.rules
    yield from checks_of_window_join(join, declared.late, retention, rules, _blaming)
    yield from (late, kept) if join.operator is None else (kept_by_windows,)


def _policy_join(declared: Declared, join: Join) -> PolicyJoinQuery:
    retention = declared.retention or Retention()
    assert join.left.clause is not None  # noqa: S101 - checked with the operator
    assert join.right.clause is not None  # noqa: S101 - the same
    return PolicyJoinQuery(
        sources=(join.left.source, join.right.source),
        windows=(join.left.clause, join.right.clause),
        partitions=join.partitions,
        kind=join.kind,
        on=join.equal,
        where=join.where,
        select=join.select,
        late=declared.late,
        entries_max=retention.entries,
    )


def resolve_query(
    declared: Declared, name: str, file: QueryFile | OperatorFile | StepsFile
) -> Query | OperatorQuery:
    """Return a query with all defaults applied; errors name the section at fault."""
    if isinstance(file, QueryFile):
        return _windowed(declared, name, file)
    query = resolve(declared, name, file, _blaming)
    with _blaming("queries", name):
        declared.destination.rules.check_names(name, [*query.key, *query.shows])
    return query


def resolve_each(
    declared: Declared, queries: Mapping[str, QueryFile]
) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """Yield the mistakes in queries that a pipeline would have in addition, by their paths."""
    for name, query in queries.items():
        try:
            resolve_query(declared, name, query)
        except FieldError as error:
            yield error.path, str(error)


def mistakes(
    declared: Declared, name: str, file: QueryFile | OperatorFile | StepsFile
) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """Yield the mistakes in a query by path: the first, and all in parts that can be judged alone.

    The same one may come twice.
    """
    try:
        resolve_query(declared, name, file)
    except FieldError as error:
        yield error.path, str(error)
        first = error.path
    else:
        return
    if not isinstance(file, QueryFile):
        yield from _broken(checks(declared, name, file, _blaming))
        return
    source, here = declared.source, ("queries", name)
    parts: list[dict[str, Any]] = [
        {"aggregates": {one: text}} for one, text in file.aggregates.items()
    ]
    for part in [*parts, *({"group_by": [field]} for field in file.group_by)]:
        only = file.model_copy(update={"aggregates": {}, "group_by": [], **part})
        try:
            _group_by(only, source, here)
            _aggregates(only, source, here)
        except FieldError as error:
            path = error.path
            if "group_by" in part:
                path = (*here, "group_by", file.group_by.index(part["group_by"][0]))
            if path != first:
                yield path, str(error)


def mistakes_of_join(declared: Declared, join: Join) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """Yield the mistakes in a join by path."""
    return _broken(_checks_of_join(declared, join))


def _broken(
    rules: Iterable[Callable[[], object]],
) -> Iterator[tuple[tuple[str | int, ...], str]]:
    for rule in rules:
        try:
            rule()
        except FieldError as error:
            yield error.path, str(error)


def _windowed(declared: Declared, name: str, query: QueryFile) -> Query:
    source, here = declared.source, ("queries", name)
    rules = declared.destination.rules
    late, early = query.late or declared.late, query.early or declared.early
    retention = query.retention or declared.retention or Retention()
    late_path = (*here, "late") if query.late else ("late",)
    with _blaming(*here, "window"):
        window = parse_window(query.window, source.attributes)
    key = [*([window.pattr] if window.pattr else []), *query.group_by]
    with _blaming(*here):
        rules.check_names(name, [*dict.fromkeys(key), *query.aggregates])
    attribute = source.ordered_by(window.attribute)
    timed = attribute == source.event_time.field
    with _blaming(*here, "window"):
        check_lengths(window)
        rules.check_window(window)
        check_idle(window, source.idle_timeout_us)
        check_added_lanes(window, [lane.name for lane in source.joined])
        if not timed:
            check_number(attribute, source.fields)
        check_progress_key(window, query.group_by, source.generator_of(attribute))
        check_gaps(window, key, {name: type_.kind for name, type_ in source.fields.items()})
    window = _active(window, query, here, source, timed=timed)
    with _blaming(*here, "from"):
        check_reach(window, rules.earliest)
    with _blaming(*late_path):
        check_late(window, late.mode, late.policy, late.every_us)
        check_step(attribute, late.every, timed=timed)
    with _blaming(*((*here, "early") if query.early else ("early",))):
        check_early(window, early)
    retention_us = None
    if late.policy == "update":
        with _blaming(*((*here, "retention") if query.retention else ("retention",))):
            check_step(attribute, retention.time, timed=timed)
            retention_us = retention.length_us(window)
        if retention_us is None:
            raise FieldError(late_path, _NO_RETENTION)
    with _blaming(*here, "empty"):
        check_empty(window, query.empty)
    found = Query(
        name=name,
        window=window,
        group_by=_group_by(query, source, here),
        aggregates=_aggregates(query, source, here),
        late=late,
        retention_us=retention_us,
        entries_max=retention.entries,
        early=early,
        accumulation=query.accumulation or declared.accumulation,
        empty_after=0 if query.empty is None else query.empty.after,
    )
    if query.having is None:
        return found
    with _blaming(*here, "having"):
        return found.model_copy(update={"having": _having(query.having, found, source)})


def _having(text: str, query: Query, source: Source) -> Having:
    if query.accumulation == "discarding":
        msg = (
            "having does not go with accumulation: discarding, where a later row shows only what "
            "the one before did not: leave one of the two out"
        )
        raise ValueError(msg)
    having = parse_having(text)
    # Reading a file imports no class: what uses one is checked with the class.
    if not having.uses(query.by_users):
        plain = [one for one in query.aggregates if one.user is None]
        values = {one.name: value_type(one, source.fields) for one in plain}
        having.types(query.key_types(source.fields), values)
    return having


def _active(
    window: Window, query: QueryFile, here: tuple[str, ...], source: Source, *, timed: bool
) -> Window:
    said: dict[str, Any] = {
        "from": query.begins_us,
        "until": query.until_us,
        "warmup": query.warmup,
    }
    said |= {"joined": query.joined, "left": query.left, "later": query.later}
    first = next((name for name, value in said.items() if value is not None), None)
    if first is None:
        return window
    lanes = [source.lane(number) for number in range(source.partitions)]
    joined, left = _places(query, here, lanes, "joined"), _places(query, here, lanes, "left")
    later, known = _places(query, here, lanes, "later"), dict(joined or ())
    with _blaming(*here, first):
        activity = Activity(
            begins_us=query.begins_us,
            until_us=query.until_us,
            warmup=query.warmup or "skip",
            joined=joined,
            lacking=() if joined is None else tuple(lane for lane in lanes if lane not in known),
            left=left,
            later=later or (),
        )
        return with_activity(window, activity, timed=timed)


def _places(
    query: QueryFile,
    here: tuple[str, ...],
    lanes: list[str],
    key: Literal["joined", "left", "later"],
) -> Places | None:
    said: dict[str, int] | None = getattr(query, key)
    if said is None:
        return None
    with _blaming(*here, key):
        goes_with = query.begins_us if key == "joined" else query.until_us
        if goes_with is None:
            msg = f"E_ACTIVE: {key} goes with {'from' if key == 'joined' else 'until'}"
            raise ValueError(msg)
        for lane in said:
            if lane not in lanes:
                msg = f"E_ACTIVE: there is no lane {lane}: name some of {lanes[0]} to {lanes[-1]}"
                raise ValueError(msg)
    return tuple(sorted(said.items()))


def _group_by(query: QueryFile, source: Source, here: tuple[str, ...]) -> tuple[str, ...]:
    for index, field in enumerate(query.group_by):
        if field not in source.fields:
            msg = f"E_ATTR_UNKNOWN: {_not_a_field(field, source)}"
            raise FieldError((*here, "group_by", index), msg)
        if field in query.group_by[:index]:
            msg = f"{field!r} stands twice: keep one"
            raise FieldError((*here, "group_by", index), msg)
    return tuple(query.group_by)


def _not_a_field(written: str, source: Source) -> str:
    """Return what is wrong with what a query groups by."""
    if is_metadata(written):
        try:
            metadata_type(written)
        except ValueError as error:
            return str(error)
        return f"{written!r} is not read here: only what the file's own queries name is"
    said = f"{written!r} is not under source.fields ({known_fields(source)})"
    if close := meant(written, source.fields):
        return f"{said}{close}"
    try:
        is_name = isinstance(parse_expression(written), Name)
    except ValueError:
        is_name = True
    return said if is_name else f"{said}: derive it, as derive: {{x: {written!r}}}, and name x here"


def _aggregates(query: QueryFile, source: Source, here: tuple[str, ...]) -> tuple[Aggregate, ...]:
    result = []
    for name, text in query.aggregates.items():
        with _blaming(*here, "aggregates", name):
            check_field_name(name)
            result.append(checked_aggregate(name, text, source))
    return tuple(result)
