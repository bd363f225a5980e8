"""The values that rows of a join show: fields of both records, and expressions over them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from windowing.engine.columns import OVERFLOW, VALUES, field_column
from windowing.engine.reading.decoders.decoder import dtype_of
from windowing.engine.reading.expressions.evaluate import evaluate
from windowing.engine.reading.expressions.program import Evaluated
from windowing.model.join import Operand, Side, operands_in
from windowing.model.pair_values import PairExpression
from windowing.model.query import JoinQuery


class PairValues:
    """The values of a join's rows; an expression that fails is null, and the row names it."""

    def __init__(self, query: JoinQuery) -> None:
        self._query = query
        self._shown = {name: dtype_of(query.type_of_shown(o)) for name, o in query.select.items()}

    def of(self, records: pl.DataFrame, there: Sequence[Side]) -> list[pl.Series]:
        """Return the columns `values` and, of a join with expressions, `overflow`.

        Args:
            records: with the columns `left.x` and `right.x` of the sides that are there.
        """
        found, failed = list[pl.Series](), dict[str, pl.Series]()
        for name, one in self._query.select.items():
            if isinstance(one, PairExpression):
                evaluated = self._evaluated(one, records, there)
                values, failed[name] = evaluated.values, evaluated.failed
            else:
                values = self._field(one, records, there)
            found.append(values.cast(self._shown[name]).alias(name))
        columns = [pl.DataFrame(found).to_struct(VALUES)]
        return [*columns, _named(failed, len(records))] if failed else columns

    def _evaluated(
        self, one: PairExpression, records: pl.DataFrame, there: Sequence[Side]
    ) -> Evaluated:
        fields = [
            self._field(operand, records, there).alias(field_column(operand.name))
            for operand in operands_in([one])
        ]
        # Without a field, only a column of its own says how many rows there are.
        frame = pl.DataFrame([pl.repeat(None, len(records), eager=True).alias("rows"), *fields])
        return evaluate(one.expression, frame, self._query.types_in(one))

    def _field(self, one: Operand, records: pl.DataFrame, there: Sequence[Side]) -> pl.Series:
        if one.side in there:
            return records[one.name]
        dtype = dtype_of(self._query.type_of(one))
        return pl.repeat(None, len(records), dtype=dtype, eager=True).alias(one.name)


def _named(failed: dict[str, pl.Series], rows: int) -> pl.Series:
    """Name the values of each row that could not be computed; null: none."""
    named: list[list[str] | None] = [None] * rows
    for name, flags in failed.items():
        for row in np.flatnonzero(flags.to_numpy()).tolist():
            named[row] = [*(named[row] or ()), name]
    return pl.Series(OVERFLOW, named, dtype=pl.List(pl.String))
