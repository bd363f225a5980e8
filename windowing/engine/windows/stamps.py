"""The progress of units as columns of a frame, one number per row."""

from __future__ import annotations

import polars as pl

from windowing.engine.progress.reached import Progress
from windowing.engine.wids import Ints


def per_row(values: Ints) -> pl.Expr | pl.Series:
    """Turn numbers, one per row or one for all rows, into an expression."""
    return pl.lit(int(values[0]), dtype=pl.Int64) if len(values) == 1 else pl.Series(values)


def stamped(frame: pl.DataFrame, **progress: Progress) -> pl.DataFrame:
    """Add the progress of each row's unit to a frame, in columns of these names."""
    return frame.with_columns(**{name: per_row(p.of(frame)) for name, p in progress.items()})
