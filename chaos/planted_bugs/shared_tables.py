"""Defects of tables that several queries share, that grow, and that are tidied."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from datetime import timedelta
from functools import partial
from pathlib import Path

import msgspec
import numpy as np
import pyarrow as pa

from chaos.planted_bugs.conditions import (
    families_of,
    session,
    shares_slices,
    some_query,
    updates,
    with_extents_in_time,
)
from chaos.planted_bugs.planted import planted
from chaos.simulator.draw.wish import Wish
from windowing.engine.families.family import Variant
from windowing.engine.wids import Ints
from windowing.model.file.pipeline import Pipeline
from windowing.runtime.output import SinkFrame
from windowing.spark.sinks import TableSink
from windowing.spark.sinks.growth import conformed
from windowing.spark.sinks.rows import BatchRows
from windowing.spark.sinks.shared_rows import _repeated
from windowing.spark.sinks.upkeep import _tables, optimize, vacuum

_ROWS, _SHARED = "windowing.spark.sinks.rows", "windowing.spark.sinks.shared_rows"
_BY_TABLES = (
    "deterministic, dead letters, conservation, sound tables, exactly once, no error, early rows"
)
_ONE = Wish(usual=1.0, one_table=1.0, alike=1.0)

_tables_of = BatchRows.tables


def in_one_table(pipeline: Pipeline) -> bool:
    return any(len(flows) > 1 for flows in pipeline.tables.values())


def families_in_one_table(pipeline: Pipeline) -> bool:
    """Whether these share slices, too."""
    return in_one_table(pipeline) and shares_slices(pipeline)


def twins_in_one_table(pipeline: Pipeline) -> bool:
    """Whether some of these are queries with the same rows, except for their names."""
    families = families_of(pipeline) if in_one_table(pipeline) else ()
    return any(len(variant.names) > 1 for family in families for variant in family.variants)


# --- one table --------------------------------------------------------------------------------


planted_in_one_table = partial(planted, disk=True, expected=_BY_TABLES, wish=_ONE)


# Rows of queries with the same windows, all under the name of the first one. How one gets it: a
# row is copied for each of them, and the place in the run of copies is not added.
@planted_in_one_table(
    "shared_row_named_after_the_first",
    at=f"{_SHARED}:_repeated",
    shared=True,
    shows_in=twins_in_one_table,
)
def named_after_the_first(
    members: Ints, variants: Sequence[Variant], count: int
) -> tuple[pa.Array, pa.DictionaryArray]:
    rows, queries = _repeated(members, variants, count)
    codes = queries.indices.to_numpy()
    places = rows.to_numpy()
    first = np.searchsorted(places, places)
    return rows, pa.DictionaryArray.from_arrays(codes[first].astype(np.int32), queries.dictionary)


# Names of queries that are looked up by the number of a variant, not of its windows. How one gets
# it: in a test, there are as many of the one as of the other.
@planted_in_one_table(
    "shared_row_named_by_its_variant",
    at=f"{_SHARED}:_repeated",
    shared=True,
    shows_in=families_in_one_table,
)
def named_by_variant(
    members: Ints, variants: Sequence[Variant], count: int
) -> tuple[pa.Array, pa.DictionaryArray]:
    rows, queries = _repeated(members, variants, count)
    names = [name for variant in sorted(variants, key=_member) for name in variant.names]
    return rows, pa.DictionaryArray.from_arrays(queries.indices, pa.array(names, pa.string()))


def _member(variant: Variant) -> int:
    return -variant.member


# A table's rows of queries without a family are lost where there are some of a family. How one gets
# it: the second kind of rows is assigned, not added.
@planted_in_one_table(
    "rows_beside_a_family_lost",
    at=f"{_ROWS}:BatchRows.tables",
    shared=True,
    shows_in=families_in_one_table,
)
def without_those_beside(
    rows: BatchRows, frames: Sequence[SinkFrame], batch_id: int
) -> dict[str, pa.Table]:
    shared, _ = rows._divided(frames)
    found = _tables_of(rows, frames, batch_id)
    for name, frame in shared.items():
        own = [*rows._shared(name, frame, batch_id)]
        found[rows._pipeline.table_of(name)] = pa.concat_tables(own)
    return found


# Retractions that lose their mark where queries share a table, of which the first has none. How one
# gets it: the columns of a table are those of its first query.
@planted_in_one_table("marks_lost_in_one_table", at=f"{_ROWS}:conformed", shows_in=in_one_table)
def without_marks(rows: pa.Table, schema: pa.Schema) -> pa.Table:
    return conformed(rows.drop_columns([n for n in ("op",) if n in rows.column_names]), schema)


# --- growth -----------------------------------------------------------------------------------


# The tables of queries that a log adds do not know where they begin. How one gets it: a new table
# is empty, and so is its record of the run.
@planted(
    "new_table_begins_at_nothing",
    f"{_BY_TABLES}, nothing skipped",
    at="windowing.spark.sinks.table:TableSink.begin_behind",
    disk=True,
    changes=True,
    shows_in=some_query(with_extents_in_time),
)
def at_nothing(sink: TableSink, batch_id: int, queries: Collection[str]) -> None:
    del sink, batch_id, queries


planted_on_disk = partial(planted, disk=True, expected=_BY_TABLES)


# Absorbed sessions without the session that has absorbed them. How one gets it: a column that came
# later is taken for one that the pipeline has not.
@planted_on_disk(
    "absorbed_by_nobody",
    at="windowing.spark.sinks.data_files:conformed",
    shows_in=some_query(session, updates),
)
def by_nobody(rows: pa.Table, schema: pa.Schema) -> pa.Table:
    known = [name for name in rows.column_names if name != "absorbed_by"]
    return conformed(rows.select(known), schema)


# Values of which only the first is written where a table has more than its query. How one gets it:
# the columns that they have in common are counted, and zipped.
@planted_in_one_table(
    "grown_struct_by_its_first_part",
    at="windowing.spark.sinks.rows:conformed",
    shows_in=in_one_table,
)
def by_its_first_part(rows: pa.Table, schema: pa.Schema) -> pa.Table:
    found = conformed(rows, schema)
    shown, own = found["values"].combine_chunks(), rows["values"].type
    columns = [
        shown.field(part.name) if part.name == own[0].name else pa.nulls(len(found), part.type)
        for part in shown.type
    ]
    values = pa.StructArray.from_arrays(columns, fields=list(shown.type))
    return found.set_column(schema.get_field_index("values"), schema.field("values"), values)


# --- upkeep -----------------------------------------------------------------------------------


# A vacuum by the version that was opened, not by the newest one. How one gets it: tables are opened
# once for both parts of an upkeep.
@planted_on_disk("vacuum_of_the_version_before", at="chaos.simulator.platform.tables:vacuum")
def of_the_version_before(
    pipeline: Pipeline, folder: Path, *, retention: timedelta
) -> Iterator[object]:
    del retention
    for name, table in _tables(pipeline, folder):
        table.load_as_version(max(table.version() - 1, 0))
        for path in table.vacuum(0, True, enforce_retention_duration=False, full=True):
            (folder / name / path).unlink(missing_ok=True)
    yield from ()


# Small files are removed once they are merged, with those that were not because they are alone.
# How one gets it: of two lists of small files, the one without a condition.
@planted_on_disk("file_alone_removed", at="chaos.simulator.platform.tables:optimize")
def with_those_alone(pipeline: Pipeline, folder: Path) -> Iterator[object]:
    before = {name: table.file_uris() for name, table in _tables(pipeline, folder)}
    yield from optimize(pipeline, folder)
    for uris in before.values():
        for uri in uris:
            Path(uri.removeprefix("file://")).unlink(missing_ok=True)


# A vacuum that takes files which the last checkpoint of the log does not name for unneeded. How one
# gets it: "the newest version" is read where readers start, and not to its end.
@planted_on_disk(
    "vacuum_by_the_last_checkpoint",
    at="chaos.simulator.platform.tables:vacuum",
    tuning={"log_checkpoint_commits": 1},
)
def by_the_last_checkpoint(
    pipeline: Pipeline, folder: Path, *, retention: timedelta
) -> Iterator[object]:
    yield from vacuum(pipeline, folder, retention=retention)
    for name, table in _tables(pipeline, folder):
        last = folder / name / "_delta_log" / "_last_checkpoint"
        if last.is_file():
            table.load_as_version(msgspec.json.decode(last.read_bytes())["version"])
            for path in table.vacuum(0, True, enforce_retention_duration=False, full=True):
                (folder / name / path).unlink(missing_ok=True)
