"""What a source computes of its records, by column: derived fields, rules, the filter, arguments.

It is done once for a whole chunk, behind decoding, whichever way its values were read.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from windowing.engine.columns import FATE, KIND, REFUSAL, TIME, WARNED, field_column, field_of
from windowing.engine.reading.expressions.evaluate import evaluate
from windowing.engine.reading.refusals import shown
from windowing.engine.reading.rules import ValueRules
from windowing.model.computed import BAD_EXPRESSION, Computation
from windowing.model.fates import FILTERED
from windowing.model.limits import LATEST

Flags = NDArray[np.bool_]

_NEVER: Final = -1


@dataclass(frozen=True)
class Judged:
    """A chunk's records with what is computed of them.

    Attributes:
        columns: those of the records, and of what is computed.
        broken: by record, the number of the computation that makes a dead letter of it; -1: none.
        failed: whether that has no value; else it is a rule that does not hold.
        filtered: which records the filter does not take.
        warned: the rules that only warn, and do not hold: a bit for each.
    """

    columns: pl.DataFrame
    broken: NDArray[np.int64]
    failed: Flags
    filtered: Flags
    warned: NDArray[np.int64]

    def letter(self, at: int, rules: ValueRules) -> tuple[str, str | None, str] | None:
        """Return reason, field and rule of a record's dead letter; None: it is none."""
        if self.broken[at] == _NEVER:
            return None
        one = rules.computations[int(self.broken[at])]
        if self.failed[at]:
            return BAD_EXPRESSION, one.name, f"{one.text} has a value"
        return one.reason, None, one.text


def judge(columns: pl.DataFrame, taken: Flags, withheld: Flags | None, rules: ValueRules) -> Judged:
    """Evaluate the expressions of a source, in their order.

    Args:
        columns: the fields of records, and their metadata.
        taken: which rows are records.
        withheld: which of them a step withholds: no filter judges these; None: none does.
    """
    alive, size = taken.copy(), len(columns)
    broken = np.full(size, _NEVER, dtype=np.int64)
    failed, filtered = np.zeros(size, np.bool_), np.zeros(size, np.bool_)
    warned, bit = np.zeros(size, np.int64), 1
    for number, one in enumerate(rules.computations):
        if one.role in ("where", "argument") and withheld is not None:
            alive &= ~withheld
        found = evaluate(one.expression, columns, rules.known_fields)
        values, wrong = found.values, found.failed.to_numpy() & alive
        if one.is_field:
            columns = columns.with_columns(_only(values, taken).alias(field_column(one.name)))
            wrong |= _misplaced(values, one, rules) & alive
        broken[wrong], failed = number, failed | wrong
        alive &= ~wrong
        if one.is_field:
            continue
        not_so = alive & ~values.fill_null(value=False).to_numpy()
        if one.role == "warn":
            warned[not_so] |= bit
            bit <<= 1
            continue
        if one.role == "rule":
            broken[not_so] = number
        else:
            filtered |= not_so
        alive &= ~not_so
    return Judged(columns, broken, failed, filtered, warned)


def _misplaced(values: pl.Series, one: Computation, rules: ValueRules) -> Flags:
    """Return which values windows cannot lie over."""
    if one.name not in rules.placed_by:
        return np.zeros(len(values), np.bool_)
    there = values.is_between(rules.earliest, LATEST, closed="left").fill_null(value=True)
    found: Flags = ~there.to_numpy()
    return found


def _only(values: pl.Series, taken: Flags) -> pl.Series:
    """Return values of the records that are taken, and null for others."""
    if taken.all():
        return values
    nothing = pl.Series([None], dtype=values.dtype)
    return values.zip_with(pl.Series(taken), nothing)


def computed(
    chunk: pl.DataFrame, rules: ValueRules, *, data: int, bad: int
) -> tuple[pl.DataFrame, Judged]:
    """Return a chunk with all that its source computes.

    Records that fail or break a rule become those of the kind `bad`; `with_letters` says why.

    Args:
        chunk: as decoded, with the metadata that is used.
        data: the kind of data records.
    """
    taken = (chunk[KIND] == data).to_numpy()
    withheld = chunk[FATE].is_not_null().to_numpy() if FATE in chunk.columns else None
    found = judge(chunk, taken, withheld, rules)
    chunk, dead = found.columns, pl.Series(found.broken != _NEVER)
    if found.filtered.any():
        own = pl.when(pl.Series(found.filtered)).then(pl.lit(FILTERED.name))
        chunk = chunk.with_columns(pl.coalesce(FATE, own).alias(FATE))
    if any(one.role == "warn" for one in rules.computations):
        warned = np.where(found.broken == _NEVER, found.warned, 0)
        chunk = chunk.with_columns(pl.Series(WARNED, warned))
    if dead.any():
        names = [TIME, *filter(field_of, chunk.columns)]
        chunk = chunk.with_columns(
            pl.when(dead).then(pl.lit(bad, dtype=pl.UInt8)).otherwise(KIND).alias(KIND),
            *(pl.when(~dead).then(pl.col(name)).alias(name) for name in names),
        )
    return chunk, found


def with_letters(
    chunk: pl.DataFrame, found: Judged, values: pl.Series, rules: ValueRules
) -> pl.DataFrame:
    """Write the details of dead letters.

    Args:
        values: as on the log.
    """
    places = np.flatnonzero(found.broken != _NEVER)
    if not len(places):
        return chunk
    letters = []
    for place, value in zip(places.tolist(), values.gather(places), strict=True):
        letter = found.letter(place, rules)
        assert letter is not None  # noqa: S101 - by the choice of places
        reason, name, rule = letter
        letters.append(json.dumps([reason, name, shown(value), rule]))
    return chunk.with_columns(chunk[REFUSAL].scatter(places, letters))
