"""Frames as bytes: Arrow IPC streams, for chunks, parcels and state."""

from __future__ import annotations

import io
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

_COMPRESSED_BYTES: Final = 1 << 16


def to_bytes(frame: pl.DataFrame, *, kept: bool = False) -> bytes:
    """Serialise a frame as an Arrow IPC stream, compressed if it is large.

    For a small frame, a codec's set-up would cost more than it saves. To compress a large one by
    LZ4 takes less time than to write its bytes, before anybody has copied them.

    Args:
        frame: the frame.
        kept: it is read again and again. Then it is made half as large by Zstandard, which takes as
            long as to store the other half.
    """
    sink = io.BytesIO()
    if frame.estimated_size() <= _COMPRESSED_BYTES:
        frame.write_ipc_stream(sink, compression="uncompressed")
    else:
        frame.write_ipc_stream(sink, compression="zstd" if kept else "lz4")
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


def where(frame: pl.DataFrame, chosen: NDArray[np.bool_]) -> pl.DataFrame:
    """Return the chosen rows; without a copy if all are, as in most chunks."""
    return frame if chosen.all() else frame.filter(pl.Series(chosen))


def in_order(frame: pl.DataFrame, by: str) -> pl.DataFrame:
    """Return the frame sorted by a column; without a copy if it is, as most chunks are."""
    return frame if frame[by].is_sorted() else frame.sort(by)
