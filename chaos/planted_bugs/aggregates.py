"""Defects of aggregates: nulls, ties, rounding, merging."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import numpy as np
import polars as pl

from chaos.planted_bugs.conditions import computing, nullable_key, several_lanes, some_query
from chaos.planted_bugs.planted import planted
from windowing.engine.aggregates import Accumulators
from windowing.engine.aggregates.bags import COUNT, Bag
from windowing.engine.aggregates.holdings import FAILED, UserState, bag_of
from windowing.engine.aggregates.plan import Values
from windowing.engine.aggregates.ranks import _ROW, VALUE, _per_state, _ranked, listed
from windowing.engine.aggregates.schema import Role
from windowing.engine.aggregates.sketches import hashes
from windowing.engine.aggregates.sums import SAMPLE, Sums
from windowing.engine.columns import RECORDS, state_column
from windowing.engine.storage.groups import Groups
from windowing.engine.wids import Flags
from windowing.engine.windows.part import LanePart, Scan
from windowing.engine.windows.refusing import Refusing
from windowing.model.fields import Aggregate
from windowing.model.functions import SPREAD


# `argmax` that picks the last of equal values in canonical order. How one gets it: the whole sort
# is reversed.
@planted(
    "argmax_of_a_tie_is_the_last",
    "deterministic",
    at="windowing.engine.aggregates.schema:bag_of",
    shows_in=some_query(computing(("argmax",))),
)
def reversed_as_a_whole(aggregate: Aggregate, order: str) -> Bag | None:
    bag = bag_of(aggregate, order)
    return replace(bag, falling=4) if bag is not None and aggregate.function == "argmax" else bag


_BAGS = ("first", "last", "collect", "median", "quantile", "count_distinct", "top_k")


# Aggregates that keep values, except for the null key. How one gets it: SQL's `NULL = NULL`.
@planted(
    "bag_of_a_null_key_lost", "deterministic", shows_in=some_query(computing(_BAGS), nullable_key)
)
class EqualAccumulators(Accumulators):
    def merged(
        self,
        partials: pl.DataFrame,
        groups: Groups,
        by: Sequence[str],
        ends: Mapping[str, Role] | None = None,
        without: Collection[str] = (),
    ) -> pl.DataFrame:
        merged = super().merged(partials, groups, by, ends, without)
        keys = [pl.col(name).is_null() for name in by if name.startswith("=")]
        if not keys:
            return merged
        lost = pl.any_horizontal(keys)
        return merged.with_columns(
            pl.when(lost).then(None).otherwise(pl.col(name)).alias(name)
            for name in self.schema.held
            if name in merged.columns
        )


# Lists in order of arrival, not in canonical order. How one gets it: appending to a list.
@planted(
    "collect_in_order_of_arrival",
    "deterministic",
    at="windowing.engine.aggregates.ranks:listed",
    shows_in=some_query(computing(("collect",))),
)
def appended(bag: Bag, partials: pl.DataFrame, most: int | None = None) -> pl.Series:
    entries = bag.entries(partials)
    if "#offset" not in entries.columns:
        return listed(bag, partials, most)
    ordered = entries.sort(_ROW, "#offset", maintain_order=True)
    lists = ordered.group_by(_ROW, maintain_order=True).agg(pl.col(VALUE))
    return _per_state(partials, lists)


# Distinct values that are counted in each partial state and added up. How one gets it: merging
# counts instead of sets.
@planted(
    "distinct_counts_add_up",
    "deterministic",
    at="windowing.engine.aggregates.ranks:distinct",
    shows_in=some_query(computing(("count_distinct",))),
)
def added_up(bag: Bag, partials: pl.DataFrame) -> list[int | None]:
    counts = bag.entries(partials).group_by(_ROW).agg(pl.col(COUNT).sum().alias(VALUE))
    return _per_state(partials, counts).to_list()


# `first` that is the first record of the first lane. How one gets it: each lane keeps its first
# record; the merge takes that of the lowest partition.
@planted(
    "first_by_event_time_of_lane",
    "deterministic",
    at="windowing.engine.aggregates.schema:bag_of",
    shows_in=some_query(computing(("first",)), several_lanes),
)
def by_lane(aggregate: Aggregate, order: str) -> Bag | None:
    bag = bag_of(aggregate, order)
    if bag is None or aggregate.function != "first":
        return bag
    at, place, value = bag.entry
    # The entry's columns are compared in their order.
    return replace(bag, entry=(place, at, value))


_PLAIN = "plain"


def slice_by_slice(*_: object) -> None:
    """List the windows of every slice: a roll-up knows no columns but the schema's."""


# Addition of doubles is not associative, so a sum depends on chunks, lanes and merges. How one
# gets it: `sum` in every engine that we know.
@planted(
    "float_sum_in_order",
    "deterministic, repeatable",
    also={"windowing.engine.windows.roll_up:rolled_up": slice_by_slice},
    shows_in=some_query(computing(("sum", "mean"), "float")),
)
class PlainSums(Accumulators):
    def _lift_field(self, field: str, values: pl.Series) -> list[pl.Series]:
        columns = super()._lift_field(field, values)
        if self._fields[field].kind == "float":
            columns.append(values.fill_null(0.0).alias(state_column(field, _PLAIN)))
        return columns

    def merged(
        self,
        partials: pl.DataFrame,
        groups: Groups,
        by: Sequence[str],
        ends: Mapping[str, Role] | None = None,
        without: Collection[str] = (),
    ) -> pl.DataFrame:
        merged = super().merged(partials, groups, by, ends, without)
        for name in (state_column(field, _PLAIN) for field in self._fields):
            if name in partials.columns:
                total = np.zeros(groups.count)
                np.add.at(total, groups.number, partials[name].to_numpy())
                merged = merged.with_columns(pl.Series(name, total))
        return merged

    def _result(self, aggregate: Aggregate, partials: pl.DataFrame) -> Values:
        field, function = aggregate.field, aggregate.function
        if field is None or self._fields[field].kind != "float" or function not in ("sum", "mean"):
            return super()._result(aggregate, partials)
        total = partials[state_column(field, _PLAIN)].to_numpy()
        counts = partials[self.schema.sums[field].count].to_numpy()
        value = total / np.maximum(counts, 1) if function == "mean" else total
        null = pl.Series(aggregate.name, value + 0.0, dtype=pl.Float64)
        return null.to_frame().select(pl.when(pl.Series(counts > 0)).then(pl.first())).to_series()


# Approximate distinct counts whose hash has another seed in every batch. How one gets it:
# `hash()`, whose seed is drawn when a process starts.
@planted(
    "hash_with_a_seed",
    "deterministic",
    at="windowing.engine.aggregates.holdings:hashes",
    shows_in=some_query(computing(("approx_count_distinct",))),
)
def seeded(values: pl.Series) -> pl.Series:
    return hashes(values) ^ len(values)


# Sums of integers that are added up as doubles. How one gets it: one numeric type for all
# aggregates.
@planted("int_sum_by_double", "deterministic", shows_in=some_query(computing(("sum",), "int")))
class DoubleAccumulators(Accumulators):
    def _result(self, aggregate: Aggregate, partials: pl.DataFrame) -> Values:
        values = super()._result(aggregate, partials)
        if aggregate.function != "sum" or self._fields[str(aggregate.field)].kind != "int":
            return values
        exact = pl.Series(aggregate.name, values, dtype=pl.Int64)
        return exact.cast(pl.Float64).cast(pl.Int64, strict=False)


# `last` that picks the first of simultaneous records in canonical order. How one gets it: `>`
# instead of `>=` in a loop over ordered records.
@planted(
    "last_of_a_tie_is_the_first",
    "deterministic",
    at="windowing.engine.aggregates.schema:bag_of",
    shows_in=some_query(computing(("last",))),
)
def first_of_ties(aggregate: Aggregate, order: str) -> Bag | None:
    bag = bag_of(aggregate, order)
    return replace(bag, falling=1) if bag is not None and aggregate.function == "last" else bag


# Means that divide by the number of records, including nulls. How one gets it: one counter for
# all aggregates of a window.
@planted("mean_over_all_records", "deterministic", shows_in=some_query(computing(("mean",))))
class CountingAccumulators(Accumulators):
    def _result(self, aggregate: Aggregate, partials: pl.DataFrame) -> Values:
        if aggregate.field is not None and aggregate.function == "mean":
            count = self.schema.sums[aggregate.field].count
            partials = partials.with_columns(pl.col(RECORDS).alias(count))
        return super()._result(aggregate, partials)


# Medians of an even number of values that are the lower of the two middle ones. How one gets it:
# `sorted(values)[n // 2]`, or the quantile of one half.
@planted(
    "median_is_the_lower_middle",
    "deterministic",
    at="windowing.engine.aggregates.ranks:median",
    shows_in=some_query(computing(("median",))),
)
def lower(bag: Bag, partials: pl.DataFrame) -> list[float | None]:
    found = _ranked(bag, partials, lambda count: (count + 1) // 2).to_list()
    return [None if value is None else float(value) for value in found]


_EXTREMES = (Role.MIN, Role.MAX)


# Minima and maxima that treat null as zero. How one gets it: non-nullable columns, filled before
# aggregation.
@planted("null_is_zero_in_minima", "deterministic", shows_in=some_query(computing(("min", "max"))))
class FillingAccumulators(Accumulators):
    def _lift_field(self, field: str, values: pl.Series) -> list[pl.Series]:
        return [
            column.fill_null(0) if self.schema.columns[column.name].role in _EXTREMES else column
            for column in super()._lift_field(field, values)
        ]


# Quantiles whose rank is rounded down. How one gets it: `int(q * n)` as an index.
@planted(
    "quantile_rounds_down",
    "deterministic",
    at="windowing.engine.aggregates.ranks:quantile",
    shows_in=some_query(computing(("quantile", "approx_quantile"))),
)
def rounded_down(bag: Bag, partials: pl.DataFrame, share: Fraction) -> pl.Series:
    def rank(count: pl.Expr) -> pl.Expr:
        below = count * share.numerator // share.denominator
        return pl.max_horizontal(below, pl.lit(1, dtype=pl.Int64))

    return _ranked(bag, partials, rank)


# Sample variances that divide by n, not by n - 1. How one gets it: `numpy.var`, whose default is
# the population's.
@planted(
    "sample_variance_by_n",
    "deterministic",
    at="windowing.engine.aggregates.plan:Sums",
    shows_in=some_query(computing(SAMPLE)),
)
class PopulationSums(Sums):
    def spread(self, function: str) -> list[float | None]:
        return super().spread(f"{function}_pop" if function in SAMPLE else function)


# Sums of nulls only that are 0, not null. How one gets it: a fold that starts at 0.
@planted("sum_of_nulls_is_zero", "deterministic", shows_in=some_query(computing(("sum",))))
class FoldingAccumulators(Accumulators):
    def _result(self, aggregate: Aggregate, partials: pl.DataFrame) -> Values:
        values = super()._result(aggregate, partials)
        zero = Decimal(0) if any(isinstance(value, Decimal) for value in values) else 0
        return [zero if v is None and aggregate.function == "sum" else v for v in values]


# `top_k` without repeated values. How one gets it: a sorted set as the state.
@planted(
    "top_k_without_repeats",
    "deterministic",
    at="windowing.engine.aggregates.schema:bag_of",
    shows_in=some_query(computing(("top_k",))),
)
def as_a_set(aggregate: Aggregate, order: str) -> Bag | None:
    bag = bag_of(aggregate, order)
    return replace(bag, counted=False) if bag is not None and aggregate.function == "top_k" else bag


# User aggregates whose merge omits the last of several states. How one gets it: pairwise merging
# of an odd number.
@planted("users_states_merged_once", "deterministic", shows_in=some_query(computing(("python",))))
class PairwiseState(UserState):
    def _merged(self, states: Sequence[bytes]) -> bytes:
        even = states if len(states) == 1 else states[: len(states) - len(states) % 2]
        return super()._merged(even)


# A row whose class has failed for some of its records shows the others. How one gets it: what
# cannot be merged is left out.
@planted(
    "failed_states_left_out",
    "deterministic",
    shows_in=some_query(computing(("python",))),
)
class StateWithoutFailures(UserState):
    def _merged(self, states: Sequence[bytes]) -> bytes:
        return super()._merged([one for one in states if one != FAILED] or [FAILED])


# A null of a user's class that has failed is not marked. How one gets it: marks are for sums.
@planted(
    "failures_unmarked",
    "deterministic",
    shows_in=some_query(computing(("python",))),
)
class StateOfNoFailures(UserState):
    def failed(self, partials: pl.DataFrame, results: pl.Series) -> pl.Series:
        return super().failed(partials, results) & False


# A record that a user's class refuses is a dead letter, and windows hold it all the same. How one
# gets it: letters are written, and the chunk is passed on as it came.
@planted(
    "refused_and_taken",
    "deterministic",
    at="windowing.engine.lane:Refusing",
    shows_in=some_query(computing(("python",))),
)
class RefusingAndTaking(Refusing):
    def split(self, part: LanePart, scan: Scan) -> tuple[Scan, pl.DataFrame]:
        return scan, super().split(part, scan)[1]


# A record in no window is a dead letter if a class refuses it. How one gets it: all records of a
# chunk are asked about.
@planted(
    "refused_outside",
    "deterministic, dead letters",
    at="windowing.engine.lane:Refusing",
    shows_in=some_query(computing(("python",))),
)
class RefusingOutside(Refusing):
    def _refused(self, scan: Scan, asked: Flags) -> tuple[Flags, pl.DataFrame]:
        return super()._refused(scan, np.ones_like(asked))


# Dead letters that name the class instead of the aggregate. How one gets it: the reason is made of
# what refuses, which several aggregates may share.
@planted(
    "refused_by_any_of_a_class",
    "deterministic, dead letters",
    at="windowing.engine.lane:Refusing",
    shows_in=some_query(computing(("python",))),
)
class RefusingByClass(Refusing):
    def _refused(self, scan: Scan, asked: Flags) -> tuple[Flags, pl.DataFrame]:
        refused, letters = super()._refused(scan, asked)
        return refused, letters.with_columns(reason=pl.lit("refused_by:python"))


# Of the records of a chunk that a class refuses, windows hold all but the first. How one gets it:
# the chunk is left at the first refusal.
@planted(
    "refused_once_in_a_chunk",
    "deterministic",
    at="windowing.engine.lane:Refusing",
    shows_in=some_query(computing(("python",))),
)
class RefusingOnce(Refusing):
    def _refused(self, scan: Scan, asked: Flags) -> tuple[Flags, pl.DataFrame]:
        refused, letters = super()._refused(scan, asked)
        return refused & (np.cumsum(refused) == 1), letters[:1]


# Variances computed in doubles as the mean of squares minus the square of the mean. How one gets
# it: the textbook formula.
@planted(
    "variance_of_differences",
    "deterministic",
    at="windowing.engine.aggregates.plan:Sums",
    shows_in=some_query(computing(SPREAD)),
)
class TextbookSums(Sums):
    def spread(self, function: str) -> list[float | None]:
        less, unit = (1 if function in SAMPLE else 0), self.unit
        found: list[float | None] = []
        for (total, n), square in zip(self.each(), self.squares, strict=True):
            if n <= less:
                found.append(None)
                continue
            try:
                mean, squares = total / unit / n, square / unit / unit / n
            except OverflowError:
                mean, squares = 0.0, 0.0
            variance = max((squares - mean * mean) * n / (n - less), 0.0)
            found.append(variance**0.5 if function.startswith("stddev") else variance)
        return found
