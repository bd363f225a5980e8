"""A join in which null keys are equal.

Defect: records without a key match each other.
How one gets it: a hash join over columns in which null is a value.
Expected: pairs with null keys, which the definition does not have.
"""

from __future__ import annotations

import polars as pl

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.conditions import some_join
from chaos.planted_bugs.planted import planted
from windowing.engine.windows.join import JoinShardPart
from windowing.model.file.pipeline import Pipeline
from windowing.model.query import JoinQuery

_NULL = "\x00null"


def of_equal_keys(_: Pipeline, join: JoinQuery) -> bool:
    """Something must be equal."""
    return bool(join.on)


class NullShardPart(JoinShardPart):
    """Replaces null by a value while it looks for partners."""

    def _match(self, left: pl.DataFrame, right: pl.DataFrame) -> pl.DataFrame:
        text = [name for name in self._equal if left.schema[name] == pl.String]
        named = [side.with_columns(pl.col(text).fill_null(_NULL)) for side in (left, right)]
        pairs = super()._match(*named)
        back = [pl.when(pl.col(n) == _NULL).then(None).otherwise(pl.col(n)).alias(n) for n in text]
        return pairs.with_columns(back)


BUG = planted_bug(
    planted("join_null_matches_null", NullShardPart),
    "deterministic",
    shows_in=some_join(of_equal_keys),
)
