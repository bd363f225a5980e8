"""Pipeline files on their way to workers: Spark sends them with every task of every batch.

A file of ten thousand queries is larger than Spark sends with a task (it would broadcast it, which
stateful operators cannot read), and repeats itself: compressed, it is a twentieth.
"""

from __future__ import annotations

import zlib
from functools import lru_cache

from windowing.model import Pipeline, parse_pipeline


def packed(text: str) -> bytes:
    """Return a pipeline file for tasks to carry."""
    return zlib.compress(text.encode("utf-8", "surrogatepass"))


@lru_cache(maxsize=256)
def unpacked(data: bytes) -> Pipeline:
    """Return the pipeline of what `packed` returned; each worker reads it once."""
    return parse_pipeline(zlib.decompress(data).decode("utf-8", "surrogatepass"))
