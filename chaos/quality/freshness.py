"""Expectation: the newest window is not older than it may be."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any, Final, Literal

import pandas as pd
from great_expectations.compatibility import pydantic
from great_expectations.expectations.expectation import BatchExpectation

from chaos.quality.expectation import expectation
from chaos.quality.frame_metric import FrameMetric
from chaos.quality.names import FRESH
from windowing.model.lengths import duration_us

NOTHING_DUE: Final = "nothing due"
"""The `reference` of a log by which no window has ended yet."""


class NewestEnd(FrameMetric):
    """The end of a batch's newest window in ISO 8601; None: it has no window."""

    metric_name = "table.windows.newest_end"

    @classmethod
    def measure(cls, frame: pd.DataFrame, **values: Any) -> str | None:
        """Return the largest `window_end`."""
        newest = frame["window_end"].max()
        return None if pd.isna(newest) else newest.isoformat()


@expectation(FRESH)
class ExpectNewestWindowToBeFresh(BatchExpectation):  # type: ignore[misc]
    """Expect the end of the newest window to be at most `max_age` before a reference.

    The window's end is an event time. The reference is, with `relative_to: log`, the progress of
    the lane that is furthest ahead, among those that have not ended: so a job that does not keep
    up, and a silent lane that holds all windows back, make results old, and a replay of an old log
    is judged like the first time. If all lanes have ended, it is the newest end of a window that
    the definition gives; if it gives none, nothing is due, and the expectation holds. With
    `relative_to: clock`, the reference is the time of the check: so a topic into which nobody
    writes makes results old, too. Without any window, the expectation does not hold.

    The newest window always trails by up to its slide and the slack: choose `max_age` larger.
    Needs the column `window_end`, with instants. Runs on pandas batches.

    Args:
        max_age: a duration such as `2 hours`.
        relative_to: `log` or `clock`.
        reference: the instant in ISO 8601; in pipeline files it comes from the log. None: now.
    """

    max_age: str = pydantic.Field(description="A duration, as 2 hours")
    relative_to: Literal["log", "clock"] = "log"
    reference: str | None = None
    description: str | None = "The newest window is not older than it may be."

    metric_dependencies = (NewestEnd.metric_name,)
    success_keys = ("max_age", "relative_to", "reference")
    args_keys = ("max_age", "relative_to", "reference")

    @pydantic.validator("max_age")  # type: ignore[untyped-decorator]
    def _is_a_duration(cls, value: str) -> str:  # noqa: N805 - the decorator makes it a class method
        duration_us(value)
        return value

    def _validate(
        self,
        metrics: dict[str, Any],
        runtime_configuration: dict[str, Any] | None = None,
        execution_engine: Any = None,
    ) -> dict[str, Any]:
        arguments = self._get_success_kwargs()
        most = timedelta(microseconds=duration_us(arguments["max_age"]))
        newest, reference = metrics[NewestEnd.metric_name], arguments["reference"]
        if reference == NOTHING_DUE:
            return _result(success=True, text="no window has ended yet")
        if newest is None:
            return _result(success=False, text="no window at all")
        until = datetime.fromisoformat(reference) if reference else datetime.now(UTC)
        age = until - datetime.fromisoformat(newest)
        behind = "the log" if arguments["relative_to"] == "log" else "the clock"
        text = f"newest window ends at {newest}, {age} behind {behind}; at most {most}"
        return _result(success=age <= most, text=text)


def _result(*, success: bool, text: str) -> dict[str, Any]:
    return {"success": success, "result": {"observed_value": text}}
