"""What Python workers keep of the memory that they have freed: some while a task runs, then little.

To have each large array mapped and cleared anew by the system takes as long as to compute with it,
so within a task freed memory is kept. But a task that writes files has two workers at once, and
those of another stage wait meanwhile: each would hold for good what it had needed at most. Workers
that read files themselves are the job's only ones, and keep it from batch to batch.
"""

from __future__ import annotations

import ctypes
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from windowing.engine.tuning import tuning

if TYPE_CHECKING:  # the daemon stays light
    from windowing.spark.sources.pieces import Batches, Stage

# As glibc calls them in malloc.h.
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3


def keep_freed_memory() -> None:
    """Let this process, and those that it forks, keep what is freed, up to a limit."""
    limits = tuning()
    _set(_M_TRIM_THRESHOLD, limits.kept_free_bytes)
    _set(_M_MMAP_THRESHOLD, limits.mapped_bytes)


def giving_back(stage: Stage) -> Stage:
    """Return a stage that at its end gives what is free to the system, where the C library can."""

    def then_give_back(batches: Batches) -> Batches:
        yield from stage(batches)
        trim = getattr(_c_library(), "malloc_trim", None)
        if trim is not None:
            trim(0)

    return then_give_back


def _set(option: int, value: int) -> None:
    """Set an option of the C library's allocator, where it has any."""
    mallopt = getattr(_c_library(), "mallopt", None)
    if mallopt is not None:
        mallopt(option, value)


@lru_cache(maxsize=1)
def _c_library() -> Any:
    return ctypes.CDLL(None)
