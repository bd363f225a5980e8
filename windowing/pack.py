"""Pack: a batch's raw rows of one partition become one chunk of columns.

Decoding needs no state, so it runs wherever the rows are and as wide as the rows are spread. A
whole batch is read at once; a value that is not plainly clean is read again by the exact rules of
`windowing.values`, one at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import orjson
import polars as pl

from windowing.control import ControlError, read_control
from windowing.spec.lengths import INT64_MAX, INT64_MIN
from windowing.values import _UNIT_US, BadValue, ValueRules, iso_us, read_value

# What a row of a chunk is.
DATA, BOUND, END, BAD, IGNORED, OBSERVED, BOUND_ON = range(7)

# At most this many rows share the slow path with one doubtful value.
_EXACT_ROWS = 64

_DTYPES = {"int": pl.Int64, "float": pl.Float64, "string": pl.String}
# Types that orjson gives for a clean value of each kind.
_CLEAN: dict[str, set[type]] = {"int": {int}, "float": {int, float}, "string": {str}}


@dataclass(frozen=True)
class RawRows:
    """Rows of one partition as they lie on the log, in increasing offset.

    Attributes:
        offsets: offset of each row; there may be holes.
        values: bytes of each value; None is a tombstone.
        controls: the control header's JSON where a row is a control record, else None.
        append_us: the broker's append time, or None where it is not known.
    """

    offsets: Sequence[int]
    values: Sequence[bytes | None]
    controls: Sequence[bytes | None]
    append_us: Sequence[int | None]

    def part(self, start: int, stop: int) -> RawRows:
        """The rows from position `start` up to `stop`."""
        return RawRows(
            self.offsets[start:stop],
            self.values[start:stop],
            self.controls[start:stop],
            self.append_us[start:stop],
        )


def pack(rows: RawRows, rules: ValueRules) -> pl.DataFrame:
    """Decode rows into a chunk.

    Returns:
        one row per raw row, in the same order: `offset` (i64), `kind` (u8, one of the constants
        above), `ts_us` (i64: event time, a control record's
        bound, or an instant that the true clock had reached), `reason` (text, for BAD),
        and a column for each declared field, named `=field` (of BOUND_ON, the field that it is
        about).
    """
    decoded = _fast(rows, rules)
    if decoded is not None:
        return decoded
    count = len(rows.offsets)
    if count <= _EXACT_ROWS:
        return _exact(rows, rules)
    # A doubtful value costs its own few neighbours the slow path, not the whole batch.
    middle = count // 2
    return pl.concat([pack(rows.part(0, middle), rules), pack(rows.part(middle, count), rules)])


def column(field: str) -> str:
    """The name of a field's column in a chunk, which no column of the chunk itself can have."""
    return f"={field}"


def _fast(rows: RawRows, rules: ValueRules) -> pl.DataFrame | None:
    """Decode a batch in which every value is plainly clean; None if any is doubtful."""
    if any(control is not None for control in rows.controls):
        return None
    try:
        records = [orjson.loads(value) for value in rows.values]  # type: ignore[arg-type]
    except (orjson.JSONDecodeError, TypeError):
        return None
    if not set(map(type, records)) <= {dict}:
        return None
    known = {*rules.fields, rules.event_time.field}
    if rules.ignore_unknown:
        # What is ignored must still be JSON of a legal depth; the exact reading sees to that.
        if any(type(value) in (dict, list) for record in records for value in record.values()):
            return None
    elif not all(record.keys() <= known for record in records):
        return None
    ts = _fast_times(records, rows.append_us, rules)
    if ts is None:
        return None
    columns = [ts]
    for name, (kind, nullable) in rules.fields.items():
        values = [record.get(name) for record in records]
        allowed = _CLEAN[kind] | ({type(None)} if nullable else set())
        if not set(map(type, values)) <= allowed:
            return None
        try:
            columns.append(_series(name, kind, values))
        except (TypeError, OverflowError, pl.exceptions.PolarsError):
            return None
    return _chunk(rows.offsets, columns)


def _fast_times(
    records: list[dict[str, Any]], append_us: Sequence[int | None], rules: ValueRules
) -> pl.Series | None:
    rule = rules.event_time
    times: list[Any] = [record.get(rule.field) for record in records]
    if rule.unit == "iso":
        try:
            times = [iso_us(text) for text in times]
        except BadValue:
            return None
    elif not set(map(type, times)) <= {int}:
        return None
    elif rule.unit != "us":
        unit_us = _UNIT_US[rule.unit]
        times = [time * unit_us for time in times]
    if times and not (_at_least(times, rule.min_us) and max(times) < rule.max_us):
        return None
    if rule.max_ahead_us is not None and any(
        appended is not None and time > appended + rule.max_ahead_us
        for time, appended in zip(times, append_us, strict=True)
    ):
        return None
    try:
        return pl.Series("ts_us", times, dtype=pl.Int64)
    except (TypeError, OverflowError, pl.exceptions.PolarsError):
        return None


def _at_least(times: list[Any], min_us: int) -> bool:
    return bool(min(times) >= max(min_us, INT64_MIN) and max(times) <= INT64_MAX)


def _series(name: str, kind: str, values: list[Any]) -> pl.Series:
    if kind == "float":
        # Adding zero reads -0.0 as 0.0.
        values = [None if value is None else float(value) + 0.0 for value in values]
    return pl.Series(column(name), values, dtype=_DTYPES[kind])


def _chunk(offsets: Sequence[int], columns: list[pl.Series]) -> pl.DataFrame:
    offset = pl.Series("offset", offsets, dtype=pl.Int64)
    return pl.DataFrame([offset, *columns]).with_columns(
        kind=pl.lit(DATA, dtype=pl.UInt8), reason=pl.lit(None, dtype=pl.String)
    )


def _exact(rows: RawRows, rules: ValueRules) -> pl.DataFrame:
    """Decode row by row: control records, bad values, and clean ones among them."""
    kinds: list[int] = []
    times: list[int | None] = []
    reasons: list[str | None] = []
    fields: dict[str, list[Any]] = {name: [] for name in rules.fields}
    absent = dict.fromkeys(rules.fields)
    for value, control, append_us in zip(rows.values, rows.controls, rows.append_us, strict=True):
        record: dict[str, Any] = absent
        reason = ts_us = None
        try:
            if control is not None:
                kind, ts_us, record = _control(control, rules)
                record = absent | record
            else:
                ts_us, record = read_value(value, append_us, rules)
                kind = DATA
        except BadValue as bad:
            kind, reason = BAD, bad.reason
        kinds.append(kind)
        times.append(ts_us)
        reasons.append(reason)
        for name, column_values in fields.items():
            column_values.append(record[name])
    columns = [pl.Series("ts_us", times, dtype=pl.Int64)]
    columns += [_series(name, rules.fields[name][0], values) for name, values in fields.items()]
    return _chunk(rows.offsets, columns).with_columns(
        pl.Series("kind", kinds, dtype=pl.UInt8), pl.Series("reason", reasons, dtype=pl.String)
    )


def _control(text: bytes, rules: ValueRules) -> tuple[int, int | None, dict[str, Any]]:
    """Kind and instant of a control record, and the field's value that a bound is about."""
    try:
        control = read_control(text)
    except ControlError:
        raise BadValue("malformed") from None
    if control.end:
        return END, None, {}
    if control.on is not None:
        key = rules.progress_key(*control.on)
        return (IGNORED, None, {}) if key is None else (BOUND_ON, control.bound_us, key)
    if control.bound_us is not None:
        return BOUND, control.bound_us, {}
    reached_us = control.reached_us(rules.delays)
    return (IGNORED, None, {}) if reached_us is None else (OBSERVED, reached_us, {})
