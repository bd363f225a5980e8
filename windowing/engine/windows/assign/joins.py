"""Assignment for joins: each record by itself, with the instant at which it is delivered.

A record on time is delivered right after its own time, as progress has then passed all that may
lie beside it; a late one at its late epoch.

Source: SAMZA-552, "Join operator"; lateness by lane and late epochs are ours (ADR 1 and 2).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from windowing.engine import wids
from windowing.engine.frames import to_bytes
from windowing.engine.input.decode import column
from windowing.engine.parcel import Addition, Parcel, split
from windowing.engine.wids import ENDED, Flags, Ints
from windowing.engine.windows.assign.assigner import dead_letters
from windowing.engine.windows.part import Assigned, Scan, Tables
from windowing.model import Pipeline, Query
from windowing.model.join import JoinedSource, Side
from windowing.model.lengths import INT64_MAX

SIDES: tuple[Side, Side] = ("left", "right")
_DTYPES = {"int": pl.Int64, "float": pl.Float64, "string": pl.String}


def equal_columns(source: JoinedSource) -> list[str]:
    """The columns that both sides' tables have, for what must be equal."""
    return [column(name) for name in source.join.equal]


class JoinAssigner:
    """Gives the records of one side, whichever the lane is of.

    A record has the columns of what must be equal, `at` (its time), `instant`, `late`, `offset`,
    and the fields that rows and conditions need, as `left.x` or `right.x`.

    Args:
        query: what stands for a query in a join.
        pipeline: its pipeline.
    """

    def __init__(self, query: Query, pipeline: Pipeline) -> None:
        assert isinstance(pipeline.source, JoinedSource)  # noqa: S101 - only joins come here
        self._query, self._source, self._shards = query, pipeline.source, pipeline.shards
        self._equal = equal_columns(self._source)

    def assign(self, scan: Scan) -> Assigned:
        """Split the records into on-time, late, and refused."""
        at, progress_us = scan.values, scan.progress_us
        late = progress_us > at
        taken, instant = ~late, np.where(at >= ENDED, ENDED, np.minimum(at, ENDED - 1) + 1)
        if self._query.late.policy == "update":
            assert self._query.retention_us is not None  # noqa: S101 - `update` has both
            assert self._query.late.every_us is not None  # noqa: S101
            kept = wids.lowered(progress_us, min(self._query.retention_us, INT64_MAX)) <= at
            taken = taken | kept
            release = wids.release_us(progress_us, self._query.late.every_us)
            instant = np.where(late, release, instant)
        refused = ~taken
        dead = dead_letters(self._query, scan.data, refused, scan.partition)
        return Assigned(
            tables=self._tables(scan, taken, instant, late),
            dead=dead,
            applied=int(taken.sum()),
            outside=0,
            dropped=int(refused.sum()) - len(dead),
        )

    def _tables(self, scan: Scan, taken: Flags, instant: Ints, late: Flags) -> Tables:
        """The records of the lane's side, and none of the other one's."""
        own, records = self._source.side_of(scan.partition), scan.data.filter(pl.Series(taken))
        join = self._source.join
        tables = {side: pl.DataFrame(schema=self._schema(side)) for side in SIDES}
        tables[own] = pl.DataFrame(
            [
                *(
                    records[column(name)].alias(equal)
                    for name, equal in zip(join.key_fields(own), self._equal, strict=True)
                ),
                pl.Series("at", scan.values[taken]),
                pl.Series("instant", instant[taken]),
                pl.Series("late", late[taken]),
                records["offset"],
                *(records[column(name)].alias(f"{own}.{name}") for name in join.needed(own)),
            ]
        )
        return dict(tables.items())

    def _schema(self, side: Side) -> dict[str, type[pl.DataType]]:
        join = self._source.join
        types = join.side(side).source.fields
        equal = zip(join.key_fields(side), self._equal, strict=True)
        return {
            **{name: _DTYPES[types[field].kind] for field, name in equal},
            **{"at": pl.Int64, "instant": pl.Int64, "late": pl.Boolean, "offset": pl.Int64},
            **{f"{side}.{name}": _DTYPES[types[name].kind] for name in join.needed(side)},
        }

    def post(self, tables: Tables, parcels: Sequence[Parcel]) -> None:
        """Put each shard's part of the tables into its parcel; without equality, all into one."""
        empty = {name: to_bytes(table.clear()) for name, table in tables.items()}
        for name, table in tables.items():
            for number, part in split(table, self._equal, self._shards):
                queries = parcels[number].queries
                addition = queries.setdefault(self._query.name, Addition(ENDED, {**empty}))
                addition.due_us = min(addition.due_us, int(part["instant"].to_numpy().min()))
                addition.tables[name] = to_bytes(part)
