"""Defects in reading values: by their common shape, one by one, and from their pieces."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from functools import partial
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from chaos.planted_bugs.conditions import (
    anywhere_nullable,
    fractions,
    iso_times,
    local_times,
    paths,
    with_floats,
    with_unit,
)
from chaos.planted_bugs.planted import planted
from chaos.simulator.draw.wish import Wish
from windowing.engine.columns import field_column
from windowing.engine.loops.instants import Flags, Ints
from windowing.engine.reading.objects import BadValue
from windowing.engine.reading.pack import (
    RawRows,
    _chunk,
    _Columns,
    _exact,
    _fast,
    _pack,
)
from windowing.engine.reading.paths import Blocked
from windowing.engine.reading.rules import ValueRules
from windowing.engine.reading.steps import _field, _typed
from windowing.engine.reading.time_columns import Places, instants
from windowing.engine.reading.times import ahead_us, iso_us, time_us, zoned_us
from windowing.engine.reading.values import reading_of
from windowing.engine.tuning import Tuning, tuning
from windowing.model.paths import Path
from windowing.model.times import Spelling
from windowing.model.types import FieldType
from windowing.model.zones import Zone
from windowing.spark.sources.pieces import Batches, _cut, _gathered, _joined

_BY_VALUES = "deterministic, dead letters, conservation, no error, progress, exactly once"
_STEPS, _PIECES = "windowing.engine.reading.steps", "windowing.spark.sources.pieces"

SHAPED = {"alike_from_values": 1}
"""As few values as one are read by their shape."""

IN_PIECES = {"whole_value_bytes_max": 20, "value_pieces": 3}
"""Most values travel in pieces."""

# --- by shape ---------------------------------------------------------------------------------


_ISO_US = "windowing.engine.reading.times:iso_us"

planted_in_shapes = partial(planted, expected=_BY_VALUES, tuning=SHAPED)


# Floats that keep the sign of their zero. How one gets it: the exact decoder makes one zero of two,
# and the fast one is written from its own tests.
@planted_in_shapes("shape_keeps_the_sign_of_zero", at=f"{_STEPS}:_field", shows_in=with_floats)
def with_its_sign(rules: ValueRules, name: str, *, there: bool) -> pl.Expr:
    if there and name != rules.event_time.field and rules.fields[name].kind == "float":
        return pl.col(field_column(name)).cast(pl.Float64)
    return _field(rules, name, there=there)


# Arrow's bitmap of what is not null, its bits in the wrong order. How one gets it: `packbits` puts
# the first bit highest by default, which bitmaps of eight equal bits do not show.
@planted_in_shapes(
    "shape_nulls_from_the_other_end",
    at="windowing.engine.reading.decoders.layout:_bits",
    shows_in=anywhere_nullable,
)
def from_the_other_end(valid: np.ndarray[Any, Any]) -> pa.Buffer | None:
    return None if valid.all() else pa.py_buffer(np.packbits(valid))


# ISO times whose fraction of a second is not filled up. How one gets it: six digits in every test.
@planted_in_shapes(
    "shape_fraction_as_it_stands",
    at="windowing.engine.reading.decoders.layout:instants",
    shows_in=iso_times,
)
def as_it_stands(places: Places, spelling: Spelling) -> tuple[Ints, Flags]:
    found, certain = instants(places, spelling)
    for row in np.flatnonzero(certain).tolist():
        start, length = places.starts[row], places.lengths[row]
        text = bytes(places.data[start : start + length]).decode()
        if short := re.search(r"\.([0-9]{1,5})(?![0-9])", text):
            digits = int(short[1])
            found[row] += digits - digits * 10 ** (6 - len(short[1]))
    return found, certain


# Values of the shape under the offsets of as many first rows. How one gets it: of two columns that
# are filtered, the one that is made elsewhere is cut to the length of the other.
@planted_in_shapes("shape_under_the_first_offsets", at="windowing.spark.stages:pack")
def under_the_first_offsets(rows: RawRows, rules: ValueRules) -> pl.DataFrame:
    columns = _Columns.of(rows)
    uniform = reading_of(rules).uniform(columns.data, columns.append_us)
    if uniform is None:
        return _pack(columns.rows(), rules)
    found, certain = uniform
    offsets = columns.offsets.head(int(certain.sum()))
    read = _chunk(offsets, found.filter(certain).get_columns(), rules)
    if certain.all():
        return read
    others = _pack(columns.where(~certain).rows(), rules)
    places = pl.concat([certain.arg_true(), (~certain).arg_true()])
    return pl.concat([read, others])[places.arg_sort()]


# Values that are of the shape, and illegal, read as they are: the limits of time are asked of the
# shape's first reader alone. How one gets it: half of a condition.
@planted_in_shapes("shape_time_not_judged", at=f"{_STEPS}:_legal_time", shows_in=with_unit)
def any_time(rules: ValueRules, unit_us: int) -> pl.Expr:
    del rules, unit_us
    return pl.col("_instant").is_not_null()


# --- one by one -------------------------------------------------------------------------------


# The row in the middle of those that are halved is in neither half. How one gets it: both ends of a
# slice taken as inclusive.
@planted(
    "middle_row_in_neither_half",
    _BY_VALUES,
    at="windowing.engine.reading.pack:_pack",
    tuning={"exact_rows_max": 1},
)
def without_the_middle(rows: RawRows, rules: ValueRules) -> pl.DataFrame:
    decoded = _fast(rows, rules)
    if decoded is not None:
        return decoded
    count = len(rows.offsets)
    if count <= tuning().exact_rows_max:
        return _exact(rows, rules)
    middle = count // 2
    ends = (0, middle), (middle + (count > 2), count)
    return pl.concat([without_the_middle(rows.part(*own), rules) for own in ends])


# Truth values that are read as numbers. How one gets it: in Python, `True` is an `int`.
@planted(
    "truth_is_a_number",
    _BY_VALUES,
    at="windowing.engine.reading.steps:_typed",
    wish=Wish(records_max=30),
)
def with_truth(value: Any, type_: FieldType, rules: ValueRules) -> Any:
    if isinstance(value, bool) and type_.kind not in ("string", "bool"):
        value = int(value)
    return _typed(value, type_, rules)


# Event times in larger units that are compared before they are multiplied: those just behind the
# end pass. How one gets it: limits are converted to the unit, and rounded.
@planted(
    "end_of_time_rounded_up",
    _BY_VALUES,
    at="windowing.engine.reading.steps:_event_time",
)
def up_to_the_end(value: Any, append_us: int | None, rules: ValueRules) -> int:
    rule = rules.event_time
    if value is None:
        raise BadValue("missing_event_time")
    ts_us = time_us(value, rule.spelling)
    if ts_us is None:
        raise BadValue("bad_event_time")
    if not rules.first_us <= ts_us <= rule.end_us:
        raise BadValue("time_out_of_range")
    ahead_us = rule.max_ahead_us
    if append_us is not None and ahead_us is not None and ts_us > append_us + ahead_us:
        raise BadValue("time_ahead")
    return ts_us


# --- from pieces ------------------------------------------------------------------------------


# A value without its last piece. How one gets it: a range that excludes its end, and an end that
# was the last one.
@planted(
    "value_without_its_last_piece",
    _BY_VALUES,
    at=f"{_PIECES}:_joined",
    tuning=IN_PIECES,
)
def without_the_last(rows: pa.RecordBatch, starts: list[int], pieces: int) -> pa.RecordBatch:
    if not starts:
        return rows
    is_kept, values = np.ones(len(rows), dtype=bool), rows["value"].to_pylist()
    for start in starts:
        end = start + pieces
        is_kept[start + 1 : end] = False
        values[start] = b"".join(values[start : end - 1])
    place, type_ = rows.schema.get_field_index("value"), rows["value"].type
    joined = rows.set_column(place, rows.schema.field(place), pa.array(values, type_))
    return joined.filter(pa.array(is_kept))


# A value whose last piece is in the next batch counts as whole. How one gets it: `<` and `<=` where
# the number of rows is compared with a place.
@planted(
    "value_whole_although_cut",
    _BY_VALUES,
    at=f"{_PIECES}:_whole",
    tuning=IN_PIECES,
)
def whole_although_cut(batches: Batches, limits: Tuning) -> Batches:
    rest, pieces = list[pa.RecordBatch](), limits.value_pieces
    for batch in batches:
        rows = pa.concat_batches([*rest, batch]) if rest else batch
        starts = _cut(rows, limits)
        is_whole = not starts or starts[-1] + pieces <= len(rows) + 1
        end = len(rows) if is_whole else starts.pop()
        rest = [] if is_whole else [rows.slice(end)]
        yield _joined(rows.slice(0, end), starts, pieces)


# Each piece that is large is the first of a value. How one gets it: the sizes say where values
# begin, and pieces were equal to the limit when that was written.
@planted(
    "every_piece_begins_a_value",
    _BY_VALUES,
    at=f"{_PIECES}:_cut",
    tuning=IN_PIECES,
)
def every_large_one(rows: pa.RecordBatch, limits: Tuning) -> list[int]:
    sizes = pc.fill_null(pc.binary_length(rows["value"]), 0).to_numpy()
    large = np.flatnonzero(sizes > limits.whole_value_bytes_max).tolist()
    starts = list[int]()
    for row in large:
        if not starts or row >= starts[-1] + limits.value_pieces - 1:
            starts.append(row)
    return starts


# A batch that begins with the last row of the one before. How one gets it: an overlap of one, to
# have "the value that goes on".
@planted(
    "last_row_gathered_again",
    _BY_VALUES,
    at=f"{_PIECES}:_gathered",
    tuning={"gathered_rows": 1},
)
def with_the_last_again(batches: Batches, limits: Tuning) -> Batches:
    last: Iterator[pa.RecordBatch] = iter(())
    for batch in _gathered(batches, limits):
        yield pa.concat_batches([*last, batch])
        last = iter([batch.slice(batch.num_rows - 1)])


# ISO times whose fraction of a second is read as a number of microseconds. How one gets it: the
# digits after the point are parsed as an integer.
@planted(
    "iso_fraction_is_a_number",
    "deterministic, dead letters, conservation",
    at=_ISO_US,
    shows_in=iso_times,
)
def as_a_number(value: str) -> int | None:
    if "." in value:
        seconds, _, rest = value.partition(".")
        digits = rest[: len(rest) - len(rest.lstrip("0123456789"))]
        value = f"{seconds}.{digits.rjust(6, '0')}{rest[len(digits) :]}"
    return iso_us(value)


# ISO times whose UTC offset is parsed but ignored. How one gets it: a parser that drops
# everything after the seconds.
@planted(
    "iso_zone_is_passed_over",
    "deterministic, dead letters, conservation",
    at=_ISO_US,
    shows_in=iso_times,
)
def without_zone(value: str) -> int | None:
    if iso_us(value) is None:  # an invalid time stays invalid
        return None
    return iso_us(value[:-6] if value[-6] in "+-" else value)


# Numbers with a fraction that were doubles on their way. How one gets it: what every JSON parser
# gives.
@planted(
    "fraction_through_a_float",
    _BY_VALUES,
    at="windowing.engine.reading.times:_floor",
    shows_in=fractions,
)
def through_a_float(number: Decimal, power: int) -> int:
    return math.floor(float(number) * 10.0**power)


# Of a local time that comes twice, the second. How one gets it: the offset from UTC of the day that
# begins, which is that of most of it.
@planted(
    "doubled_hour_is_the_second",
    _BY_VALUES,
    at="windowing.engine.reading.times:zoned_us",
    shows_in=local_times,
)
def the_second(local_us: int, zone: Zone) -> int | None:
    before, after = ahead_us(local_us, zone)
    return local_us - after if before > after else zoned_us(local_us, zone)


# A path through null leads to something of no type. How one gets it: what is no object has no
# members, and null is none.
@planted(
    "path_through_null_is_a_bad_type",
    _BY_VALUES,
    at="windowing.engine.reading.rules:reach",
    shows_in=paths,
)
def not_through_null(members: Mapping[str, Any], path: Path) -> Any:
    found: Any = members
    for step in path:
        if isinstance(step, str) and isinstance(found, Mapping):
            found = found.get(step)
        elif isinstance(step, int) and isinstance(found, list):
            found = found[step] if step < len(found) else None
        else:
            return Blocked(found)
    return found
