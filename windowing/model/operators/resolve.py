"""From a query with operators as written to one with all defaults applied and all rules checked."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from typing import Final

from windowing.model.arguments import checked_aggregate
from windowing.model.emission import Late
from windowing.model.errors import shown
from windowing.model.fields import Aggregate
from windowing.model.file.declared import Declared
from windowing.model.names import check_field_name
from windowing.model.operators.file import OperatorFile, StepFile, StepsFile
from windowing.model.operators.join import Blaming
from windowing.model.operators.language import known, parse_clause, typed
from windowing.model.operators.models import check_aggregate as check_aggregate_model
from windowing.model.operators.models import check_dedup, check_sort, check_window
from windowing.model.operators.ports import graph_of, unpunctuated
from windowing.model.operators.query import LANE, OperatorQuery
from windowing.model.operators.steps import (
    AggregateStep,
    Condition,
    DedupStep,
    Direction,
    Punctuate,
    SortStep,
    Step,
    UserStep,
    WindowStep,
)
from windowing.model.source import Source
from windowing.model.windows.policy import Profile, WindowClause

Path = tuple[str | int, ...]
_USER: Final = re.compile(r"python:([A-Za-z_][\w.]*:[A-Za-z_]\w*)")
_STEPS_MAX: Final = 16
_OPERATORS: Final = "aggregate, sort, dedup, python:module:Class"
# What belongs to which operator, besides its window and its punctuations.
_OWN: Final = {
    "aggregate": {"group_by", "aggregates", "partial_windows", "evicted_partitions"},
    "sort": {"by"},
    "dedup": {"by"},
    "python": {"outputs", "settings"},
}
_UP: Final[Direction] = "ascending"
_DIRECTIONS: Final[dict[str, Direction]] = {
    **{"asc": "ascending", "ascending": "ascending"},
    **{"desc": "descending", "descending": "descending"},
}


def resolve(
    declared: Declared, name: str, file: OperatorFile | StepsFile, blaming: Blaming
) -> OperatorQuery:
    """Return a query of operators with all defaults applied.

    Args:
        blaming: attributes a broken rule to a part of the file.

    Raises:
        ValueError: a rule is broken.
    """
    here, source = ("queries", name), declared.source
    late = _late(declared, name, file, blaming)
    with blaming(*here):
        if len(file.steps) > _STEPS_MAX:
            msg = f"{len(file.steps)} steps: a query has at most {_STEPS_MAX}; split it"
            raise ValueError(msg)
    steps = list[Step]()
    places = list[Path]()
    for number, step in enumerate(file.steps):
        at: Path = here if isinstance(file, OperatorFile) else (*here, "steps", number)
        last = number == len(file.steps) - 1
        for one in _OperatorContext(source, step, at, blaming).steps(last=last):
            steps.append(one)
            places.append(at)
    query = OperatorQuery(
        name=name,
        steps=tuple(steps),
        attribute=source.event_time.field,
        fields=tuple(source.fields),
        order=file.order,
        clock=file.clock,
        late=late,
    )
    operators = list(graph_of(query).operators)[1:]
    for error in unpunctuated(graph_of(query)):
        with blaming(*places[operators.index(error.operator)], "window"):
            msg = f"{error}: add punctuate: {{when: FIELD = VALUE}} to this operator"
            raise ValueError(msg)
    with blaming(*here):
        _check_key(query)
    _check_progress(name, source, blaming)
    return query


def checks(
    declared: Declared, name: str, file: OperatorFile | StepsFile, blaming: Blaming
) -> Iterator[Callable[[], object]]:
    """Yield the rules of each part of a query by itself: calls that raise where one is broken.

    Args: as for `resolve`.
    """
    here = ("queries", name)
    for path, message in _unfit_options(declared, name, file):
        yield partial(_refuse, blaming, path, message)
    for number, step in enumerate(file.steps):
        at: Path = here if isinstance(file, OperatorFile) else (*here, "steps", number)
        yield from _OperatorContext(declared.source, step, at, blaming).checks(
            last=number == len(file.steps) - 1
        )
    yield partial(_check_progress, name, declared.source, blaming)


def _refuse(blaming: Blaming, path: Path, message: str) -> None:
    with blaming(*path):
        raise ValueError(message)


def _late(declared: Declared, name: str, file: OperatorFile | StepsFile, blaming: Blaming) -> Late:
    """Return the policy for late records; refuse options of queries with aggregates of windows."""
    for path, message in _unfit_options(declared, name, file):
        _refuse(blaming, path, message)
    return file.late or declared.late


def _unfit_options(
    declared: Declared, name: str, file: OperatorFile | StepsFile
) -> Iterator[tuple[Path, str]]:
    late, retention = file.late or declared.late, declared.retention
    kept = file.retention or (retention if retention and retention.entries is not None else None)
    accumulation = file.accumulation or declared.accumulation
    for option, is_broken, why in (
        (
            "late",
            late.policy == "update",
            "which take no late records, as these would reorder all that follow: drop them, or "
            "write late: {policy: dead_letter} under the query",
        ),
        (
            "early",
            (file.early or declared.early) is not None,
            "which send no provisional rows: write early under the queries that show some; an "
            "operator reports more often with a trigger",
        ),
        (
            "retention",
            kept is not None,
            "whose windows hold what their policies say: write retention under the queries that "
            "take late records, and bound an operator by its policies, as EVICT tuple_count(1000)",
        ),
        (
            "accumulation",
            accumulation != "accumulating",
            "which send a row once, so that there is none to take back: write accumulation: "
            f"{accumulation} under the queries with late revisions",
        ),
        (
            "empty",
            file.empty is not None,
            "whose windows follow from the records: write empty under the queries with window and "
            "aggregates",
        ),
        (
            "having",
            file.having is not None,
            "whose reports are all sent: write having under the queries with window and "
            "aggregates, or filter records by the source's where",
        ),
    ):
        if is_broken:
            within = ("queries", name) if getattr(file, option) else ()
            yield (*within, option), f"{name} has operators, {why}"


def _check_key(query: OperatorQuery) -> None:
    if query.order == "lane" and LANE in query.key_fields:
        msg = f"in lane order {LANE} is the first field of a row's key: call the field otherwise"
        raise ValueError(msg)


def _check_progress(name: str, source: Source, blaming: Blaming) -> None:
    with blaming("source", "disorder"):
        if source.disorder.progress_attr is not None:
            msg = (
                f"E_KEYED_PROGRESS: {name} has operators, which take the records of all keys in "
                "one order: use a generator whose progress is of the lane, as {slack: 30 seconds}"
            )
            raise ValueError(msg)


@dataclass(frozen=True)
class _OperatorContext:
    """An operator that is being read.

    Attributes:
        blaming: attributes a broken rule to a part of the file.
    """

    source: Source
    file: StepFile
    at: Path
    blaming: Blaming

    def within(self, *path: str | int) -> AbstractContextManager[None]:
        """Attribute a broken rule to a part of this operator."""
        return self.blaming(*self.at, *path)

    def steps(self, *, last: bool) -> Iterator[Step]:
        """Yield the operator, after its punctuations if it has some.

        Args:
            last: whether it is the last of its query.
        """
        yield from self._punctuations()
        kind = self._kind(last=last)
        for other in self._foreign(kind):
            self._refuse_foreign(other)
        window = self._window()
        if kind == "python":
            yield self._user(self.file.operator.removeprefix("python:"), window)
        else:
            built_in: dict[str, Callable[[WindowClause], WindowStep]] = {
                "aggregate": self._aggregate,
                "sort": self._sort,
                "dedup": self._dedup,
            }
            yield built_in[kind](window)

    def checks(self, *, last: bool) -> Iterator[Callable[[], object]]:
        """Yield the rules of each part: calls that raise where one is broken.

        Args: as for `steps`.
        """
        file = self.file
        yield lambda: list(self._punctuations())
        yield lambda: self._kind(last=last)
        yield self._window
        kind = "python" if _USER.fullmatch(file.operator) else file.operator
        for other in self._foreign(kind):
            yield partial(self._refuse_foreign, other)
        if kind == "aggregate":
            for number in range(len(file.group_by)):
                yield partial(self._check_group, number)
            yield self._check_aggregated
            for name in file.aggregates:
                yield partial(self._aggregate_of, name)
        elif kind in ("sort", "dedup"):
            yield self._by
        elif kind == "python":
            yield self._check_outputs

    def _punctuations(self) -> Iterator[Punctuate]:
        if self.file.punctuate is not None:
            with self.within("punctuate"):
                yield Punctuate(_checked(self.file.punctuate.when, self.source))

    def _kind(self, *, last: bool) -> str:
        operator = self.file.operator
        with self.within("operator"):
            kind = "python" if _USER.fullmatch(operator) else operator
            if kind not in _OWN:
                msg = f"{shown(operator)} is not an operator: use one of {_OPERATORS}"
                raise ValueError(msg)
            if kind in ("aggregate", "python") and not last:
                msg = f"{operator} sends no records, and so must be the last of the steps"
                raise ValueError(msg)
        return kind

    def _foreign(self, kind: str) -> list[str]:
        """Return what belongs to other operators; nothing is known of one that is none."""
        own = _OWN.get(kind)
        others = set().union(*_OWN.values()) - own if own is not None else set()
        return sorted(others & self.file.model_fields_set)

    def _refuse_foreign(self, other: str) -> None:
        with self.within(other):
            msg = f"{other} does not go with operator: {self.file.operator}"
            raise ValueError(msg)

    def _window(self) -> WindowClause:
        with self.within("window"):
            window = parse_clause(self.file.window, self.source.event_time.field)
            check_window(window)
            return typed(window, self.source)

    def _aggregate(self, window: WindowClause) -> AggregateStep:
        file, given = self.file, self.file.model_fields_set
        with self.within("window"):
            check_aggregate_model(
                window,
                file.partial_windows if "partial_windows" in given else None,
                file.evicted_partitions if "evicted_partitions" in given else None,
            )
        for number in range(len(file.group_by)):
            self._check_group(number)
        self._check_aggregated()
        return AggregateStep(
            window,
            tuple(map(self._aggregate_of, file.aggregates)),
            tuple(file.group_by),
            partial_windows=file.partial_windows,
            evicted_partitions=file.evicted_partitions,
        )

    def _check_group(self, number: int) -> None:
        fields = self.file.group_by
        with self.within("group_by", number):
            known(fields[number], self.source)
            if fields[number] in fields[:number]:
                msg = f"{shown(fields[number])} stands twice: keep one"
                raise ValueError(msg)

    def _check_aggregated(self) -> None:
        with self.within("aggregates"):
            if not self.file.aggregates:
                msg = "aggregates is empty: add one, as {records: count}"
                raise ValueError(msg)

    def _aggregate_of(self, name: str) -> Aggregate:
        with self.within("aggregates", name):
            check_field_name(name)
            return checked_aggregate(name, self.file.aggregates[name], self.source)

    def _by(self) -> tuple[tuple[str, Direction], ...]:
        """Return the fields that are compared; those of Dedup have no direction."""
        sorts = self.file.operator == "sort"
        with self.within("by"):
            by = tuple(self._directed(t) if sorts else (t, _UP) for t in self.file.by)
            self._check_by([field for field, _ in by])
        return by

    def _sort(self, window: WindowClause) -> SortStep:
        by = self._by()
        with self.within("window"):
            names, directions = [field for field, _ in by], [direction for _, direction in by]
            check_sort(window, names, directions, Profile.paper)
        return SortStep(window, by)

    def _dedup(self, window: WindowClause) -> DedupStep:
        self._by()
        with self.within("window"):
            check_dedup(window, self.file.by)
        return DedupStep(window, tuple(self.file.by))

    def _user(self, reference: str, window: WindowClause) -> UserStep:
        file = self.file
        self._check_outputs()
        for name, value in file.settings.items():
            with self.within("settings", name):
                if isinstance(value, float) and not math.isfinite(value):
                    msg = f"{value} is not a number that a setting can have"
                    raise ValueError(msg)
        outputs, settings = tuple(file.outputs.items()), tuple(file.settings.items())
        return UserStep(window, reference, outputs, settings)

    def _check_outputs(self) -> None:
        with self.within("outputs"):
            if not self.file.outputs:
                msg = "outputs is empty: name what the operator sends, as {swing: float}"
                raise ValueError(msg)

    def _check_by(self, names: Sequence[str]) -> None:
        if not names:
            msg = f"{self.file.operator} needs by, the fields to compare, as by: [delay]"
            raise ValueError(msg)
        for number, name in enumerate(names):
            if name != self.source.event_time.field:
                known(name, self.source)
            if name in names[:number]:
                msg = f"{shown(name)} stands twice: keep one"
                raise ValueError(msg)

    def _directed(self, text: str) -> tuple[str, Direction]:
        """Parse `delay`, or `delay desc`; a field may itself be called so."""
        name, _, word = text.strip().rpartition(" ")
        if text in self.source.fields or not name or word.lower() not in _DIRECTIONS:
            return text.strip(), _UP
        return name.strip(), _DIRECTIONS[word.lower()]


def _checked(condition: Condition, source: Source) -> Condition:
    text = isinstance(condition.constant, str)
    type_ = known(condition.field, source)
    if type_.kind == "bool" or (type_.kind == "decimal" and isinstance(condition.constant, float)):
        rule = "an int" if type_.kind == "decimal" else "nothing: a condition needs another field"
        msg = f"{condition.field} is {type_}: compare it with {rule}"
        raise ValueError(msg)
    if text != (type_.kind in ("string", "date")):
        rule = "a text in quotes, as 'x'" if type_.kind in ("string", "date") else "a number"
        msg = f"{condition.field} is {type_}: compare it with {rule}"
        raise ValueError(msg)
    return condition
