"""What Python workers keep of the memory that they have freed: much while a task runs, then little.

To have each large array mapped and cleared anew by the system takes as long as to compute with it,
so within a task freed memory is kept. But a task that writes files has two workers at once, and
those of another stage wait meanwhile: each would hold for good what it had needed at most.
"""

from __future__ import annotations

import ctypes
from functools import lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # the daemon stays light
    from windowing.spark.pieces import Batches, Stage

# As glibc calls them in malloc.h.
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3
_KEPT_BYTES, _MAPPED_BYTES = 16 << 20, 32 << 20


def keep_freed_memory() -> None:
    """Let this process, and those that it forks, keep what is freed, up to a limit."""
    set_option = getattr(_c_library(), "mallopt", None)
    if set_option is not None:
        set_option(_M_TRIM_THRESHOLD, _KEPT_BYTES)
        set_option(_M_MMAP_THRESHOLD, _MAPPED_BYTES)


def giving_back(stage: Stage) -> Stage:
    """Return a stage that at its end gives what is free to the system, where the C library can."""

    def then_give_back(batches: Batches) -> Batches:
        yield from stage(batches)
        trim = getattr(_c_library(), "malloc_trim", None)
        if trim is not None:
            trim(0)

    return then_give_back


@lru_cache(maxsize=1)
def _c_library() -> Any:
    return ctypes.CDLL(None)
