"""Classes of windows by kind: those of the window language, and those of users' packages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar

from windowing.model.registry import PluginError, Registry
from windowing.model.windows.language import CLAUSES

WINDOWS: Final = Registry[Callable[..., Any]]("window", "windows")
"""Every class of windows by its kind. A user's class takes the clauses under the kind."""

_Class = TypeVar("_Class", bound=Callable[..., Any])


def check_kind(kind: str) -> None:
    """Check that a kind differs from all clauses of the window language.

    Raises:
        PluginError: it does not.
    """
    if kind.upper() in (*CLAUSES, "GAPS"):
        msg = f"no window can be called {kind!r}, as a clause is: give the plug-in another name"
        raise PluginError(msg)


def window(kind: str) -> Callable[[_Class], _Class]:
    """Register the decorated class for windows spelled `{kind: CLAUSES}`.

    It is instantiated with the clauses as keyword arguments, and raises ValueError if they break
    one of its rules. Engine, definition and simulator receive the instance.

    Raises:
        PluginError: the kind is taken, or is a clause of the window language.
    """
    check_kind(kind)
    return WINDOWS.entry(kind)
