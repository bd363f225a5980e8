"""Expectation: the windows of an output are exactly the definition's."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pandas as pd
from great_expectations.compatibility import pydantic
from great_expectations.expectations.expectation import BatchExpectation

from chaos.quality.expectation import expectation
from chaos.quality.frame_metric import FrameMetric
from chaos.quality.names import WINDOW_SET

_SHOWN = 20

Window = tuple[Any, ...]


class WindowSetDifference(FrameMetric):
    """The differences between the windows of a batch and those of a Parquet file."""

    metric_name = "table.window_set.difference"
    value_keys = ("expected",)

    @classmethod
    def measure(cls, frame: pd.DataFrame, **values: Any) -> dict[str, Any]:
        """Return `difference` from the expected windows."""
        return difference(frame, pd.read_parquet(values["expected"], dtype_backend="pyarrow"))


@expectation(WINDOW_SET)
class ExpectWindowSetToMatchDefinition(BatchExpectation):  # type: ignore[misc]
    """Expect the windows in a batch to be exactly those of a Parquet file.

    A window of one key is a combination of the file's columns, such as `window_id` and `origin`; a
    batch may hold several rows of it (revisions). Null is equal to null. Runs on pandas batches.

    Args:
        expected: path of the Parquet file, with one row per expected window.
    """

    expected: str = pydantic.Field(description="Parquet file of the windows there should be")
    description: str | None = "The windows are exactly those that the definition gives."

    metric_dependencies = (WindowSetDifference.metric_name,)
    success_keys = ("expected",)
    args_keys = ("expected",)

    def _validate(
        self,
        metrics: dict[str, Any],
        runtime_configuration: dict[str, Any] | None = None,
        execution_engine: Any = None,
    ) -> dict[str, Any]:
        found = metrics[WindowSetDifference.metric_name]
        text = f"{found['found']} windows, {found['expected']} expected"
        for what in ("missing", "unexpected"):
            if count := found[f"{what}_count"]:
                shown = ", ".join(str(tuple(window.values())) for window in found[what][:3])
                text += f"; {count} {what}, as {shown}"
        return {
            "success": not found["missing_count"] and not found["unexpected_count"],
            "result": {"observed_value": text, "details": found},
        }


def difference(frame: pd.DataFrame, expected: pd.DataFrame) -> dict[str, Any]:
    """Compare the sets of windows; the counts are exact, the lists are the first twenty of each.

    Args:
        frame: rows that have at least the columns of `expected`.
        expected: one row per window; its columns identify a window.

    Raises:
        KeyError: `frame` lacks a column.
    """
    columns = list(expected.columns)
    wanted, got = _windows(expected[columns]), _windows(frame[columns])
    missing = [window for window in wanted if window not in got]
    unexpected = [window for window in got if window not in wanted]
    return {
        "expected": len(wanted),
        "found": len(got),
        "missing_count": len(missing),
        "unexpected_count": len(unexpected),
        "missing": [dict(zip(columns, window, strict=True)) for window in missing[:_SHOWN]],
        "unexpected": [dict(zip(columns, window, strict=True)) for window in unexpected[:_SHOWN]],
    }


def _windows(frame: pd.DataFrame) -> dict[Window, None]:
    columns: Iterable[list[Any]] = (
        [None if null else value for value, null in zip(part.tolist(), part.isna(), strict=True)]
        for _, part in frame.items()
    )
    return dict.fromkeys(zip(*columns, strict=True))  # an ordered set
