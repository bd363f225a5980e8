"""A lane that detects duplicates across batches, but not within one.

Defect: a chunk that is delivered twice within a batch counts twice.
How one gets it: duplicates are looked up in the state, which is written at the end of a batch.
Expected: more records are counted than an independent reader sees.
"""

from __future__ import annotations

import polars as pl

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.planted import lanes_of
from chaos.simulator.platform.parts import EngineParts
from windowing.engine.columns import OFFSET
from windowing.engine.lane import Lane, LaneState
from windowing.model.file.pipeline import Pipeline


def with_holes(pipeline: Pipeline) -> bool:
    """Whether offsets may have holes; in a dense source a repeated offset is an error."""
    return not pipeline.source.dense


class CredulousLane(Lane):
    """Compares only with the last batch."""

    def _fresh(self, chunk: pl.DataFrame, state: LaneState) -> pl.DataFrame:
        return chunk.filter(pl.col(OFFSET) > state.last_offset)


BUG = planted_bug(
    EngineParts("chunk_applied_twice", lanes=lanes_of(CredulousLane)),
    "conservation",
    "deterministic",
    "dead letters",
    shows_in=with_holes,
)
