"""Frames as bytes: Arrow IPC streams, for chunks, parcels and state."""

from __future__ import annotations

import io

import polars as pl


def to_bytes(frame: pl.DataFrame) -> bytes:
    """Serialise a frame as an Arrow IPC stream."""
    sink = io.BytesIO()
    frame.write_ipc_stream(sink, compression="uncompressed")
    return sink.getvalue()


def from_bytes(data: bytes) -> pl.DataFrame:
    """Deserialise the result of `to_bytes`."""
    return pl.read_ipc_stream(io.BytesIO(data))
