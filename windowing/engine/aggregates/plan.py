"""The accumulators of one query: which partial columns it needs, how they merge, what they give."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import polars as pl

from windowing.engine.aggregates import ranks
from windowing.engine.aggregates.bags import Bag
from windowing.engine.aggregates.columns import Role, is_bin, role_of, state_column
from windowing.engine.aggregates.holdings import bag_of
from windowing.engine.aggregates.sketches import bin_middles, bins_per_octave
from windowing.engine.aggregates.sums import SPREAD, Sums, lift_sums
from windowing.engine.aggregates.user import UserState
from windowing.engine.input.decode import column
from windowing.model import Query
from windowing.model.fields import Aggregate, FieldType, ValueType, value_type
from windowing.model.file.pipeline import Source
from windowing.model.lengths import INT64_MAX, INT64_MIN
from windowing.model.rows import Value

_SUMMED = {"sum", "mean", *SPREAD}
Values = pl.Series | Sequence[Value]
"""The results of one aggregate, one per partial state."""

_MERGED = {
    Role.SUM: pl.Expr.sum,
    Role.BIN: pl.Expr.sum,
    Role.MIN: pl.Expr.min,
    Role.MAX: pl.Expr.max,
}
_COLUMNS = {"int": pl.Int64, "float": pl.Float64, "string": pl.String}


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

    Every partial state has `records`, and `first` and `last` (offsets). What else it has follows
    from the aggregates: per field, columns of numbers (`windowing.engine.aggregates.columns`);
    bags, one list each (`windowing.engine.aggregates.bags`); states of users' classes, one binary
    value each. Aggregates that need the same column share it.

    Args:
        aggregates: of the query.
        fields: of the source.
        order: the column of the records that holds the windowing attribute; with partition and
            offset it makes the canonical order.
    """

    def __init__(
        self, aggregates: Sequence[Aggregate], fields: dict[str, FieldType], order: str
    ) -> None:
        self._aggregates = tuple(aggregates)
        self._types = [value_type(a, fields) for a in aggregates]
        self._fields = {field: fields[field].kind for a in aggregates for field in a.fields}
        self._needs = {(a.field, a.function) for a in aggregates}
        self._bags = {a.name: bag for a in aggregates if (bag := bag_of(a, order)) is not None}
        self._users = {a.name: _user_state(a) for a in aggregates if a.user is not None}
        held: list[Bag | UserState] = [*self._bags.values(), *self._users.values()]
        self._held = {state.column: state for state in held}

    @classmethod
    def of(cls, query: Query, source: Source) -> Accumulators:
        """The accumulators of a query over a source."""
        attribute = query.window.attribute
        # The event time may stand under `fields` as well, there as it was spelled.
        plain = attribute in source.fields and attribute != source.event_time.field
        order = column(attribute) if plain else "ts_us"
        return cls(query.aggregates, source.fields, order)

    def lift(self, records: pl.DataFrame) -> list[pl.Series]:
        """The partial state of each single record.

        Args:
            records: with `partition`, `offset`, the column `order` and, for each field, a column
                named `=field`.
        """
        offset = records["offset"]
        columns = [
            pl.Series("records", np.ones(len(records), dtype=np.int64)),
            offset.alias("first"),
            offset.alias("last"),
        ]
        for field, kind in self._fields.items():
            columns += self._lift_field(field, kind, records[column(field)])
        return [*columns, *(held.lift(records) for held in self._held.values())]

    def _lift_field(self, field: str, kind: str, values: pl.Series) -> list[pl.Series]:
        columns = [
            values.alias(state_column(field, function))
            for function in ("min", "max")
            if (field, function) in self._needs
        ]
        functions = {function for name, function in self._needs if name == field}
        if functions & _SUMMED:
            squares = bool(functions & set(SPREAD))
            columns += lift_sums(field, kind, values, squares=squares)
        return columns

    @staticmethod
    def concat(frames: Sequence[pl.DataFrame]) -> pl.DataFrame:
        """Partial states one below the other; bins that a frame does not have are zero."""
        joined = pl.concat(frames, how="diagonal")
        bins = [name for name in joined.columns if is_bin(name)]
        return joined.with_columns(pl.col(bins).fill_null(0)) if bins else joined

    @staticmethod
    def trimmed(partials: pl.DataFrame) -> pl.DataFrame:
        """The same partial states without bins that are zero in all of them."""
        empty = [
            name for name in partials.columns if is_bin(name) and not (partials[name] != 0).any()
        ]
        return partials.drop(empty)

    def merge(
        self,
        partials: pl.DataFrame,
        by: Sequence[str],
        *extra: pl.Expr,
        among: Sequence[str] = (),
    ) -> pl.DataFrame:
        """Merge the partial states that agree in the columns `by`.

        Args:
            partials: with the columns `by`, `among`, and partial states.
            by: what the merged states are named by.
            extra: further expressions over each group.
            among: columns that are neither names nor states; they are left out.
        """
        states = [name for name in partials.columns if name not in by and name not in among]
        plain = [self._merged(name) for name in states if name not in self._held]
        merged = partials.group_by(by).agg(*plain, *extra)
        for name in (name for name in states if name in self._held):
            held = self._held[name].merge(partials, by)
            merged = merged.join(held, on=by, how="left", nulls_equal=True)
        return merged

    def _merged(self, name: str) -> pl.Expr:
        """What merging makes of a column of numbers."""
        role = role_of(name)
        assert role is not None, f"{name} is no part of a state"  # noqa: S101 - nothing is guessed
        return _MERGED[role](pl.col(name))

    def results(self, partials: pl.DataFrame) -> list[pl.Series]:
        """The aggregates' values, one column each, in the order of the query.

        Raises:
            AggregateOverflow: a sum of integers leaves 64 bits.
            UserAggregateError: a user's class gave what it must not give.
        """
        results = []
        for aggregate, type_ in zip(self._aggregates, self._types, strict=True):
            values = self._result(aggregate, partials)
            results.append(pl.Series(aggregate.name, values, dtype=_dtype(type_)))
        return results

    def _result(self, aggregate: Aggregate, partials: pl.DataFrame) -> Values:
        name, field, function = aggregate.name, aggregate.field, aggregate.function
        if field is None:
            return partials["records"]
        if name in self._users:
            return self._users[name].results(partials)
        if name in self._bags:
            return _read(aggregate, self._bags[name], partials)
        if function in ("min", "max"):
            return partials[state_column(field, function)]
        sums = Sums.of(field, self._fields[field], partials)
        if function in SPREAD:
            return sums.spread(function)
        if function == "mean":
            return sums.means()
        return sums.rounded_sums() if self._fields[field] == "float" else _whole_sums(name, sums)


def _user_state(aggregate: Aggregate) -> UserState:
    assert aggregate.user is not None  # noqa: S101 - called for such aggregates only
    held = state_column(",".join(aggregate.fields), f"python:{aggregate.user}")
    return UserState(held, aggregate.user, tuple(map(column, aggregate.fields)))


def _read(aggregate: Aggregate, bag: Bag, partials: pl.DataFrame) -> Values:
    """An aggregate's values from its bags."""
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
    dtype = _COLUMNS[type_.kind]
    return pl.List(dtype) if type_.many else dtype


def _whole_sums(name: str, sums: Sums) -> Values:
    known = sums.whole()
    if known is not None:
        return known
    for row, (total, n) in enumerate(sums.each()):
        if n and not INT64_MIN <= total <= INT64_MAX:
            raise AggregateOverflow(name, row, total)
    return [total if n else None for total, n in sums.each()]
