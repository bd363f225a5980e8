"""Search for records that show that the merge of a user's aggregate depends on order.

Records are folded one by one; then each becomes its own state, and the states are merged in
pairs, in a random order and grouping. Both results must be the same bits. Few records are tried
before many. Hypothesis draws from values at which arithmetic breaks and shrinks what it finds, so
a counterexample has the fewest and simplest records.

If an integer exceeds 64 bits, a run stops with an error in some order of merging: such records say
nothing about the class, and are skipped.

A search that finds nothing proves nothing, but says how far it went.
"""

from __future__ import annotations

import copy
import json
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import TypeVar, get_type_hints

from hypothesis import HealthCheck, find, settings
from hypothesis import strategies as st
from hypothesis.errors import NoSuchExample

from windowing.model.lengths import INT64_MAX, INT64_MIN
from windowing.model.types import Kind
from windowing.model.user.user_aggregate import (
    BeyondInt64,
    State,
    UserAggregateError,
    call,
    check_plain,
    checked_result,
    digest_of_source,
    load,
    refusal,
    source_digest,
)
from windowing.model.user.user_code import raisable, users_code

Values = tuple[int | float | str, ...]
Part = TypeVar("Part")
Found = TypeVar("Found")
_FAILED = "failed: "
_RECORDS_MAX = 6

_HARD: dict[Kind, st.SearchStrategy[int | float | str]] = {
    "int": st.integers(-3, 3)
    | st.sampled_from([INT64_MIN, INT64_MAX, 2**53, 2**53 + 1])
    | st.integers(INT64_MIN, INT64_MAX),
    "float": st.sampled_from([0.0, 1.0, -1.0, 0.1, 0.2, 0.3, 1e16, -1e16, 1e308, -1e308, 5e-324])
    | st.floats(allow_nan=False, allow_infinity=False).map(lambda value: value + 0.0),
    "string": st.sampled_from(["", "a", "b", "é", "\u0000"]) | st.text(max_size=5),
}


@dataclass(frozen=True)
class Attempt:
    """Some records, and one way to merge them.

    Attributes:
        records: the records in the order of the fold.
        order: the order of their states, as indices of records.
        joints: index of the pair of neighbours to merge at each step; one fewer than records.
    """

    records: tuple[Values, ...]
    order: tuple[int, ...]
    joints: tuple[int, ...]


@dataclass(frozen=True)
class CounterExample:
    """Records for which the result depends on the order of merging, or the class fails.

    Attributes:
        folded: the result of folding the records one by one, as JSON, or the error.
        merged: the result of merging, as JSON, or the error.
        merging: the order of merging, such as `((1+2)+0)` with the records numbered from 0.
    """

    records: tuple[Values, ...]
    folded: str
    merged: str
    merging: str

    @property
    def verdict(self) -> str:
        """What is wrong with the class."""
        if self.folded.startswith(_FAILED):
            return "it fails"
        if self.merged.startswith(_FAILED):
            return "it fails when states are merged"
        return "the result depends on how states are merged"

    def lines(self) -> list[str]:
        """Return a description of the counterexample for people."""
        return [
            f"records, numbered from 0: {json.dumps(self.records, ensure_ascii=False)}",
            f"one after the other: {self.folded}",
            f"merged as {self.merging}: {self.merged}",
        ]


@dataclass(frozen=True)
class StateChange:
    """Records of which two versions of a class make other states, or give another result.

    Attributes:
        before: what the old version makes of them, as JSON.
        after: the same of the new one, or its error.
    """

    records: tuple[Values, ...]
    before: str
    after: str

    @property
    def verdict(self) -> str:
        """What is wrong with declaring the same states."""
        return "its states, or what it takes and shows, differ from those of the old version"

    def lines(self) -> list[str]:
        """Return a description for people."""
        return [
            f"records, numbered from 0: {json.dumps(self.records, ensure_ascii=False)}",
            f"before: {self.before}",
            f"now: {self.after}",
        ]


def old_version(reference: str, old: str) -> tuple[str, str]:
    """Return a reference to an old version of a class, and what its runs name as its states.

    Args:
        old: a file with the old text of the class's module, or `module:Class`.

    Raises:
        UserAggregateError: it is no aggregate, or cannot be read.
    """
    if not old.endswith(".py"):
        old = old.removeprefix("python:")
        return old, source_digest(old)
    module, _, name = reference.partition(":")
    spec = spec_from_file_location(f"_old_{module.rpartition('.')[2]}", old)
    assert spec is not None  # noqa: S101 - its name ends in .py
    assert spec.loader is not None  # noqa: S101 - as above
    made = module_from_spec(spec)
    sys.modules[spec.name] = made
    with users_code(reference, f"importing {old}", UserAggregateError):
        spec.loader.exec_module(made)
        text = Path(old).read_text(encoding="utf-8")
    earlier = f"{spec.name}:{name}"
    declared = getattr(load(earlier), "states", None)
    if declared is not None:
        return earlier, str(declared)
    return earlier, digest_of_source(reference, {module: text})


def changed_states(
    reference: str, old: str, kinds: Sequence[Kind], *, attempts: int = 2000
) -> StateChange | None:
    """Search for the smallest set of records that shows that a run cannot continue.

    Records that the old version cannot put together show nothing: their rows are null.

    Args:
        old: the old version, as `module:Class`.
        kinds: the types of the fields that `update` takes.

    Raises:
        UserAggregateError: no such class, or not an aggregate.
    """
    load(reference)

    def difference(attempt: Attempt) -> StateChange | None:
        before, after = (_outcome(partial(_made, one, attempt)) for one in (old, reference))
        if before.startswith(_FAILED) or before == after:
            return None
        return StateChange(attempt.records, before, after)

    return _smallest(difference, kinds, attempts)


def _made(reference: str, attempt: Attempt) -> str:
    """Return all that a run may have of some records: refusals, states, merged ones, a result."""
    refused = [refusal(reference, row) is not None for row in attempt.records]
    states = [
        None if gone else _folded(reference, [row])
        for row, gone in zip(attempt.records, refused, strict=True)
    ]
    if any(refused):
        return json.dumps({"refused": refused, "states": states})
    merged = _merged(reference, attempt)
    result = checked_result(reference, call(reference, "result", _stored(reference, merged)))
    return json.dumps({"states": states, "merged": merged, "result": result})


def counter_example(
    reference: str, kinds: Sequence[Kind], *, attempts: int = 2000
) -> CounterExample | None:
    """Search for the smallest set of records whose result depends on how they are merged.

    Args:
        reference: `module:Class`.
        kinds: the types of the fields that `update` takes.

    Raises:
        UserAggregateError: no such class, or not an aggregate.
    """
    load(reference)
    return _smallest(partial(_difference, reference), kinds, attempts)


def _smallest(
    difference: Callable[[Attempt], Found | None], kinds: Sequence[Kind], attempts: int
) -> Found | None:
    # Try smaller sets first, so that the result is minimal.
    for size in range(1, _RECORDS_MAX + 1):
        found = _of_size(difference, kinds, size, -(-attempts // _RECORDS_MAX))
        if found is not None:
            return found
    return None


def _of_size(
    difference: Callable[[Attempt], Found | None], kinds: Sequence[Kind], size: int, attempts: int
) -> Found | None:
    try:
        attempt = find(
            _attempts(kinds, size),
            lambda attempt: difference(attempt) is not None,
            settings=settings(
                max_examples=attempts,
                derandomize=True,
                database=None,
                deadline=None,
                suppress_health_check=list(HealthCheck),
            ),
        )
    except NoSuchExample:
        return None
    return difference(attempt)


@st.composite
def _attempts(draw: st.DrawFn, kinds: Sequence[Kind], size: int) -> Attempt:
    record = st.tuples(*(_HARD[kind] for kind in kinds))
    records = [draw(record) for _ in range(size)]
    order = draw(st.permutations(range(size)))
    joints = [draw(st.integers(0, left - 2)) for left in range(size, 1, -1)]
    return Attempt(tuple(records), tuple(order), tuple(joints))


def _difference(reference: str, attempt: Attempt) -> CounterExample | None:
    if any(_unwanted(reference, row) for row in attempt.records):
        return None
    folded = _outcome(lambda: _shown(reference, _folded(reference, attempt.records)))
    merged = _outcome(lambda: _shown(reference, _merged(reference, attempt)))
    if folded == merged and not folded.startswith(_FAILED):
        return None
    names = [str(place) for place in attempt.order]
    merging = _joined(names, attempt.joints, lambda left, right: f"({left}+{right})")
    return CounterExample(attempt.records, folded, merged, merging)


def _unwanted(reference: str, row: Values) -> bool:
    """Return whether a class says by its `check` that it does not want a record.

    One that it merely cannot take is a dead letter of a run, too, but nobody may have meant that.
    """
    check = getattr(load(reference), "check", None)
    if not callable(check):
        return False
    try:
        check(*row)
    except raisable():
        return True
    return False


def _shown(reference: str, state: State) -> str:
    return json.dumps(checked_result(reference, call(reference, "result", state)))


def _outcome(shown: Callable[[], str]) -> str:
    try:
        return shown()
    except BeyondInt64:
        return "null, as it leaves 64 bits"
    except UserAggregateError as error:
        return f"{_FAILED}{error}"


def _folded(reference: str, records: Iterable[Values]) -> State:
    state = call(reference, "init")
    for record in records:
        state = call(reference, "update", state, *record)
    return _stored(reference, state)


def _merged(reference: str, attempt: Attempt) -> State:
    states = [_folded(reference, [attempt.records[place]]) for place in attempt.order]

    def merge(left: State, right: State) -> State:
        return _stored(reference, call(reference, "merge", left, right))

    return _joined(states, attempt.joints, merge)


def _stored(reference: str, state: State) -> State:
    """Return a state as read back from a checkpoint: an unshared copy of plain values."""
    check_plain(reference, state)
    return copy.deepcopy(state)


def _joined(
    parts: Sequence[Part], joints: Iterable[int], join: Callable[[Part, Part], Part]
) -> Part:
    left = list(parts)
    for joint in joints:
        left[joint : joint + 2] = [join(left[joint], left[joint + 1])]
    return left[0]


def kinds_of(reference: str) -> tuple[Kind, ...]:
    """Return the types of the arguments of a class's `update`, by its annotations.

    Raises:
        UserAggregateError: no such class, or an argument without one of the supported types.
    """
    update = load(reference).update
    try:
        hints = get_type_hints(update)
    except Exception as error:
        msg = f"python:{reference}: the annotations of update cannot be read: {error}"
        raise UserAggregateError(msg) from error
    hints.pop("return", None)
    kinds: dict[object, Kind] = {int: "int", float: "float", str: "string"}
    taken = list(hints.items())[1:]
    odd = [name for name, hint in taken if hint not in kinds]
    if odd or not taken:
        which = f"{odd[0]} of update" if odd else "update"
        msg = (
            f"python:{reference}: {which} is not annotated with int, float or str: annotate "
            "(state and values), or give --takes for each field"
        )
        raise UserAggregateError(msg)
    return tuple(kinds[hint] for _, hint in taken)
