"""Partial states of users' aggregates: msgpack of plain values, merged by the user's class.

Algebra: up to the class; `slackwater check-aggregate` checks that its merge is order-independent.
Partial state: one binary column, null over no records. Cost: a Python call per record and merge.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

import msgspec
import polars as pl

from windowing.model.user.user_aggregate import State, call, check_plain, checked_result


@dataclass(frozen=True)
class UserState:
    """The states of one class over given fields.

    Attributes:
        column: of the partial states.
        reference: `module:Class`.
        values: the records' columns that `update` takes.
    """

    column: str
    reference: str
    values: tuple[str, ...]

    def lift(self, records: pl.DataFrame) -> pl.Series:
        """Return the state of each single record; null if one of its values is."""
        states = [
            None if None in row else self._encoded(self._of_one(row))
            for row in records.select(self.values).iter_rows()
        ]
        return pl.Series(self.column, states, dtype=pl.Binary)

    def _of_one(self, row: tuple[int | float | str, ...]) -> State:
        return call(self.reference, "update", call(self.reference, "init"), *row)

    def merge(self, partials: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
        """Merge the states with equal columns `by`; groups without one are omitted."""
        present = partials.select(*by, self.column).filter(pl.col(self.column).is_not_null())
        grouped = present.group_by(by).agg(pl.col(self.column))
        merged = [self._merged(states) for states in grouped[self.column].to_list()]
        return grouped.with_columns(pl.Series(self.column, merged, dtype=pl.Binary))

    def _merged(self, states: Sequence[bytes]) -> bytes:
        if len(states) == 1:
            return states[0]
        decoded = map(msgspec.msgpack.decode, states)
        return self._encoded(reduce(lambda a, b: call(self.reference, "merge", a, b), decoded))

    def _encoded(self, state: State) -> bytes:
        check_plain(self.reference, state)
        return msgspec.msgpack.encode(state)

    def results(self, partials: pl.DataFrame) -> list[int | float | str | None]:
        """Return the class's result for each state."""
        return [
            None
            if data is None
            else checked_result(
                self.reference, call(self.reference, "result", msgspec.msgpack.decode(data))
            )
            for data in partials[self.column].to_list()
        ]
