"""Shrink a failing case to the smallest one that still fails in the same way."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import msgspec

from chaos.simulator.case import Case, PlannedBatch
from windowing.model import PipelineError, parse_pipeline
from windowing.model.file.yaml_lines import load, spell

Item = TypeVar("Item")
Fails = Callable[[Case], bool]

_PLAIN = msgspec.structs.asdict(PlannedBatch())


@dataclass
class _Search:
    """The smallest failing case so far, and the number of tries left."""

    case: Case
    fails: Fails
    tries: int

    def take(self, smaller: Case) -> bool:
        """Continue from a smaller case if it fails too; return whether it does."""
        if self.tries <= 0:
            return False
        self.tries -= 1
        if not self.fails(smaller):
            return False
        self.case = smaller
        return True


def shrink(case: Case, fails: Fails, tries: int = 600) -> Case:
    """Make a failing case smaller until nothing more can be left out.

    `fails` says whether a case fails in the same way; at most so many `tries` are made.
    """
    search = _Search(case, fails, tries)
    before = None
    while search.case != before and search.tries > 0:
        before = search.case
        _drop_queries(search)
        _drop_steps(search)
        _drop_records(search)
        _soothe_steps(search)
        _reset_thresholds(search)
    return search.case


def _reset_thresholds(search: _Search) -> None:
    """Return thresholds to their defaults: all, then one by one."""
    for field in ("retuned", "tuning"):
        search.take(msgspec.structs.replace(search.case, **{field: {}}))
        for name in getattr(search.case, field):
            rest = {key: value for key, value in getattr(search.case, field).items() if key != name}
            search.take(msgspec.structs.replace(search.case, **{field: rest}))


def _drop_steps(search: _Search) -> None:
    for plan in _shorter(lambda: search.case.plan):
        search.take(msgspec.structs.replace(search.case, plan=plan))


def _drop_records(search: _Search) -> None:
    for number in range(len(search.case.lanes)):

        def lane(number: int = number) -> tuple[Any, ...]:
            return search.case.lanes[number]

        for events in _shorter(lane):
            lanes = (*search.case.lanes[:number], events, *search.case.lanes[number + 1 :])
            search.take(msgspec.structs.replace(search.case, lanes=lanes))


def _shorter(current: Callable[[], Sequence[Item]]) -> Iterator[tuple[Item, ...]]:
    """Yield the sequence without each of its parts, halves first; it may shrink in between."""
    size = len(current())
    while size:
        start = 0
        while start < len(current()):
            items = tuple(current())
            yield (*items[:start], *items[start + size :])
            if len(current()) == len(items):
                start += size
        size //= 2


def _soothe_steps(search: _Search) -> None:
    for number in range(len(search.case.plan)):
        step = search.case.plan[number]
        for name, plain in _PLAIN.items():
            if name != "take" and getattr(step, name) != plain:
                _try_step(search, number, {name: plain})
        failures = search.case.plan[number].failures
        if len(failures) > 1:
            for place in range(len(failures)):
                rest = (*failures[:place], *failures[place + 1 :])
                if _try_step(search, number, {"failures": rest}):
                    break


def _try_step(search: _Search, number: int, changes: dict[str, Any]) -> bool:
    plan = search.case.plan
    step = msgspec.structs.replace(plan[number], **changes)
    smaller = (*plan[:number], step, *plan[number + 1 :])
    return search.take(msgspec.structs.replace(search.case, plan=smaller))


def _drop_queries(search: _Search) -> None:
    """Remove queries, then their operators and aggregates, as long as the pipeline stays valid."""
    for name in _queries(search):
        document = load(search.case.pipeline)
        del document["queries"][name]
        _try_document(search, document)
    for name, query in _queries(search).items():
        for number in reversed(range(len(query.get("steps", ())))):
            document = load(search.case.pipeline)
            del document["queries"][name]["steps"][number]
            _try_document(search, document)
    for name, query in _queries(search).items():
        for number, part in enumerate(_parts(query)):
            for aggregate in part.get("aggregates", ()):
                document = load(search.case.pipeline)
                del _parts(document["queries"][name])[number]["aggregates"][aggregate]
                _try_document(search, document)


def _parts(query: dict[str, Any]) -> list[dict[str, Any]]:
    parts: list[dict[str, Any]] = query.get("steps", [query])
    return parts


def _queries(search: _Search) -> dict[str, Any]:
    # A join has no queries.
    queries: dict[str, Any] = load(search.case.pipeline).get("queries", {})
    return queries


def _try_document(search: _Search, document: dict[str, Any]) -> None:
    text = spell(document)
    parts = [part for query in document["queries"].values() for part in _parts(query)]
    # A window of a query without aggregates is valid, but shows nothing.
    if parts and all(part.get("aggregates", True) for part in parts) and _valid(text):
        search.take(msgspec.structs.replace(search.case, pipeline=text))


def _valid(text: str) -> bool:
    """Whether a pipeline is valid: an operator may need another before it."""
    try:
        parse_pipeline(text)
    except PipelineError:
        return False
    return True
