"""The accumulators of one query: which partial columns it needs, how they merge, what they give."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import polars as pl

from windowing.aggregates.exact_float import BIN_BITS, round_once, to_bins
from windowing.aggregates.exact_int import join_halves, to_halves
from windowing.spec.fields import Aggregate, FieldType
from windowing.spec.lengths import INT64_MAX, INT64_MIN

_MINIMA = ("first", "#min")
_MAXIMA = ("last", "#max")


class AggregateOverflow(ArithmeticError):
    """A sum of integers that does not fit 64 bits.

    Attributes:
        aggregate: name of the aggregate.
        row: position of the offending row among the partial states.
        total: the exact sum.
    """

    def __init__(self, aggregate: str, row: int, total: int) -> None:
        self.aggregate, self.row, self.total = aggregate, row, total
        super().__init__(f"{aggregate} = {total} does not fit 64 bits")


class Accumulators:
    """Partial states of one query's aggregates, as columns.

    Every partial state has `records`, and `first` and `last` (offsets); each aggregated field adds
    `field#n` (non-null values) and what its functions need: `#min`, `#max`, `#hi` and `#lo` (sums
    of integers), `#bNN` (bins of sums of floats; absent bins are zero).
    """

    def __init__(self, aggregates: Sequence[Aggregate], fields: dict[str, FieldType]) -> None:
        self._aggregates = tuple(aggregates)
        self._fields = {a.field: fields[a.field].kind for a in aggregates if a.field is not None}
        self._needs = {(a.field, a.function) for a in aggregates}

    def lift(self, records: pl.DataFrame) -> list[pl.Series]:
        """The partial state of each single record.

        Args:
            records: with `offset` and, for each field, a column named `=field`.
        """
        offset = records["offset"]
        columns = [
            pl.Series("records", np.ones(len(records), dtype=np.int64)),
            offset.alias("first"),
            offset.alias("last"),
        ]
        for field, kind in self._fields.items():
            columns += self._lift_field(field, kind, records[f"={field}"])
        return columns

    def _lift_field(self, field: str, kind: str, values: pl.Series) -> list[pl.Series]:
        columns = [values.is_not_null().cast(pl.Int64).alias(f"{field}#n")]
        if (field, "min") in self._needs:
            columns.append(values.alias(f"{field}#min"))
        if (field, "max") in self._needs:
            columns.append(values.alias(f"{field}#max"))
        if not self._summed(field):
            return columns
        dense = values.fill_null(0).to_numpy()
        if kind == "int":
            high, low = to_halves(dense)
            return [*columns, pl.Series(f"{field}#hi", high), pl.Series(f"{field}#lo", low)]
        bins = to_bins(dense)
        return [*columns, *(pl.Series(f"{field}#b{b:02d}", digits) for b, digits in bins.items())]

    def _summed(self, field: str) -> bool:
        return (field, "sum") in self._needs or (field, "mean") in self._needs

    @staticmethod
    def concat(frames: Sequence[pl.DataFrame]) -> pl.DataFrame:
        """Partial states one below the other; bins that a frame does not have are zero."""
        joined = pl.concat(frames, how="diagonal")
        bins = [name for name in joined.columns if _is_bin(name)]
        return joined.with_columns(pl.col(bins).fill_null(0)) if bins else joined

    @staticmethod
    def merge(
        partials: pl.DataFrame, by: Sequence[str], *extra: pl.Expr, among: Sequence[str] = ()
    ) -> pl.DataFrame:
        """Merge the partial states that agree in the columns `by`.

        Args:
            partials: with the columns `by`, `among`, and partial states.
            by: what the merged states are named by.
            extra: further expressions over each group.
            among: columns that are neither names nor states; they are left out.
        """
        states = [name for name in partials.columns if name not in by and name not in among]
        return partials.group_by(by).agg(*(_merged(name) for name in states), *extra)

    def results(self, partials: pl.DataFrame) -> list[pl.Series]:
        """The aggregates' values, one column each, in the order of the query.

        Raises:
            AggregateOverflow: a sum of integers leaves 64 bits.
        """
        return [self._result(aggregate, partials) for aggregate in self._aggregates]

    def _result(self, aggregate: Aggregate, partials: pl.DataFrame) -> pl.Series:
        name, field, function = aggregate.name, aggregate.field, aggregate.function
        if field is None:
            return partials["records"].alias(name)
        if function in ("min", "max"):
            return partials[f"{field}#{function}"].alias(name)
        counts = partials[f"{field}#n"].to_list()
        if self._fields[field] == "int":
            totals = join_halves(
                partials[f"{field}#hi"].to_numpy(), partials[f"{field}#lo"].to_numpy()
            )
            if function == "mean":
                return _per_state(name, totals, counts, pl.Float64, lambda total, n: total / n)
            _check_int64(name, totals, counts)
            return _per_state(name, totals, counts, pl.Int64, lambda total, _: total)
        totals = _float_totals(field, partials)
        if function == "mean":
            return _per_state(name, totals, counts, pl.Float64, round_once)
        return _per_state(name, totals, counts, pl.Float64, lambda total, _: round_once(total))


def _is_bin(name: str) -> bool:
    return name[:-2].endswith("#b")


def _merged(name: str) -> pl.Expr:
    column = pl.col(name)
    if name.endswith(_MINIMA):
        return column.min()
    return column.max() if name.endswith(_MAXIMA) else column.sum()


def _per_state(
    name: str,
    totals: Sequence[int],
    counts: Sequence[int],
    dtype: type[pl.DataType],
    finish: Callable[[int, int], int | float],
) -> pl.Series:
    values = [finish(total, n) if n else None for total, n in zip(totals, counts, strict=True)]
    return pl.Series(name, values, dtype=dtype)


def _check_int64(name: str, totals: Sequence[int], counts: Sequence[int]) -> None:
    for row, total in enumerate(totals):
        if counts[row] and not INT64_MIN <= total <= INT64_MAX:
            raise AggregateOverflow(name, row, total)


def _float_totals(field: str, partials: pl.DataFrame) -> list[int]:
    totals = [0] * len(partials)
    for name in partials.columns:
        if name.startswith(f"{field}#b") and _is_bin(name):
            shift = BIN_BITS * int(name[-2:])
            digits = partials[name].to_list()
            totals = [t + (d << shift) for t, d in zip(totals, digits, strict=True)]
    return totals
