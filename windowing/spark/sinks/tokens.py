"""Tokens as rows of a sink's table, and tokens derived from frames."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import polars as pl
import pyarrow as pa

from windowing.engine.storage.frames import from_bytes
from windowing.model import Pipeline
from windowing.runtime.output import METRIC, SinkFrame, check_unchanged
from windowing.runtime.token import Stretch, Token

TOKENS = "tokens"

TOKEN_SCHEMA = pa.schema(
    [
        ("run", pa.string()),
        ("batch_id", pa.int64()),
        ("lane", pa.string()),
        ("first_offset", pa.int64()),
        ("last_offset", pa.int64()),
        ("topic_id", pa.string()),
        ("pipeline", pa.string()),
    ]
)
"""One row per lane of a batch; a lane without offsets ends one before it begins."""

TokenOf = Callable[[int], Token]
"""A function to the token of the batch being written."""


Frames = Sequence[SinkFrame]
"""A batch as the plan emits it, of all shards; rows of Spark and plain tuples of these fields are
allowed."""


def token_rows(run: str, token: Token) -> pa.Table:
    """Return the rows of a token."""
    common = {"run": run, "batch_id": token.batch_id, "pipeline": token.pipeline}
    rows = [
        {
            **common,
            "lane": lane,
            "first_offset": part.first,
            "last_offset": part.last,
            "topic_id": token.topics.get(lane.rpartition("/")[0]),
        }
        for lane, part in sorted(token.lanes.items())
    ]
    # A batch in which no lane read anything has a token, too.
    return pa.Table.from_pylist(rows or [common], schema=TOKEN_SCHEMA)


def tokens_of(rows: Iterable[Mapping[str, Any]]) -> dict[int, Token]:
    """Return the tokens of one run by batch, from rows with the columns of `TOKEN_SCHEMA`."""
    batches: dict[int, list[Mapping[str, Any]]] = {}
    for row in rows:
        batches.setdefault(row["batch_id"], []).append(row)
    return {batch: _token(batch, batches[batch]) for batch in sorted(batches)}


def _token(batch_id: int, rows: Sequence[Mapping[str, Any]]) -> Token:
    named = [row for row in rows if row["lane"] is not None]
    return Token(
        batch_id,
        {row["lane"]: Stretch(row["first_offset"], row["last_offset"]) for row in named},
        {row["lane"].rpartition("/")[0]: row["topic_id"] for row in named if row["topic_id"]},
        rows[0]["pipeline"] or "",
    )


def token_of_batch(
    pipeline: Pipeline, frames: Frames, batch_id: int, token_of: TokenOf | None
) -> Token:
    """Return the token of a batch: the job's, or else from the lanes' metrics.

    Raises:
        QueriesChanged: the log changes the queries: the batch has no token, and is not written.
    """
    check_unchanged(frames)
    return token_of_frames(pipeline, frames, batch_id) if token_of is None else token_of(batch_id)


def token_of_frames(pipeline: Pipeline, frames: Frames, batch_id: int) -> Token:
    """Return the token of a batch from the offsets in its lanes' metrics.

    Lanes that read nothing are absent.
    """
    parts = [from_bytes(bytes(data)) for kind, _, data in frames if kind == METRIC]
    lanes: dict[str, Stretch] = {}
    if parts:
        read = pl.concat(parts).drop_nulls("first_offset").group_by("partition")
        for number, first, last in read.agg(
            pl.col("first_offset").min(), pl.col("last_offset").max()
        ).iter_rows():
            lanes[pipeline.source.lane(number)] = Stretch(first, last)
    return Token(batch_id, lanes, pipeline=pipeline.fingerprint)
