"""Fast decoding of uniform values: they are read by column, without a record of each.

The values of a topic are mostly written by one program, with the same fields in the same order. One
of them shows the layout. Only values that are legal are of it, and what is read of them is what
the exact decoder would read: integers of up to 18 digits, text without escapes, numbers. Values of
other layouts are not judged here.
"""

from __future__ import annotations

import json
import re
from functools import lru_cache
from typing import TYPE_CHECKING

import polars as pl

from windowing.engine.columns import WRITTEN_TIME
from windowing.engine.reading.decoders.decoder import Decoded
from windowing.engine.reading.rules import ValueRules
from windowing.engine.tuning import tuning

if TYPE_CHECKING:
    from windowing.engine.reading.decoders.layout import Layout

# Texts have no year 0; polars would read one.
_YEAR_1_US = -62_135_596_800_000_000

# Names that are written as they are.
_PLAIN = re.compile(r'[^"\\\x00-\x1f\ud800-\udfff]*')
# The length of an ISO time without its fraction.
_SECONDS = 19


def decode_uniform(values: pl.Series, rules: ValueRules) -> Decoded | None:
    """Decode the values that have the layout of most of them; None if too few do.

    Args:
        values: the bytes on the log.
        rules: of the pipeline.
    """
    limits = tuning()
    if len(values) < limits.alike_from_values:
        return None
    sample = values.gather_every(max(len(values) // limits.alike_samples, 1))
    names = next((names for value in sample if (names := _names(value, rules))), None)
    if names is None:
        return None
    layout = _layout(names, rules)
    like = layout.read(sample)
    if like is None or 100 * like[1].sum() < limits.alike_percent * len(sample):
        return None
    found = layout.read(values)
    if found is None:
        return None
    columns, matched = found
    if rules.event_time.unit != "iso":
        return Decoded(matched, columns)
    columns = columns.with_columns(_instant(rules).alias(WRITTEN_TIME))
    known = (columns[WRITTEN_TIME] >= _YEAR_1_US).fill_null(value=False)
    return Decoded(matched & known, columns)


def _names(value: bytes | None, rules: ValueRules) -> tuple[str, ...] | None:
    """Return the names of a value's fields, in its order; None: it shows no layout."""
    try:
        record = json.loads((value or b"").decode("utf-8"))
    except (ValueError, RecursionError):
        return None
    time = rules.event_time
    if not isinstance(record, dict) or time.field not in record:
        return None
    if time.field in rules.fields and (time.unit == "iso" or rules.fields[time.field][0] != "int"):
        return None
    absent = rules.fields.keys() - record.keys()
    unknown = [name for name in record if not rules.known(name)]
    if not all(rules.fields[name][1] for name in absent) or (unknown and not rules.ignore_unknown):
        return None
    return tuple(record) if all(_PLAIN.fullmatch(name) for name in record) else None


@lru_cache(maxsize=64)
def _layout(names: tuple[str, ...], rules: ValueRules) -> Layout:
    from windowing.engine.reading.decoders.layout import Layout  # noqa: PLC0415 - loads numba

    return Layout.of(names, rules)


def _instant(rules: ValueRules) -> pl.Expr:
    """Return the event time in the file's unit, or of ISO texts in microseconds."""
    instant = pl.col(WRITTEN_TIME)
    if rules.event_time.unit != "iso":
        return instant
    text = instant.str.slice(0, _SECONDS)
    seconds = text.str.to_datetime("%Y-%m-%dT%H:%M:%S", strict=False, time_unit="us")
    fraction = instant.str.slice(_SECONDS + 1).str.pad_end(6, "0").cast(pl.Int64)
    return seconds.cast(pl.Int64) + fraction
