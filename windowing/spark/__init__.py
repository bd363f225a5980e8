"""The Spark engine: the same lanes and shards inside Structured Streaming.

    rows ──pack──► lane (keyed by partition) ──► shard (keyed by shard number) ──► sink

Spark keeps the state, versioned by batch: a rerun batch starts from the old state, so lanes and
shards need no failure handling.

In your own program: `windowed(records, pipeline)`, in a session started with `SETTINGS`
(`windowing.spark.stream.py`). Continue with `windowing.spark.plan`. Imports are lazy, because
`daemon` must stay light.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from windowing.spark.plan import SETTINGS
    from windowing.spark.sources.files import WITHOUT_ROWS, parquet_files
    from windowing.spark.sources.reading import limit_batches
    from windowing.spark.stream import windowed

__all__ = ["SETTINGS", "WITHOUT_ROWS", "limit_batches", "parquet_files", "windowed"]

_ROOMS = {
    "SETTINGS": "windowing.spark.plan",
    "WITHOUT_ROWS": "windowing.spark.sources.files",
    "limit_batches": "windowing.spark.sources.reading",
    "parquet_files": "windowing.spark.sources.files",
    "windowed": "windowing.spark.stream",
}


def __getattr__(name: str) -> object:
    """Lazily import a public name."""
    if name not in _ROOMS:
        msg = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(msg)
    return getattr(import_module(_ROOMS[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
