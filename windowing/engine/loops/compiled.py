"""The decorators of compiled loops and their parts."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, cast

from numba import njit

Loop = TypeVar("Loop", bound=Callable[..., object])


def compiled(loop: Loop) -> Loop:
    """Compile a loop when it is first called.

    The machine code is kept beside the module, or in the user's cache, for all processes. Where
    neither may be written, every process compiles for itself, which takes seconds.
    """
    try:
        return cast("Loop", njit(cache=True)(loop))
    except RuntimeError:  # there is nowhere to keep it
        return cast("Loop", njit(loop))


def inlined(part: Loop) -> Loop:
    """Compile a part of loops into each of them: to call it would count references to arrays."""
    return cast("Loop", njit(inline="always")(part))
