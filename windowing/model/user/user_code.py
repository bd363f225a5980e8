"""Code of users: import, call, and read it; whatever it raises becomes an error that names it."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from windowing.model.errors import cut, shown

_SHOWN = 200  # characters of an error's message


def raisable() -> tuple[type[BaseException], ...]:
    """All that user code can raise, except Ctrl-C: `SystemExit` must not end a job."""
    # Loading asyncio takes long; who raises its error has loaded it.
    asyncio = sys.modules.get("asyncio.exceptions")
    cancelled = () if asyncio is None else (asyncio.CancelledError,)
    return (Exception, SystemExit, GeneratorExit, *cancelled)


def class_of(reference: str, error: type[Exception]) -> type:
    """Import the class `module:Class`."""
    module, _, name = reference.partition(":")
    with users_code(reference, f"importing {module}", error):
        imported = importlib.import_module(module)
        found = getattr(imported, name, None)
    if not isinstance(found, type):
        msg = f"python:{reference}: module {module} has no class {name}"
        raise error(msg)
    return found


@contextmanager
def users_code(reference: str, doing: str, error: type[Exception]) -> Iterator[None]:
    """Convert exceptions of user code, even `SystemExit`, into an error that names it."""
    try:
        yield
    except error:
        raise
    except raisable() as raised:
        why = words(raised)
        rule = (
            ""
            if not isinstance(raised, ImportError)
            else ("; the module must be importable wherever a job runs")
        )
        msg = f"python:{reference}: {doing} failed: {why}{rule}"
        raise error(msg) from raised


@contextmanager
def readable(reference: str, error: type[Exception]) -> Iterator[None]:
    """Convert errors of reading a source into an error with the remedy."""
    try:
        yield
    except (OSError, TypeError) as raised:
        msg = f"python:{reference}: its source cannot be read ({raised}): write the class in a file"
        raise error(msg) from None


def words(error: BaseException) -> str:
    """Return the message of a user's error, truncated; safe if its `__str__` fails."""
    try:
        text = str(error)
    except raisable() as worse:
        text = f"its words cannot be made: {type(worse).__name__}"
    return f"{type(error).__name__}: {cut(text, _SHOWN)}"


def shown_value(value: object) -> str:
    """Return the `repr` of a value, truncated."""
    try:
        return shown(value)
    except raisable():  # a user's `__repr__`
        return f"a value of type {type(value).__name__}"


def is_text(text: str) -> bool:
    """Return whether a string can be encoded in UTF-8: a lone surrogate cannot."""
    return text.isascii() or not any("\ud800" <= character <= "\udfff" for character in text)
