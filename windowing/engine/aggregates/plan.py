"""The accumulators of one query: its partial columns, their merging and their results."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from fractions import Fraction

import numpy as np
import polars as pl

from windowing.engine.aggregates import ranks
from windowing.engine.aggregates.bags import Bag
from windowing.engine.aggregates.schema import Role, StateSchema
from windowing.engine.aggregates.sketches import bin_middles, bins_per_octave
from windowing.engine.aggregates.sums import Sums
from windowing.engine.columns import (
    FIRST_OFFSET,
    LAST_OFFSET,
    OFFSET,
    OVERFLOW,
    RECORDS,
    field_column,
    state_column,
)
from windowing.engine.effects import took_effect
from windowing.engine.reading.decoders.decoder import dtype_of
from windowing.engine.storage.groups import Groups
from windowing.model import Query
from windowing.model.fields import Aggregate, ValueType, may_overflow, value_type
from windowing.model.file.pipeline import Source
from windowing.model.functions import MEAN_PLACES, SPREAD, TRUTHS
from windowing.model.lengths import INT64_MAX, INT64_MIN
from windowing.model.rows import Value
from windowing.model.types import FieldType

Values = pl.Series | Sequence[Value]
"""A function to the results of one aggregate, one per partial state."""

_SUMS = (Role.SUM, Role.BIN)
_NUMBERS = (*_SUMS, Role.MIN, Role.MAX)
_EXTREMES = ("min", "max")


class Accumulators:
    """Partial states of one query's aggregates, as columns.

    Every partial state has `records`, and `first` and `last` (offsets). The schema lists the other
    columns, which follow from the aggregates: numbers per field; bags, one list each; states of
    users' classes, one binary value each. Aggregates share common columns.
    """

    def __init__(
        self,
        aggregates: Sequence[Aggregate],
        fields: Mapping[str, FieldType],
        schema: StateSchema,
    ) -> None:
        self._aggregates, self.schema = tuple(aggregates), schema
        self._types = [value_type(a, fields) for a in aggregates]
        self._may_overflow = {a.name for a in aggregates if may_overflow(a, fields)}
        self._fields = {field: fields[field] for a in aggregates for field in a.fields}

    @classmethod
    def over(
        cls, aggregates: Sequence[Aggregate], fields: Mapping[str, FieldType], order: str
    ) -> Accumulators:
        """Return the accumulators of some aggregates; the arguments are those of the schema."""
        return cls(aggregates, fields, StateSchema.over(aggregates, fields, order))

    @classmethod
    def of(cls, query: Query, source: Source) -> Accumulators:
        """Return the accumulators of a query over a source."""
        return cls(query.aggregates, source.fields, StateSchema.of(query, source))

    def lift(self, records: pl.DataFrame) -> list[pl.Series]:
        """Return the partial state of each single record.

        Args:
            records: with partition, offset, the column of the windowing attribute and, for each
                field, its column.
        """
        offset = records[OFFSET]
        columns = [
            pl.Series(RECORDS, np.ones(len(records), dtype=np.int64)),
            offset.alias(FIRST_OFFSET),
            offset.alias(LAST_OFFSET),
        ]
        for field in self._fields:
            columns += self._lift_field(field, records[field_column(field)])
        for truths in dict.fromkeys(self.schema.truths.values()):
            named = [name for name in (truths.field, truths.condition) if name is not None]
            columns += truths.lift(*(records[field_column(name)] for name in named))
        return [*columns, *(held.lift(records) for held in self.schema.held.values())]

    def _lift_field(self, field: str, values: pl.Series) -> list[pl.Series]:
        names = (state_column(field, function) for function in _EXTREMES)
        columns = [values.alias(name) for name in names if name in self.schema.columns]
        if (sums := self.schema.sums.get(field)) is not None:
            columns += sums.lift(values)
        return columns

    def concat(self, frames: Sequence[pl.DataFrame]) -> pl.DataFrame:
        """Concatenate frames of partial states."""
        return self.schema.concat(frames)

    def merge(
        self, partials: pl.DataFrame, by: Sequence[str], ends: Mapping[str, Role] | None = None
    ) -> pl.DataFrame:
        """Merge the partial states with equal columns `by`.

        Args:
            partials: with the columns `by`, and partial states; other columns are dropped.
            by: the columns that identify a merged state.
            ends: further columns, which keep their smallest or largest value.
        """
        return self.merged(partials, Groups.by(partials, by), by, ends)

    def merged(
        self,
        partials: pl.DataFrame,
        groups: Groups,
        by: Sequence[str],
        ends: Mapping[str, Role] | None = None,
        without: Collection[str] = (),
    ) -> pl.DataFrame:
        """Merge the partial states of each group: see `merge`.

        Args:
            groups: by the columns `by`.
            by: the columns that identify a merged state.
            ends: further columns, which keep their smallest or largest value.
            without: columns of the states that are no longer needed.
        """
        numbers = {column.name: column.role for column in self.schema.among(partials, *_NUMBERS)}
        roles = {name: role for name, role in numbers.items() if name not in without}
        roles |= dict(ends or {})
        first = pl.Series(groups.first, dtype=pl.UInt32)
        merged = pl.DataFrame(
            [
                *(partials[name][first] for name in by),
                *(_reduced(partials[name], role, groups) for name, role in roles.items()),
            ]
        )
        for column in self.schema.among(partials, Role.BAG, Role.USER):
            held = self.schema.held[column.name].merge(partials, by)
            merged = merged.join(held, on=by, how="left", nulls_equal=True, maintain_order="left")
        return merged

    def results(self, partials: pl.DataFrame) -> list[pl.Series]:
        """Return the aggregates' values, one column each, in the order of the query.

        A sum of integers is null where its exact total leaves int64, one of decimals where it has
        more than 38 digits, a user's aggregate where its class fails.
        """
        results = []
        for aggregate, type_ in zip(self._aggregates, self._types, strict=True):
            values = self._result(aggregate, partials)
            results.append(pl.Series(aggregate.name, values, dtype=_dtype(type_)))
        return results

    def of_none(self, rows: int) -> list[pl.Series]:
        """Return what rows without records show: how many there are, 0, and else null."""
        return [
            pl.Series(
                one.name, [0 if one.function == "count" else None] * rows, dtype=_dtype(type_)
            )
            for one, type_ in zip(self._aggregates, self._types, strict=True)
        ]

    def overflow(self, partials: pl.DataFrame, results: Sequence[pl.Series]) -> pl.Series:
        """Name the values of `results` that are null although they should not be.

        Sums that have too many digits, and aggregates of users whose class fails; null: none.
        """
        named: list[list[str] | None] = [None] * len(partials)
        for aggregate, values in zip(self._aggregates, results, strict=True):
            if not values.null_count():
                continue
            for row in self._unshown(aggregate, values, partials).arg_true().to_list():
                named[row] = [*(named[row] or ()), aggregate.name]
        return pl.Series(OVERFLOW, named, dtype=pl.List(pl.String))

    def _unshown(self, one: Aggregate, values: pl.Series, partials: pl.DataFrame) -> pl.Series:
        if one.name in self.schema.users:
            failed = self.schema.users[one.name].failed(partials, values)
            took_effect("failures of a class", int(failed.sum()))
            return failed
        if one.name not in self._may_overflow:
            return pl.repeat(False, len(values), eager=True)
        beyond = values.is_null() & (partials[self.schema.sums[one.fields[0]].count] > 0)
        took_effect("overflown sums", int(beyond.sum()))
        return beyond

    def _result(self, aggregate: Aggregate, partials: pl.DataFrame) -> Values:
        name, field, function = aggregate.name, aggregate.field, aggregate.function
        if field is None:
            return partials[RECORDS]
        if name in self.schema.users:
            return self.schema.users[name].results(partials)
        if name in self.schema.bags:
            return _read(aggregate, self.schema.bags[name], partials)
        if function in _EXTREMES:
            return partials[state_column(field, function)]
        if function in TRUTHS:
            return self.schema.truths[name].results(function, partials)
        if function == "count":
            return partials[self.schema.sums[field].count]
        return self._summed(
            function, self._fields[field], Sums.of(self.schema.sums[field], partials)
        )

    def _summed(self, function: str, type_: FieldType, sums: Sums) -> Values:
        if function in SPREAD:
            return sums.spread(function)
        if type_.kind == "decimal":
            scale = type_.scale
            means = function == "mean"
            return sums.decimal_means(scale + MEAN_PLACES) if means else sums.decimals(scale)
        if function == "mean":
            return sums.means()
        return sums.rounded_sums() if type_.kind == "float" else _whole_sums(sums)


def _reduced(values: pl.Series, role: Role, groups: Groups) -> pl.Series:
    if role in _SUMS:
        return groups.sums(values)
    return groups.extremes(values, largest=role is Role.MAX)


def _read(aggregate: Aggregate, bag: Bag, partials: pl.DataFrame) -> Values:
    match aggregate.function, aggregate.parameters:
        case "quantile", (share,):
            return ranks.quantile(bag, partials, Fraction(share))
        case "approx_quantile", (share, accuracy):
            bins = ranks.quantile(bag, partials, Fraction(share))
            middles = bin_middles(bins.fill_null(0).to_numpy(), bins_per_octave(Fraction(accuracy)))
            known = bins.is_not_null().to_list()
            return [m if is_ else None for m, is_ in zip(middles.tolist(), known, strict=True)]
        case "approx_count_distinct", (size,):
            return ranks.estimated(bag, partials, int(size))
        case "top_k", (most,):
            return ranks.listed(bag, partials, int(most))
        case "median", ():
            return ranks.median(bag, partials)
        case "collect", ():
            return ranks.listed(bag, partials)
        case "count_distinct", ():
            return ranks.distinct(bag, partials)
    return ranks.first(bag, partials)


def _dtype(type_: ValueType) -> pl.DataType | type[pl.DataType]:
    dtype = dtype_of(type_)
    return pl.List(dtype) if type_.many else dtype


def _whole_sums(sums: Sums) -> Values:
    known = sums.whole()
    if known is not None:
        return known
    return [t if n and INT64_MIN <= t <= INT64_MAX else None for t, n in sums.each()]
