"""The head of a shard's state: what it knows without reading any tables."""

from __future__ import annotations

import msgspec

from windowing.engine.far import Far
from windowing.engine.formats import Format, as_it_is
from windowing.engine.progress.reached import Reached

HEAD, KEYS = "head", "keys/"


class ShardState(msgspec.Struct, array_like=True):
    """The head of a shard's state; tables of queries and of keys are stored beside it.

    Attributes:
        fingerprint: of the pipeline that wrote it.
        reached: the lanes' progress, by clock name and partition.
        due_us: per query, the earliest progress at which some of its state makes a row due.
        deltas: the number of deltas.
        far: what lies apart.
    """

    fingerprint: str
    reached: dict[str, list[Reached]]
    due_us: dict[str, int] = {}
    deltas: int = 0
    far: Far = msgspec.field(default_factory=Far)


STATE = Format("a shard's state", 3, ShardState, {1: as_it_is, 2: as_it_is})
"""The stored format; format 1 had no number, and before format 3 nothing lay apart."""
