"""Why expressions have no value: the call that fails first, in words. Only dead letters need it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from windowing.engine.reading.expressions.evaluate import evaluate
from windowing.model.computed import CAST, OVERFLOW, SUBSTR, YEARS, ZERO
from windowing.model.expressions.tree import Call, Expression
from windowing.model.types import FieldType

Rows = NDArray[np.int64]

_OF_TIMES: Final = ("extract", "date_trunc")
_DIVIDING: Final = ("/", "div", "mod")


def causes(
    expression: Expression, frame: pl.DataFrame, known: Mapping[str, FieldType]
) -> list[str]:
    """Return why an expression has no value, by row.

    Args:
        frame: the columns of its fields, with the rows in which it has none.
        known: types of names.
    """
    search = _Search(frame, known)
    search.blame(expression, np.arange(len(frame)))
    return search.found


class _Search:
    """The search for what fails, in all rows at once, from the whole down to its operands."""

    def __init__(self, frame: pl.DataFrame, known: Mapping[str, FieldType]) -> None:
        self._frame, self._known = frame, known
        self.found = [OVERFLOW] * len(frame)

    def blame(self, node: Expression, rows: Rows) -> None:
        """Find out about the rows in which an expression fails."""
        if not len(rows) or not isinstance(node, Call):
            return
        if node.function == "case":
            self._blame_case(node, rows)
            return
        for operand in node.arguments:
            failed, _ = self._evaluated(operand, rows)
            self.blame(operand, rows[failed])
            rows = rows[~failed]
        for row, cause in zip(rows.tolist(), self._own(node, rows), strict=True):
            self.found[row] = cause

    def _blame_case(self, node: Call, rows: Rows) -> None:
        """Only the conditions up to the first that holds are evaluated, and its result."""
        *pairs, otherwise = node.arguments
        for condition, result in zip(pairs[::2], pairs[1::2], strict=True):
            failed, values = self._evaluated(condition, rows)
            holds = values.fill_null(value=False).to_numpy() & ~failed
            self.blame(condition, rows[failed])
            self.blame(result, rows[holds])
            rows = rows[~failed & ~holds]
        self.blame(otherwise, rows)

    def _own(self, node: Call, rows: Rows) -> list[str]:
        """Return why a call fails whose operands do not."""
        if node.function in _DIVIDING:
            _, divisors = self._evaluated(node.arguments[1], rows)
            return [ZERO if one == 0 else OVERFLOW for one in divisors]
        if node.to is not None:
            return [f"{CAST} to {node.to} of what is none"] * len(rows)
        own = YEARS if node.function in _OF_TIMES else SUBSTR if node.function == "substr" else None
        return [own or OVERFLOW] * len(rows)

    def _evaluated(self, node: Expression, rows: Rows) -> tuple[NDArray[np.bool_], pl.Series]:
        found = evaluate(node, self._frame[rows], self._known)
        return found.failed.to_numpy(), found.values
