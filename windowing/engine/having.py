"""Which rows of a query with `having` are sent, and which withdraw the row before.

A shard's part makes its rows as if all were sent, each behind what the window's previous row
showed: that is what a retracting query sends. Whether a row holds follows from the row alone, so
whether one that does not hold has to withdraw anything follows from the two.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Self

import polars as pl

from windowing.engine.columns import (
    ABSORBED_BY,
    KEY,
    RETRACTS,
    REVISION,
    TOMBSTONE,
    VALUES,
    WINDOW_ID,
    field_column,
)
from windowing.engine.effects import took_effect
from windowing.engine.flow_plan import FlowPlan
from windowing.engine.reading.expressions.evaluate import evaluate_in_order
from windowing.engine.reading.expressions.program import Evaluated
from windowing.model import Query
from windowing.model.expressions.tree import Call, Constant, Expression, Name
from windowing.model.query import Flow
from windowing.model.types import FieldType

_HOLDS, _HELD = "holds", "held"
_RAW = " " * 256  # longer than a name can be


def _evaluated(
    expression: Expression, frame: pl.DataFrame, types: Mapping[str, FieldType]
) -> Evaluated:
    """Evaluate a condition, which has no value where it asks for one that is infinite."""
    floats = [name for name, type_ in types.items() if type_.kind == "float"]
    infinite = [name for name in floats if frame[field_column(name)].is_infinite().any()]
    # What is added to one fails, as all that is no number does.
    sums = tuple(
        (name, Call("+", (Name(_RAW + name), Constant(0.0, FieldType("float")))))
        for name in infinite
    )
    raw = {_RAW + name: types[name] for name in infinite}
    columns = [frame[field_column(name)].alias(field_column(_RAW + name)) for name in infinite]
    named = (*sums, (None, expression))
    return evaluate_in_order(named, frame.with_columns(columns), {**types, **raw})[-1]


def _true(found: Evaluated) -> pl.Series:
    return found.values.fill_null(value=False) & ~found.failed


def with_previous(query: Query) -> Query:
    """Return the query whose rows stand behind what the window's previous row showed."""
    return query.model_copy(update={"accumulation": "retracting"})


class SentRows:
    """What a query with `having` sends of its rows."""

    def __init__(
        self, expression: Expression, types: Mapping[str, FieldType], *, retracts: bool
    ) -> None:
        self._expression, self._types, self._retracts = expression, dict(types), retracts

    @classmethod
    def of(cls, query: Flow, fields: Mapping[str, FieldType]) -> Self | None:
        """Return what a flow sends; None: all of its rows.

        Args:
            fields: of the pipeline's source.
        """
        if not isinstance(query, Query) or query.having is None:
            return None
        types = query.having_types(fields)
        return cls(query.having.expression, types, retracts=query.accumulation == "retracting")

    def holds(self, rows: pl.DataFrame) -> pl.Series:
        """Return which rows fulfil the condition: not those without content.

        Null does not, nor does a row for which the condition has no value.
        """
        shown = rows[VALUES].struct.unnest()
        key = rows[KEY].struct.unnest() if KEY in rows.columns else shown.clear()
        columns = [
            (shown if name in shown.columns else key)[name].alias(field_column(name))
            for name in self._types
        ]
        frame = pl.DataFrame(columns) if columns else rows.select(WINDOW_ID)
        held = _true(_evaluated(self._expression, frame, self._types))
        if ABSORBED_BY in rows.columns:
            held &= rows[ABSORBED_BY].is_null()
        return held.alias(_HOLDS)

    def of_rows(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Return the rows that are sent, if any.

        Args:
            rows: of `with_previous`.
        """
        if not len(rows):
            return rows
        holds, before = self.holds(rows), rows[RETRACTS]
        held = self._previous(rows, holds)
        took_effect("rows held back", int((~holds & ~before).sum()))
        if self._retracts:
            # The retraction withdraws what was sent, but for what only a tombstone says.
            absorbed = ABSORBED_BY in rows.columns
            kept = holds | (held & rows[ABSORBED_BY].is_not_null()) if absorbed else holds
            return rows.filter(kept)
        took_effect("rows that withdraw", int((~holds & held & ~before).sum()))
        return self.marked(rows, holds).filter(~before & (holds | held)).drop(RETRACTS)

    def marked(self, rows: pl.DataFrame, holds: pl.Series) -> pl.DataFrame:
        """Return rows, each with whether it is a tombstone: not if it says what absorbed it."""
        stones = ~holds
        if ABSORBED_BY in rows.columns:
            stones &= rows[ABSORBED_BY].is_null()
        return rows.with_columns(stones.alias(TOMBSTONE))

    def _previous(self, rows: pl.DataFrame, holds: pl.Series) -> pl.Series:
        """Return whether the previous row of each row's window held; false: there was none."""
        ids = rows.select(WINDOW_ID, REVISION)
        if KEY in rows.columns:
            key = rows[KEY].struct.unnest()
            ids = pl.concat([ids, key.rename(field_column)], how="horizontal")
        before = ids.filter(rows[RETRACTS]).with_columns(
            pl.col(REVISION) + 1, holds.filter(rows[RETRACTS]).alias(_HELD)
        )
        by = ids.columns
        found = ids.join(before, on=by, how="left", nulls_equal=True, maintain_order="left")
        return found[_HELD].fill_null(value=False)


def sent_rows(
    plans: Iterable[FlowPlan[Any]], fields: Mapping[str, FieldType]
) -> dict[str, SentRows]:
    """Return what flows send, by name, of those that do not send all of their rows.

    Args:
        fields: of the pipeline's source.
    """
    found = {plan.name: SentRows.of(plan.query, fields) for plan in plans}
    return {name: sent for name, sent in found.items() if sent is not None}


def sent_of(
    sent: Mapping[str, SentRows], flow: str, made: pl.DataFrame, held_back: dict[str, int]
) -> pl.DataFrame:
    """Return the rows of a flow that are sent.

    Args:
        sent: of `sent_rows`.
        made: the rows of its part.
        held_back: gets how many are not sent; those that only take others back do not count.
    """
    if flow not in sent:
        return made
    rows = sent[flow].of_rows(made)
    held_back[flow] = _new(made) - _new(rows)
    return rows


def _new(rows: pl.DataFrame) -> int:
    return int((~rows[RETRACTS]).sum()) if RETRACTS in rows.columns else len(rows)
