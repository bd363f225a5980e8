"""Operators that users write: a class with handlers of a window's events.

A pipeline file names the class, which only a run or a check imports. Handlers are functions of
their arguments: the window holds the state, so the class needs none, and a restart calls the same
handlers with the same tuples.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any, Final, Protocol

from windowing.model.lengths import INT64_MAX, INT64_MIN
from windowing.model.types import Kind
from windowing.model.user.user_code import class_of, is_text, readable, shown_value, users_code
from windowing.model.user.user_source import digest

Tuple = Mapping[str, Any]
Sends = Iterable[Tuple] | None
"""What a handler sends: tuples with the query's outputs, or nothing."""

HANDLERS: Final = (
    *("on_insert", "on_evict", "on_trigger", "on_flush", "on_full"),
    "on_partition_eviction",
)
"""The methods that a class may have; the window calls those that it has."""


class UserOperator(Protocol):
    """The handlers; each is optional, but one of them is needed.

    `key` is the tuple of the partition's values, empty for a window that is not partitioned; `rows`
    are the stored tuples, oldest first, with all fields of the source; there is at least one.
    """

    def on_insert(self, key: tuple[Any, ...], row: Tuple, rows: Sequence[Tuple]) -> Sends:
        """Handle a tuple that was stored; it is the last of `rows`."""

    def on_evict(self, key: tuple[Any, ...], row: Tuple, rows: Sequence[Tuple]) -> Sends:
        """Handle a tuple that is about to leave a sliding window; it is one of `rows`."""

    def on_trigger(self, key: tuple[Any, ...], rows: Sequence[Tuple]) -> Sends:
        """Handle a report of a sliding window."""

    def on_flush(self, key: tuple[Any, ...], rows: Sequence[Tuple]) -> Sends:
        """Handle the end of a tumbling window."""

    def on_full(self, key: tuple[Any, ...], rows: Sequence[Tuple]) -> Sends:
        """Handle the instant at which a sliding window is full for the first time."""

    def on_partition_eviction(self, key: tuple[Any, ...], rows: Sequence[Tuple]) -> Sends:
        """Handle the eviction of a partition."""


class UserOperatorError(ValueError):
    """A user's class that cannot be found, is not an operator, or breaks a rule."""

    exit_code = 2


@cache
def load(reference: str, settings: tuple[tuple[str, Any], ...]) -> object:
    """Import and instantiate the operator `module:Class`.

    Raises:
        UserOperatorError: there is no such class, or it has no handler.
    """
    class_ = class_of(reference, UserOperatorError)
    with users_code(reference, "making one", UserOperatorError):
        made: object = class_(**dict(settings))
    if not handled(made):
        msg = f"python:{reference} handles nothing: give it one of {', '.join(HANDLERS)}"
        raise UserOperatorError(msg)
    return made


def source_digest(reference: str, settings: tuple[tuple[str, Any], ...]) -> str:
    """Return a digest of the source that a class needs, to detect states of other versions.

    Raises:
        UserOperatorError: as for `load`; or the source cannot be read.
    """
    load(reference, settings)
    module, _, _ = reference.partition(":")
    with readable(reference, UserOperatorError):
        return digest(module, class_of(reference, UserOperatorError).__module__)


def handled(operator: object) -> frozenset[str]:
    """Return the names of an operator's handlers."""
    return frozenset(name for name in HANDLERS if callable(getattr(operator, name, None)))


def send(
    reference: str,
    settings: tuple[tuple[str, Any], ...],
    outputs: tuple[tuple[str, Kind], ...],
    handler: str,
    arguments: Sequence[Any],
) -> list[dict[str, int | float | str | None]]:
    """Call a handler, and return the tuples that it sends.

    Args:
        outputs: the names of a tuple's values, with their types.
        handler: one of `HANDLERS`.

    Raises:
        UserOperatorError: the handler raised, or a tuple is not as `outputs` says.
    """
    operator = load(reference, settings)
    given = ", ".join([f"key {shown_value(arguments[0])}", *map(shown_value, arguments[1:-1])])
    with users_code(reference, f"{handler}({given}, …)", UserOperatorError):
        sent = list(getattr(operator, handler)(*arguments) or ())
        return [_checked(reference, outputs, handler, row) for row in sent]


def _checked(
    reference: str, outputs: tuple[tuple[str, Kind], ...], handler: str, row: object
) -> dict[str, int | float | str | None]:
    names = [name for name, _ in outputs]
    if not isinstance(row, Mapping) or set(row) != set(names):
        msg = (
            f"python:{reference}: {handler} sent {shown_value(row)}: send mappings with "
            f"{', '.join(names)}, as the query's outputs say"
        )
        raise UserOperatorError(msg)
    return {name: _value(reference, name, kind, row[name]) for name, kind in outputs}


def _value(reference: str, name: str, kind: Kind, value: object) -> int | float | str | None:
    """Return a value as a row shows it; -0.0 becomes 0.0."""
    match value:
        case None:
            return None
        case float() | int() if kind == "float" and type(value) is not bool:
            if not math.isnan(value):
                return float(value) + 0.0
        case int() if kind == "int" and type(value) is not bool:
            if INT64_MIN <= value <= INT64_MAX:
                return value
        case str() if kind == "string" and is_text(value):
            return value
    rule = {"int": "an integer of 64 bits", "float": "a number other than NaN", "string": "text"}
    msg = f"python:{reference}: {name} is {shown_value(value)}, and must be {rule[kind]} or None"
    raise UserOperatorError(msg)
