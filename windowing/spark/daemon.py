"""The daemon that forks an executor's Python workers, with the heavy libraries loaded.

Loading them takes three seconds of CPU, which every worker of every executor would otherwise spend
in a job's first batch and again after every recovery. Only libraries that start no thread are
loaded before the fork; polars starts one, so each worker loads it itself (0.3 s).

What is loaded is frozen: Spark's workers collect garbage after every task, which would look through
all of it each time, for 0.1 s. What workers do with freed memory: `windowing.spark.memory`.
"""

import gc
import os

# Helper threads would not survive the fork, and a worker has only one core.
os.environ["OPENBLAS_NUM_THREADS"] = "1"
os.environ["JE_ARROW_MALLOC_CONF"] = "background_thread:false"
# An allocator of its own would keep what pyarrow has freed beside what the C library keeps.
os.environ["ARROW_DEFAULT_MEMORY_POOL"] = "system"
# What polars has freed it keeps for five seconds, by default for half of one, and then gives to the
# system at once. By default it lets the system take it in need, and seems to have it until then.
os.environ["_RJEM_MALLOC_CONF"] = "dirty_decay_ms:5000,muzzy_decay_ms:0"

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
from windowing.spark.memory import keep_freed_memory

if __name__ == "__main__":
    keep_freed_memory()
    make_ready()
    gc.freeze()
    manager()
