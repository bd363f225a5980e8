"""Frames as bytes: Arrow IPC streams, the form in which chunks, parcels and state travel."""

from __future__ import annotations

import io

import polars as pl


def to_bytes(frame: pl.DataFrame) -> bytes:
    """Serialise a frame as an Arrow IPC stream."""
    sink = io.BytesIO()
    frame.write_ipc_stream(sink, compression="uncompressed")
    return sink.getvalue()


def from_bytes(data: bytes) -> pl.DataFrame:
    """Read what `to_bytes` wrote."""
    return pl.read_ipc_stream(io.BytesIO(data))
