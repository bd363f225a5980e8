"""The daemon that forks an executor's Python workers, with the heavy libraries loaded.

Loading them takes three seconds of CPU, which every worker of every executor would otherwise spend
in a job's first batch and again after every recovery. Only libraries that start no thread are
loaded before the fork; polars starts one, so each worker loads it itself (0.3 s).

Workers keep memory that was freed: to have each large array mapped and cleared anew by the system
takes as long as to compute with it. And what is loaded is frozen: Spark's workers collect garbage
after every task, which would look through all of it each time, for 0.1 s.
"""

import ctypes
import gc
import os

# Helper threads would not survive the fork, and a worker has only one core.
os.environ["OPENBLAS_NUM_THREADS"] = "1"
os.environ["JE_ARROW_MALLOC_CONF"] = "background_thread:false"
# What polars has freed it keeps until the next batch; by default, for half a second.
os.environ["_RJEM_MALLOC_CONF"] = "dirty_decay_ms:10000,muzzy_decay_ms:-1"

import google.protobuf  # type: ignore[import-untyped]  # noqa: F401
import msgspec  # noqa: F401
import numpy as np  # noqa: F401
import orjson  # noqa: F401
import pandas as pd  # noqa: F401
import pyarrow as pa  # noqa: F401
import pyspark.worker  # noqa: F401
from pyspark.daemon import manager

import windowing.model  # noqa: F401
from windowing.engine.loops.ready import make_ready

# As glibc calls them in malloc.h.
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3
_KEPT_BYTES, _MAPPED_BYTES = 64 << 20, 32 << 20


def keep_freed_memory() -> None:
    """Let the processes of this daemon keep memory, up to a limit, where the C library can."""
    set_option = getattr(ctypes.CDLL(None), "mallopt", None)
    if set_option is not None:
        set_option(_M_TRIM_THRESHOLD, _KEPT_BYTES)
        set_option(_M_MMAP_THRESHOLD, _MAPPED_BYTES)


if __name__ == "__main__":
    keep_freed_memory()
    make_ready()
    gc.freeze()
    manager()
