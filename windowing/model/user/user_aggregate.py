"""Aggregates that users write: a class with `init`, `update`, `merge` and `result`.

The engine holds partial states as msgpack, so a state is made of plain values: None, booleans,
integers of 64 bits, floats, strings, lists, and dicts with strings for keys. It may be written out
and read back between any two calls. A pipeline file names the class; nothing of it is imported
until a run, or whoever checks one, needs it. `slackwater check-aggregate` checks that `merge` does
not depend on order; a run itself cannot.
"""

from __future__ import annotations

import hashlib
import importlib
import inspect
import json
import math
from asyncio import CancelledError
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any, Literal, Protocol, get_args

from windowing.model.errors import cut, shown
from windowing.model.lengths import INT64_MAX, INT64_MIN
from windowing.model.user.user_source import sources

Returns = Literal["int", "float", "string"]
State = Any
"""Plain values; see the module."""

_METHODS = ("init", "update", "merge", "result")

# Whatever a user's code can raise but Ctrl-C: a class has no say in when a job ends.
_RAISED = (Exception, SystemExit, GeneratorExit, CancelledError)
_SHOWN = 200  # characters of an error's words

# Of one state: there is one for each key in each window, and all of a shard's are in memory.
_PARTS_MAX, _CHARACTERS_MAX, _DEPTH_MAX = 1_000_000, 4_194_304, 100
_PLAIN = {type(None), bool, int, float, str, list, dict}


class UserAggregate(Protocol):
    """What a user's class has; it is made without arguments and holds nothing of its own.

    Attributes:
        returns: the type of the result.
    """

    returns: Returns

    def init(self) -> State:
        """The state of no record at all."""

    def update(self, state: State, *values: int | float | str) -> State:
        """The state with one record more; values of the fields, none of them null."""

    def merge(self, left: State, right: State) -> State:
        """The state of both sets of records; neither order nor grouping may show in a result."""

    def result(self, state: State) -> int | float | str | None:
        """The value that a row shows."""


class UserAggregateError(ValueError):
    """A user's class cannot be found, is not an aggregate, or does what it must not do."""

    exit_code = 2


class BeyondInt64(UserAggregateError):
    """An integer in a state or a result that leaves 64 bits: a run stops there."""


@cache
def load(reference: str) -> UserAggregate:
    """Make the aggregate that `module:Class` names.

    Raises:
        UserAggregateError: no such module or class, or not an aggregate.
    """
    class_ = _class_of(reference)
    with _users_code(reference, "making one"):
        made = class_()
        missing = [name for name in _METHODS if not callable(getattr(made, name, None))]
        returns = getattr(made, "returns", None)
    if missing:
        msg = f"python:{reference} has no {', '.join(missing)}: an aggregate has all of {_METHODS}"
        raise UserAggregateError(msg)
    if type(returns) is not str or returns not in get_args(Returns):
        kinds, found = ", ".join(get_args(Returns)), _shown(returns)
        msg = f"python:{reference} returns {found}: give the class `returns`, one of {kinds}"
        raise UserAggregateError(msg)
    aggregate: UserAggregate = made
    return aggregate


def _class_of(reference: str) -> type:
    module, _, name = reference.partition(":")
    with _users_code(reference, f"importing {module}"):
        imported = importlib.import_module(module)
        found = getattr(imported, name, None)
    if not isinstance(found, type):
        msg = f"python:{reference}: module {module} has no class {name}"
        raise UserAggregateError(msg)
    return found


@contextmanager
def _users_code(reference: str, doing: str) -> Iterator[None]:
    """Whatever a user's code raises, `sys.exit` included, becomes an error that names the class."""
    try:
        yield
    except _RAISED as error:
        why = _words(error)
        rule = (
            ""
            if not isinstance(error, ImportError)
            else ("; the module must be importable wherever a job runs")
        )
        msg = f"python:{reference}: {doing} failed: {why}{rule}"
        raise UserAggregateError(msg) from error


def source_digest(reference: str) -> str:
    """A digest of the source that a class needs, so that states of another version are told apart.

    It covers the class's module and what that imports from its own package
    (`windowing.model.user.user_source`).

    Raises:
        UserAggregateError: as `load`; or there is no source to be read.
    """
    class_source(reference)  # what is put together by a program shows in no file
    module, _, name = reference.partition(":")
    with _readable(reference):
        found = sources(module, _class_of(reference).__module__)
    spelled = json.dumps({"class": name, "modules": found}, sort_keys=True)
    return hashlib.sha256(spelled.encode()).hexdigest()[:16]


def class_source(reference: str) -> str:
    """The source of the class alone.

    Raises:
        UserAggregateError: as `source_digest`.
    """
    load(reference)
    with _readable(reference):
        return inspect.getsource(_class_of(reference))


@contextmanager
def _readable(reference: str) -> Iterator[None]:
    """Say what is wrong where a source cannot be read."""
    try:
        yield
    except (OSError, TypeError) as error:
        msg = f"python:{reference}: its source cannot be read ({error}): write the class in a file"
        raise UserAggregateError(msg) from None


def call(reference: str, method: str, *arguments: Any) -> Any:
    """Call a method of a user's class.

    Raises:
        UserAggregateError: the method raised an error; its words are kept.
    """
    try:
        return getattr(load(reference), method)(*arguments)
    except UserAggregateError:
        raise
    except _RAISED as error:
        given = ", ".join(map(_shown, arguments))
        msg = f"python:{reference}: {method}({given}) failed: {_words(error)}"
        raise UserAggregateError(msg) from error


def _words(error: BaseException) -> str:
    """What an error of a user's code says, if it can; as much of it as a sentence bears."""
    try:
        text = str(error)
    except _RAISED as worse:
        text = f"its words cannot be made: {type(worse).__name__}"
    return f"{type(error).__name__}: {cut(text, _SHOWN)}"


def _shown(value: object) -> str:
    """A value as Python writes it, as much of it as a sentence bears."""
    try:
        return shown(value)
    except _RAISED:  # a `__repr__` of theirs
        return f"a value of type {type(value).__name__}"


def check_plain(reference: str, state: State) -> None:
    """See that a state can be written out and read back as it is, and is no log of its own.

    Raises:
        BeyondInt64: an integer in it leaves 64 bits.
        UserAggregateError: something in it is not a plain value, or it is too large or too deep.
    """
    level, parts, characters = [state], 0, 0
    for _ in range(_DEPTH_MAX):
        if not level:
            return
        parts += len(level)
        characters += sum(len(part) for part in level if type(part) is str)
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


def _inside(part: State) -> Iterable[State]:
    if type(part) is list:
        return part
    return [*part.keys(), *part.values()] if type(part) is dict else ()


def _check_part(reference: str, part: object) -> None:
    """See that a part of a state, looked at alone, would come back as it went."""
    if type(part) is int and not INT64_MIN <= part <= INT64_MAX:
        msg = f"python:{reference}: its state holds {_shown(part)}, which does not fit 64 bits"
        raise BeyondInt64(msg)
    odd = type(part) not in _PLAIN or (type(part) is str and not _is_text(part))
    if type(part) is dict:
        odd = any(type(key) is not str for key in part)
    if odd:
        msg = (
            f"python:{reference}: its state holds {_shown(part)}, a {type(part).__name__}: use "
            "None, bool, int of 64 bits, float, str, list, and dict with str keys"
        )
        raise UserAggregateError(msg)


def _is_text(text: str) -> bool:
    """Whether a string can be written in UTF-8: a surrogate alone cannot."""
    return text.isascii() or not any("\ud800" <= character <= "\udfff" for character in text)


def checked_result(reference: str, value: object) -> int | float | str | None:
    """A result as a row shows it; a float's zero loses its sign.

    Raises:
        UserAggregateError: another type than the class declares, an integer beyond 64 bits, or NaN.
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
                msg = f"python:{reference} gave {_shown(value)}, which does not fit 64 bits"
                raise BeyondInt64(msg)
            return value
        case str() if returns == "string" and _is_text(value):
            return value
    msg = f"python:{reference} gave {_shown(value)}, and its class says that it returns {returns}"
    raise UserAggregateError(msg)
