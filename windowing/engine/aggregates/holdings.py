"""Bags and users' states: what an aggregate keeps besides numbers."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import polars as pl

from windowing.engine.aggregates.bags import Bag
from windowing.engine.aggregates.ranks import VALUE
from windowing.engine.aggregates.sketches import bin_numbers, bins_per_octave, hashes
from windowing.engine.aggregates.user import UserState
from windowing.engine.columns import OFFSET, PARTITION, field_column, state_column
from windowing.model.fields import Aggregate


def bag_of(aggregate: Aggregate, order: str) -> Bag | None:
    """Return the bag that an aggregate keeps, or None.

    Args:
        aggregate: the aggregate.
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
        dense = values.fill_null(0).to_numpy().astype(np.float64)
        return pl.Series(bin_numbers(dense, per_octave), dtype=pl.Int64)

    return numbers
