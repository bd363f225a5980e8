"""Frames as bytes, for chunks, parcels and state: Arrow IPC streams, of narrow columns if large."""

from __future__ import annotations

import io
from collections.abc import Sequence
from itertools import accumulate
from typing import Any, Final, Literal

import msgspec
import numpy as np
import polars as pl
from numpy.typing import NDArray

from windowing.engine.narrow import Part, Widening, narrowed, narrowed_slices, widened
from windowing.engine.tuning import tuning

_ARROW: Final = b"\xff\xff\xff\xff"
"""How every Arrow stream begins, and no msgpack."""


class _Narrow(msgspec.Struct, array_like=True):
    """A large frame, as bytes.

    Attributes:
        widening: how it follows from narrow columns.
        stream: these, as a compressed Arrow stream.
    """

    widening: Widening
    stream: bytes


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(_Narrow)


def to_bytes(frame: pl.DataFrame, *, kept: bool = False) -> bytes:
    """Serialise a frame: as an Arrow IPC stream, or if it is large, as one of narrow columns.

    For a small frame, narrowing and a codec's set-up would cost more than they save. To compress a
    large one by LZ4 takes less time than to write its bytes, before anybody has copied them.

    Args:
        frame: the frame.
        kept: it is read again and again. Then Zstandard makes it smaller, which takes as long as to
            store the rest.
    """
    if frame.estimated_size() <= tuning().small_frame_bytes:
        return _stream(frame, "uncompressed")
    return _encoded(narrowed(frame), "zstd" if kept else "lz4")


def slices_to_bytes(frame: pl.DataFrame, lengths: Sequence[int]) -> list[bytes]:
    """Serialise consecutive slices of a frame, each to what `from_bytes` reads.

    Args:
        frame: the frame.
        lengths: of the slices; none is empty.
    """
    if frame.estimated_size() <= tuning().small_frame_bytes * len(lengths):
        return [to_bytes(part) for part in slices(frame, lengths)]
    return [_encoded(part, "lz4") for part in narrowed_slices(frame, lengths)]


def from_bytes(data: bytes) -> pl.DataFrame:
    """Deserialise the result of `to_bytes`."""
    return widened(part_from_bytes(data))


def part_from_bytes(data: bytes) -> Part:
    """Deserialise the result of `to_bytes`, to be widened together with others."""
    if data.startswith(_ARROW):
        frame = pl.read_ipc_stream(io.BytesIO(data))
        return Widening(len(frame), frame.columns, {}, {}), frame
    found = _decoder.decode(data)
    return found.widening, pl.read_ipc_stream(io.BytesIO(found.stream))


def _encoded(part: Part, compression: Literal["lz4", "zstd"]) -> bytes:
    widening, narrow = part
    return _encoder.encode(_Narrow(widening, _stream(narrow, compression)))


def _stream(frame: pl.DataFrame, compression: Literal["uncompressed", "lz4", "zstd"]) -> bytes:
    sink = io.BytesIO()
    frame.write_ipc_stream(sink, compression=compression)
    return sink.getvalue()


def slices(frame: pl.DataFrame, lengths: Sequence[int]) -> list[pl.DataFrame]:
    """Return consecutive slices of a frame."""
    ends = accumulate(lengths)
    return [frame[end - rows : end] for end, rows in zip(ends, lengths, strict=True)]


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


def chosen(values: NDArray[Any], flags: NDArray[np.bool_]) -> NDArray[Any]:
    """Return the chosen values; without a copy if all are."""
    return values if flags.all() else values[flags]


def in_order(frame: pl.DataFrame, by: str) -> pl.DataFrame:
    """Return the frame sorted by a column; without a copy if it is, as most chunks are.

    Args:
        frame: the frame.
        by: a column of numbers without null.
    """
    values = frame[by].to_numpy()
    return frame if (values[1:] >= values[:-1]).all() else frame.sort(by)
