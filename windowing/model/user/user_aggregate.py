"""Aggregates that users write: a class with `init`, `update`, `merge` and `result`.

The engine stores partial states as msgpack, so a state consists of plain values: None, booleans,
integers of any size, floats, strings, lists, and dicts with string keys. It may be serialized and
restored between any two calls. A pipeline file names the class, which only a run or a check
imports. `slackwater check-aggregate` checks that `merge` does not depend on order; a run cannot.

A class that fails ends no run. If it fails for one record alone, that record is a dead letter; if
for several together, their row shows null, and names the aggregate.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any, Literal, Protocol, get_args

from windowing.model.lengths import INT64_MAX, INT64_MIN
from windowing.model.user.user_code import (
    class_of,
    is_text,
    raisable,
    readable,
    shown_value,
    users_code,
    words,
)
from windowing.model.user.user_source import sources

Returns = Literal["int", "float", "string"]
State = Any
"""Plain values; see the module."""

_METHODS = ("init", "update", "merge", "result")

# Per state: one per key and window, all in a shard's memory.
_PARTS_MAX, _CHARACTERS_MAX, _DEPTH_MAX = 1_000_000, 4_194_304, 100
_PLAIN = {type(None), bool, int, float, str, list, dict}


class UserAggregate(Protocol):
    """The protocol of a user's class, which takes no arguments and is stateless.

    Two members are optional. A static `check(*values)` raises for the values of a record that the
    class does not want, although `update` could take them: see `refusal`. `states` names the kind
    of its states: a run continues with changed code of the same name.
    """

    returns: Returns

    def init(self) -> State:
        """Return the state of zero records."""

    def update(self, state: State, *values: int | float | str) -> State:
        """Return the state with one more record; no field is null."""

    def merge(self, left: State, right: State) -> State:
        """Return the state of both sets of records; must be commutative and associative."""

    def result(self, state: State) -> int | float | str | None:
        """Return the value that a row shows."""


class UserAggregateError(ValueError):
    """A user's class that cannot be found, is not an aggregate, or breaks a rule."""

    exit_code = 2


class BeyondInt64(UserAggregateError):
    """A result that is an integer beyond 64 bits, which no row can show."""


@cache
def load(reference: str) -> UserAggregate:
    """Import and instantiate the aggregate `module:Class`.

    Raises:
        UserAggregateError: there is no such class, or it is not an aggregate.
    """
    class_ = class_of(reference, UserAggregateError)
    with users_code(reference, "making one", UserAggregateError):
        made = class_()
        missing = [name for name in _METHODS if not callable(getattr(made, name, None))]
        returns = getattr(made, "returns", None)
    if missing:
        msg = f"python:{reference} has no {', '.join(missing)}: an aggregate has all of {_METHODS}"
        raise UserAggregateError(msg)
    if type(returns) is not str or returns not in get_args(Returns):
        kinds, found = ", ".join(get_args(Returns)), shown_value(returns)
        msg = f"python:{reference} returns {found}: give the class `returns`, one of {kinds}"
        raise UserAggregateError(msg)
    aggregate: UserAggregate = made
    return aggregate


def source_digest(reference: str) -> str:
    """Return what the states of a class depend on, to detect states of other versions.

    This is what `states` says, if the class has it, or else `digest_of_source`.

    Raises:
        UserAggregateError: as for `load`; `states` is no name; or the source cannot be read.
    """
    class_source(reference)  # fails for classes generated at run time
    states = getattr(load(reference), "states", None)
    if states is None:
        return digest_of_source(reference)
    if type(states) not in (str, int) or not str(states):
        msg = (
            f"python:{reference}: states is {shown_value(states)}: give a name or a number to the "
            'kind of its states, as in states = "1"'
        )
        raise UserAggregateError(msg)
    return str(states)


def digest_of_source(reference: str, instead: Mapping[str, str] | None = None) -> str:
    """Return a digest of a class's module and of its imports from its own package.

    Args:
        instead: by the name of a module, the text to take for its source.

    Raises:
        UserAggregateError: as for `load`; or the source cannot be read.
    """
    module, _, name = reference.partition(":")
    with readable(reference, UserAggregateError):
        defined_in = class_of(reference, UserAggregateError).__module__
        found = sources(module, defined_in, instead=instead)
    spelled = json.dumps({"class": name, "modules": found}, sort_keys=True)
    return hashlib.sha256(spelled.encode()).hexdigest()[:16]


def class_source(reference: str) -> str:
    """Return the source of the class alone.

    Raises:
        UserAggregateError: as for `source_digest`.
    """
    load(reference)
    with readable(reference, UserAggregateError):
        return inspect.getsource(class_of(reference, UserAggregateError))


def call(reference: str, method: str, *arguments: Any) -> Any:
    """Call a method of a user's class.

    Raises:
        UserAggregateError: the method raised; the message is kept.
    """
    try:
        return getattr(load(reference), method)(*arguments)
    except UserAggregateError:
        raise
    except raisable() as error:
        given = ", ".join(map(shown_value, arguments))
        msg = f"python:{reference}: {method}({given}) failed: {words(error)}"
        raise UserAggregateError(msg) from error


def refusal(reference: str, values: Sequence[Any]) -> str | None:
    """Return the words in which a class refuses a record; None: it takes it.

    It refuses a record by its `check`, or by failing to make a state of this record alone.

    Raises:
        UserAggregateError: as for `load`.
    """
    made = load(reference)
    try:
        if callable(check := getattr(made, "check", None)):
            check(*values)
        check_plain(reference, made.update(made.init(), *values))
    except UserAggregateError as error:
        return str(error)
    except raisable() as error:
        return words(error)
    return None


def check_plain(reference: str, state: State) -> None:
    """Check that a state can be serialized and restored unchanged, and is small enough.

    Raises:
        UserAggregateError: it contains a value that is not plain, or is too large or too deep.
    """
    level, parts, characters = [state], 0, 0
    for _ in range(_DEPTH_MAX):
        if not level:
            return
        parts += len(level)
        characters += sum(map(_length, level))
        if parts > _PARTS_MAX or characters > _CHARACTERS_MAX:
            msg = (
                f"python:{reference}: its state holds more than {_PARTS_MAX:,} values or "
                f"{_CHARACTERS_MAX:,} characters: keep a summary of the records, not the records"
            )
            raise UserAggregateError(msg)
        for part in level:
            _check_part(reference, part)
        level = [inner for part in level for inner in _inside(part)]
    msg = (
        f"python:{reference}: its state holds lists and dicts in more than {_DEPTH_MAX} levels: "
        "make it flatter"
    )
    raise UserAggregateError(msg)


def _length(part: State) -> int:
    if type(part) is int:
        return part.bit_length() // 8
    return len(part) if type(part) is str else 0


def _inside(part: State) -> Iterable[State]:
    if type(part) is list:
        return part
    return [*part.keys(), *part.values()] if type(part) is dict else ()


def _check_part(reference: str, part: object) -> None:
    """Check that one part of a state, without its children, survives serialization."""
    odd = type(part) not in _PLAIN or (type(part) is str and not is_text(part))
    if type(part) is dict:
        odd = any(type(key) is not str for key in part)
    if odd:
        msg = (
            f"python:{reference}: its state holds {shown_value(part)}, a {type(part).__name__}: "
            "use None, bool, int, float, str, list, and dict with str keys"
        )
        raise UserAggregateError(msg)


def checked_result(reference: str, value: object) -> int | float | str | None:
    """Return a result as a row shows it; -0.0 becomes 0.0.

    Raises:
        BeyondInt64: it is an integer beyond 64 bits.
        UserAggregateError: the type is not the declared one, or it is NaN.
    """
    returns = load(reference).returns
    match value:
        case None:
            return None
        case float() | int() if returns == "float" and type(value) is not bool:
            if math.isnan(value):
                msg = f"python:{reference} gave NaN, which no row can show: give None instead"
                raise UserAggregateError(msg)
            return float(value) + 0.0
        case int() if returns == "int" and type(value) is not bool:
            if not INT64_MIN <= value <= INT64_MAX:
                msg = (
                    f"python:{reference} gave {shown_value(value)}, which does not fit 64 bits: "
                    "give None, or a float (returns = 'float')"
                )
                raise BeyondInt64(msg)
            return value
        case str() if returns == "string" and is_text(value):
            return value
    found = shown_value(value)
    msg = f"python:{reference} gave {found}, and its class says that it returns {returns}"
    raise UserAggregateError(msg)
