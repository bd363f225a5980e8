"""Frames as bytes, for chunks, parcels and state: Arrow IPC streams, compressed if large."""

from __future__ import annotations

import io
from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from windowing.engine.tuning import tuning


def to_bytes(frame: pl.DataFrame, *, kept: bool = False) -> bytes:
    """Serialise a frame as an Arrow IPC stream.

    For a small frame, a codec's set-up would cost more than it saves. To compress a large one by
    LZ4 takes less time than to write its bytes, before anybody has copied them.

    Args:
        kept: it is read again and again. Then Zstandard makes it smaller, which takes as long as to
            store the rest.
    """
    compression: Literal["uncompressed", "lz4", "zstd"] = "zstd" if kept else "lz4"
    if frame.estimated_size() <= tuning().small_frame_bytes:
        compression = "uncompressed"
    sink = io.BytesIO()
    frame.write_ipc_stream(sink, compression=compression)
    return sink.getvalue()


def from_bytes(data: bytes) -> pl.DataFrame:
    """Deserialise the result of `to_bytes`."""
    return pl.read_ipc_stream(io.BytesIO(data))


def text_arrays(texts: pl.Series) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
    """Return where each text begins and the last one ends, and the bytes that this counts.

    Args:
        texts: or bytes; what a null has is not defined.
    """
    array = texts.to_arrow(compat_level=pl.CompatLevel.oldest())
    _, bounds, text = array.buffers()
    offsets = np.frombuffer(bounds, np.int64)[array.offset :][: len(texts) + 1]
    return offsets, np.frombuffer(text or b"", np.uint8)


def where(frame: pl.DataFrame, flags: NDArray[np.bool_]) -> pl.DataFrame:
    """Return the chosen rows; without a copy if all are, or none, as in most chunks."""
    if flags.all():
        return frame
    return frame.filter(pl.Series(flags)) if flags.any() else frame.clear()


def in_order(frame: pl.DataFrame, by: str) -> pl.DataFrame:
    """Return the frame sorted by a column; without a copy if it is, as most chunks are.

    Args:
        by: a column of numbers without null.
    """
    values = frame[by].to_numpy()
    return frame if (values[1:] >= values[:-1]).all() else frame.sort(by)
