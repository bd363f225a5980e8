"""Classes of windows by kind: those of the window language, and those of users' packages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar

from windowing.model.registry import PluginError, Registry
from windowing.model.windows.language import CLAUSES

WINDOWS: Final = Registry[Callable[..., Any]]("window", "windows")
"""Every class of windows by its kind. A user's is given the clauses that stand under the kind."""

_Class = TypeVar("_Class", bound=Callable[..., Any])


def check_kind(kind: str) -> None:
    """See that a kind can be told from a clause of the window language.

    Raises:
        PluginError: it cannot.
    """
    if kind.upper() in (*CLAUSES, "GAPS"):
        msg = f"no window can be called {kind!r}, as a clause is: give the plug-in another name"
        raise PluginError(msg)


def window(kind: str) -> Callable[[_Class], _Class]:
    """Register the decorated class as what the clauses of `window: {kind: CLAUSES}` make.

    It is made with the clauses as keywords, and raises ValueError where they break a rule of its
    own. Engine, definition and simulator are given what was made.

    Raises:
        PluginError: another has this kind, or the window language has a clause of this name.
    """

    def register(class_: _Class) -> _Class:
        origin = f"{class_.__module__}.{class_.__qualname__}"
        check_kind(kind)
        WINDOWS.add(kind, class_, origin)
        return class_

    return register
