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
from windowing.engine.reading.expressions.evaluate import evaluate, evaluate_in_order
from windowing.engine.reading.failures import causes
from windowing.engine.reading.refusals import shown
from windowing.engine.reading.rules import ValueRules
from windowing.model.computed import BAD_EXPRESSION, Computation
from windowing.model.fates import FILTERED
from windowing.model.limits import LATEST

Flags = NDArray[np.bool_]

_NEVER: Final = -1
_MISPLACED: Final = "a value that windows cannot lie over"


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

    def letter(
        self, at: int, rules: ValueRules, cause: str | None
    ) -> tuple[str, str | None, str] | None:
        """Return reason, field and rule of a record's dead letter; None: it is none.

        Args:
            cause: of `causes`.
        """
        if self.broken[at] == _NEVER:
            return None
        one = rules.computations[int(self.broken[at])]
        if not self.failed[at]:
            return one.reason, None, one.text
        used = rules.used_by.get(one.name)
        what = one.text if used is None else f"{one.text}, of {used},"
        return BAD_EXPRESSION, one.name, f"{what} has a value; here: {cause}"

    def causes(self, rules: ValueRules) -> dict[int, str]:
        """Return why expressions have no value, by record."""
        found = dict[int, str]()
        without = (self.broken != _NEVER) & self.failed
        for number in np.unique(self.broken[without]).tolist():
            places = np.flatnonzero(without & (self.broken == number))
            one, rows = rules.computations[number], self.columns[places]
            if one.is_field and one.name in rules.placed_by:
                has = evaluate(one.expression, rows, rules.known_fields).failed.to_numpy()
                found |= dict.fromkeys(places[~has].tolist(), _MISPLACED)
                places, rows = places[has], rows.filter(pl.Series(has))
            why = causes(one.expression, rows, rules.known_fields)
            found |= dict(zip(places.tolist(), why, strict=True))
        return found


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
    named = tuple(
        (one.name if one.is_field else None, one.expression) for one in rules.computations
    )
    results = evaluate_in_order(named, columns, rules.known_fields)
    for number, (one, found) in enumerate(zip(rules.computations, results, strict=True)):
        if one.role in ("where", "argument") and withheld is not None:
            alive &= ~withheld
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
    letters, why = [], found.causes(rules)
    for place, value in zip(places.tolist(), values.gather(places), strict=True):
        letter = found.letter(place, rules, why.get(place))
        assert letter is not None  # noqa: S101 - by the choice of places
        reason, name, rule = letter
        letters.append(json.dumps([reason, name, shown(value), rule]))
    return chunk.with_columns(chunk[REFUSAL].scatter(places, letters))
