"""The daemon from which an executor forks its Python workers, with the heavy libraries loaded.

Loading them takes three seconds of CPU, which otherwise every worker of every executor pays in a
job's first batch and again after every recovery. Only what starts no thread is loaded before the
fork; polars starts one, so each worker loads it by itself (0.3 s).
"""

import os

# Their helper threads would not survive the fork, and one core is what a worker has.
os.environ["OPENBLAS_NUM_THREADS"] = "1"
os.environ["JE_ARROW_MALLOC_CONF"] = "background_thread:false"

import google.protobuf  # type: ignore[import-untyped]  # noqa: F401
import msgspec  # noqa: F401
import numpy as np  # noqa: F401
import orjson  # noqa: F401
import pandas as pd  # noqa: F401
import pyarrow as pa  # noqa: F401
import pyspark.worker  # noqa: F401
from pyspark.daemon import manager

import windowing.model  # noqa: F401

if __name__ == "__main__":
    manager()
