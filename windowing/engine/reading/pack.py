"""Pack: decode a batch's raw rows of one partition into a chunk of columns.

Decoding is stateless, so it runs where the rows are, with their parallelism. Uniform values are
read by column, others that are clean at once, and doubtful ones exactly, one at a time
(`windowing.engine.reading.values`).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import polars as pl

from windowing.engine.columns import (
    COUNTER,
    FATE,
    KIND,
    OFFSET,
    REFUSAL,
    TIME,
    field_column,
    field_of,
)
from windowing.engine.effects import took_effect
from windowing.engine.reading.computing import computed, with_letters
from windowing.engine.reading.control import ControlError, ControlVerdict, read_control
from windowing.engine.reading.decoders.decoder import dtype_of
from windowing.engine.reading.metadata import Carried, metadata_columns
from windowing.engine.reading.objects import BadValue
from windowing.engine.reading.refusals import Detail, shown, spelled
from windowing.engine.reading.rules import ValueRules
from windowing.engine.reading.steps import check_instant, progress_key
from windowing.engine.reading.values import reading_of
from windowing.engine.tuning import tuning
from windowing.model.file.changes import read_change
from windowing.model.lengths import INT64_MIN
from windowing.model.registry import PluginError
from windowing.model.types import FieldType
from windowing.model.user.user_code import raisable, words

# Kinds of a chunk's rows.
DATA, BOUND, END, BAD, IGNORED, OBSERVED, BOUND_ON, CHANGE = range(8)


@dataclass(frozen=True)
class RawRows:
    """Raw rows of one partition of the log, in increasing offset.

    Attributes:
        offsets: offset of each row; gaps are allowed.
        values: bytes of each value; None is a tombstone.
        controls: the control header's JSON if the row is a control record, else None.
        append_us: the broker's append time, or None if unknown.
        metadata: by name, what else is used of the records
            (`windowing.engine.reading.metadata.Carried`).
    """

    offsets: Sequence[int] | pl.Series
    values: Sequence[bytes | None] | pl.Series
    controls: Sequence[bytes | None] | pl.Series
    append_us: Sequence[int | None] | pl.Series
    metadata: Carried = field(default_factory=dict)

    def part(self, start: int, stop: int) -> RawRows:
        """Return the rows from position `start` up to `stop`."""
        return RawRows(
            self.offsets[start:stop],
            self.values[start:stop],
            self.controls[start:stop],
            self.append_us[start:stop],
            {name: column[start:stop] for name, column in self.metadata.items()},
        )


def pack(rows: RawRows, rules: ValueRules) -> pl.DataFrame:
    """Decode rows into a chunk.

    Returns:
        one row per raw row, in the same order: `offset` (i64), `kind` (u8, one of the constants
        above), `ts_us` (i64: event time, a control record's bound, or an instant that true time had
        reached), `refusal` (text, for BAD: see `windowing.engine.reading.refusals`; for CHANGE,
        which may be refused, its JSON), a column for each declared field, named `=field` (for
        BOUND_ON, the bound's field), and for each that is computed; where a step withholds records,
        `fate` (text, null for most); where control records are signed, `counter` (i64); and where
        rules only warn, `warned` (i64: a bit for each that does not hold).
    """
    columns = _Columns.of(rows)
    metadata = [*metadata_columns(columns.offsets, columns.append_us, rows.metadata, rules)]
    chunk = _decoded(columns, metadata if rules.time is not None else [], rules)
    if not rules.computations and not rules.metadata:
        return chunk
    chunk, judged = computed(chunk.with_columns(*metadata), rules, data=DATA, bad=BAD)
    return with_letters(chunk, judged, columns.values, rules)


def read_record(rows: RawRows, rules: ValueRules) -> tuple[int, dict[str, Any]]:
    """Return the event time and all fields of one record, those that are computed too.

    Raises:
        BadValue: it is a dead letter for all queries.
    """
    (row,) = pack(rows, rules).to_dicts()
    if row[KIND] != DATA:
        reason = json.loads(row[REFUSAL])[0] if row[KIND] == BAD else "malformed"
        raise BadValue(reason)
    return row[TIME], {name: row[field_column(name)] for name in rules.known_fields}


def refusal_of(rows: RawRows, rules: ValueRules) -> Detail:
    """Return why one record is a dead letter for all queries.

    Raises:
        BadValue: it is none.
    """
    (row,) = pack(rows, rules).to_dicts()
    if row[KIND] != BAD:
        raise BadValue("malformed")
    return Detail(*json.loads(row[REFUSAL])[1:])


def _decoded(columns: _Columns, metadata: Sequence[pl.Series], rules: ValueRules) -> pl.DataFrame:
    """Return a chunk without what is computed.

    Args:
        metadata: what the event time uses.
    """
    uniform = reading_of(rules).uniform(columns.data, columns.append_us, metadata)
    if uniform is None:
        return _pack(columns.rows(metadata), rules)
    found, certain = uniform
    took_effect("read by shape", int(certain.sum()))
    if certain.all():
        return _chunk(columns.offsets, found.get_columns(), rules)
    read = _chunk(columns.offsets.filter(certain), found.filter(certain).get_columns(), rules)
    rest = [column.filter(~certain) for column in metadata]
    others = _pack(columns.where(~certain).rows(rest), rules)
    places = pl.concat([certain.arg_true(), (~certain).arg_true()])
    return pl.concat([read, others])[places.arg_sort()]


class _Columns(NamedTuple):
    """Raw rows as columns."""

    offsets: pl.Series
    values: pl.Series
    controls: pl.Series
    append_us: pl.Series

    @classmethod
    def of(cls, rows: RawRows) -> _Columns:
        """Return the columns; without a copy if they are columns already."""
        return cls(
            pl.Series(rows.offsets, dtype=pl.Int64),
            pl.Series(rows.values, dtype=pl.Binary),
            pl.Series(rows.controls, dtype=pl.Binary),
            pl.Series(rows.append_us, dtype=pl.Int64),
        )

    @property
    def data(self) -> pl.Series:
        """The values, without those of control records."""
        if self.controls.null_count() == len(self.controls):
            return self.values
        return self.values.zip_with(self.controls.is_null(), pl.Series([None], dtype=pl.Binary))

    def where(self, chosen: pl.Series) -> _Columns:
        """Return some of the rows."""
        return _Columns(*(column.filter(chosen) for column in self))

    def rows(self, metadata: Sequence[pl.Series] = ()) -> RawRows:
        """Return the rows as lists, for decoders that go from one to the next."""
        offsets, values, controls, append_us = (column.to_list() for column in self)
        named = {field_of(column.name) or "": column for column in metadata}
        return RawRows(offsets, values, controls, append_us, named)


def _pack(rows: RawRows, rules: ValueRules) -> pl.DataFrame:
    decoded = _fast(rows, rules)
    if decoded is not None:
        return decoded
    count = len(rows.offsets)
    if count <= tuning().exact_rows_max:
        return _exact(rows, rules)
    # A doubtful value sends only its neighbours to the slow path, not the whole batch.
    middle = count // 2
    return pl.concat([_pack(rows.part(0, middle), rules), _pack(rows.part(middle, count), rules)])


def _fast(rows: RawRows, rules: ValueRules) -> pl.DataFrame | None:
    """Decode rows that are all clean; None if any is doubtful."""
    if any(control is not None for control in rows.controls):
        return None
    metadata = [pl.Series(column) for column in rows.metadata.values()]
    found = reading_of(rules).clean(list(rows.values), list(rows.append_us), metadata)
    return None if found is None else _chunk(rows.offsets, found.get_columns(), rules)


def _chunk(
    offsets: Sequence[int] | pl.Series, columns: list[pl.Series], rules: ValueRules
) -> pl.DataFrame:
    offset = pl.Series(OFFSET, offsets, dtype=pl.Int64)
    counter = [pl.lit(None, dtype=pl.Int64).alias(COUNTER)] if rules.gate.signed else []
    return pl.DataFrame([offset, *columns]).with_columns(
        pl.lit(DATA, dtype=pl.UInt8).alias(KIND),
        pl.lit(None, dtype=pl.String).alias(REFUSAL),
        *counter,
    )


def _exact(rows: RawRows, rules: ValueRules) -> pl.DataFrame:
    """Decode row by row, including control records and bad values."""
    kinds: list[int] = []
    times: list[int | None] = []
    refusals: list[str | None] = []
    counters: list[int | None] = []
    fates: list[str | None] = []
    fields: dict[str, list[Any]] = {name: [] for name in rules.fields}
    reading, absent = reading_of(rules), dict.fromkeys(rules.fields)
    for place, (offset, value, control, append_us) in enumerate(
        zip(rows.offsets, rows.values, rows.controls, rows.append_us, strict=True)
    ):
        record: dict[str, Any] = absent
        refusal = ts_us = counter = fate = None
        try:
            if control is not None:
                opened = rules.gate.open(control)
                counter = opened.counter
                kind, ts_us, record = _control(opened, append_us, rules)
                record = absent | record
                refusal = opened.body.decode() if kind == CHANGE and opened.body else None
            else:
                own = {name: column[place] for name, column in rows.metadata.items()}
                draft = reading.exact(value, append_us, own)
                kind, ts_us, record = DATA, draft.ts_us, draft.fields
                fate = None if draft.fate is None else draft.fate.name
        except BadValue as bad:
            kind, refusal = BAD, spelled(bad.reason, value, control, append_us, rules)
        except raisable() as error:
            if not reading.has_plugins:
                raise
            named = ", ".join([rules.format.name, *(step.name for step in rules.steps)])
            msg = (
                f"offset {offset}: reading {shown(value)} failed in a plug-in among {named}: "
                f"{words(error)}; let it raise BadValue(reason), and the record is a dead letter"
            )
            raise PluginError(msg) from error
        kinds.append(kind)
        times.append(ts_us)
        refusals.append(refusal)
        counters.append(counter)
        fates.append(fate)
        for name, column_values in fields.items():
            column_values.append(record[name])
    columns = [pl.Series(TIME, times, dtype=pl.Int64)]
    columns += [_series(name, rules.fields[name], values) for name, values in fields.items()]
    columns += [pl.Series(FATE, fates, dtype=pl.String)] if rules.withholds else []
    took_effect("read one by one", len(kinds))
    counter_column = [pl.Series(COUNTER, counters, dtype=pl.Int64)] if rules.gate.signed else []
    return _chunk(rows.offsets, columns, rules).with_columns(
        pl.Series(KIND, kinds, dtype=pl.UInt8),
        pl.Series(REFUSAL, refusals, dtype=pl.String),
        *counter_column,
    )


def _series(name: str, type_: FieldType, values: list[Any]) -> pl.Series:
    if type_.kind == "float":
        # Adding zero turns -0.0 into 0.0; not in polars, which skips it for columns of one row.
        values = [None if value is None else float(value) + 0.0 for value in values]
    return pl.Series(field_column(name), values, dtype=dtype_of(type_))


def _control(
    opened: ControlVerdict, append_us: int | None, rules: ValueRules
) -> tuple[int, int | None, dict[str, Any]]:
    """Return kind and instant of a control record, and the field's value that its bound is for."""
    if opened.body is None:
        raise BadValue("not_allowed")
    if opened.about is None:
        raise BadValue("malformed")
    if opened.about.change:
        if read_change(opened.body) is None:
            raise BadValue("malformed")
        return CHANGE, None, {}
    try:
        control = read_control(opened.body)
    except ControlError:
        raise BadValue("malformed") from None
    if control.end:
        return END, None, {}
    bound_us, observed = control.bound_us, control.bound_us is None
    instant_us = control.reached_us(rules.delays) if bound_us is None else bound_us
    if instant_us is None:
        return IGNORED, None, {}
    check_instant(instant_us, append_us, rules.event_time)
    if observed:
        return OBSERVED, max(instant_us, INT64_MIN), {}
    if control.on is None:
        return BOUND, instant_us, {}
    # A bound on several fields is ignored.
    key = progress_key(rules, *next(iter(control.on.items()))) if len(control.on) == 1 else None
    return (IGNORED, None, {}) if key is None else (BOUND_ON, instant_us, key)
