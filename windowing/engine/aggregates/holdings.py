"""Bags and users' states: what an aggregate keeps besides numbers.

A user's state is msgpack of plain values, merged by the user's class: one binary column, null over
no records, and a Python call per record and merge. `slackwater check-aggregate` checks that its
merge is order-independent. A state that the class fails to make is `FAILED`, and so is what is
merged with it: its row shows null.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial, reduce
from typing import Final

import numpy as np
import polars as pl
from msgspec.msgpack import Decoder, Ext, encode

from windowing.engine.aggregates.bags import Bag
from windowing.engine.aggregates.ranks import VALUE
from windowing.engine.aggregates.sketches import bin_numbers, bins_per_octave, hashes
from windowing.engine.columns import OFFSET, PARTITION, field_column, state_column
from windowing.model.fields import Aggregate
from windowing.model.rows import Scalar
from windowing.model.user.user_aggregate import (
    State,
    UserAggregateError,
    call,
    check_plain,
    checked_result,
)

_WIDE: Final = 1
"""The extension of msgpack for an integer beyond 64 bits: little-endian, with a sign."""

FAILED: Final = encode(Ext(2, b""))
"""What is stored instead of a state that the class failed to make."""


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
            None if None in row else self._encoded(partial(self._of_one, row))
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
        if FAILED in states:
            return FAILED
        decoded = map(_DECODER.decode, states)
        return self._encoded(
            lambda: reduce(lambda a, b: call(self.reference, "merge", a, b), decoded)
        )

    def _encoded(self, make: Callable[[], State]) -> bytes:
        try:
            state = make()
            check_plain(self.reference, state)
        except UserAggregateError:
            return FAILED
        try:
            return encode(state)
        except OverflowError:
            return encode(_widened(state))

    def results(self, partials: pl.DataFrame) -> list[Scalar]:
        """Return the class's result for each state; null if it fails."""
        return [None if data is None else self._result(data)[0] for data in self._states(partials)]

    def failed(self, partials: pl.DataFrame, results: pl.Series) -> pl.Series:
        """Return which of the `results` are null since the class fails."""
        states = zip(self._states(partials), results.is_null(), strict=True)
        found = [null and data is not None and self._result(data)[1] for data, null in states]
        return pl.Series(found, dtype=pl.Boolean)

    def _states(self, partials: pl.DataFrame) -> list[bytes | None]:
        return partials[self.column].to_list()

    def _result(self, data: bytes) -> tuple[Scalar, bool]:
        """Return the result of a state, and whether there is none since the class fails."""
        if data == FAILED:
            return None, True
        try:
            found = call(self.reference, "result", _DECODER.decode(data))
            return checked_result(self.reference, found), False
        except UserAggregateError:
            return None, True


def _widened(state: State) -> State:
    """Return a state with an extension for each integer that msgpack has no type for."""
    match state:
        case list():
            return [_widened(part) for part in state]
        case dict():
            return {name: _widened(part) for name, part in state.items()}
        case int() if state.bit_length() > _MSGPACK_BITS:
            size = state.bit_length() // 8 + 1
            return Ext(_WIDE, state.to_bytes(size, "little", signed=True))
    return state


_MSGPACK_BITS: Final = 63


def _narrowed(_: int, data: memoryview) -> int:
    return int.from_bytes(data, "little", signed=True)


_DECODER: Final = Decoder(ext_hook=_narrowed)


def bag_of(aggregate: Aggregate, order: str) -> Bag | None:
    """Return the bag that an aggregate keeps, or None.

    Args:
        order: the column of the records that holds the windowing attribute.
    """
    if aggregate.field is None:
        return None
    field, parameters = aggregate.field, aggregate.parameters
    own = pl.col(field_column(field))
    value, known = own.alias(VALUE), own.is_not_null()
    place = (pl.col(order).alias("#at"), pl.col(PARTITION, OFFSET).name.prefix("#"))
    match aggregate.function:
        case "first":
            return Bag(state_column(field, "earliest"), (*place, value), known, keys=3, keep=1)
        case "last":
            return Bag(
                state_column(field, "latest"), (*place, value), known, keys=3, falling=3, keep=1
            )
        case "argmin" | "argmax" as function:
            shown = pl.col(field_column(aggregate.more[0])) if aggregate.more else pl.col(order)
            entry = (own.alias("#extreme"), *place, shown.alias(VALUE))
            held = state_column(",".join(aggregate.fields), function)
            present = known & shown.is_not_null()
            falling = 1 if function == "argmax" else 0
            return Bag(held, entry, present, keys=4, falling=falling, keep=1)
        case "collect":
            return Bag(state_column(field, "collect"), (*place, value), known, keys=3)
        case "median" | "quantile" | "count_distinct":
            return Bag(state_column(field, "values"), (value,), known, counted=True)
        case "top_k":
            most = int(parameters[0])
            return Bag(
                state_column(field, f"top{most}"),
                (value,),
                known,
                falling=1,
                counted=True,
                keep=most,
            )
        case "approx_quantile":
            per_octave = bins_per_octave(Fraction(parameters[1]))
            bins = own.map_batches(_binned(per_octave), return_dtype=pl.Int64).alias(VALUE)
            return Bag(state_column(field, f"octave{per_octave}"), (bins,), known, counted=True)
        case "approx_count_distinct":
            size = int(parameters[0])
            hashed = own.map_batches(hashes, return_dtype=pl.UInt64).alias(VALUE)
            return Bag(state_column(field, f"hashes{size}"), (hashed,), known, keep=size)
    return None


def user_state_of(aggregate: Aggregate) -> UserState:
    """Return the state that a user's aggregate keeps."""
    assert aggregate.user is not None  # noqa: S101 - only called for such aggregates
    held = state_column(",".join(aggregate.fields), f"python:{aggregate.user}")
    return UserState(held, aggregate.user, tuple(map(field_column, aggregate.fields)))


def _binned(per_octave: int) -> Callable[[pl.Series], pl.Series]:
    def numbers(values: pl.Series) -> pl.Series:
        if isinstance(values.dtype, pl.Decimal):
            # Through text, which is rounded once.
            values = values.cast(pl.String).cast(pl.Float64)
        dense = values.fill_null(0).to_numpy().astype(np.float64)
        return pl.Series(bin_numbers(dense, per_octave), dtype=pl.Int64)

    return numbers
