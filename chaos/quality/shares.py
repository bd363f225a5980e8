"""Expectations: few of the records read were bad, and few were too late to count."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import pandas as pd
from great_expectations.compatibility import pydantic
from great_expectations.expectations.expectation import BatchExpectation

from chaos.quality.block import SHARE_MAX
from chaos.quality.expectation import expectation
from chaos.quality.frame_metric import FrameMetric
from chaos.quality.names import FEW_DEAD, FEW_LATE

_COLUMNS: Final = ("query", "read", "bad", "late")


class RecordShares(FrameMetric):
    """The records that are in no result: one row per query."""

    metric_name = "table.record_shares"

    @classmethod
    def measure(cls, frame: pd.DataFrame, **values: Any) -> list[dict[str, Any]]:
        """Return the columns of each row as plain values."""
        parts = [frame[name].tolist() for name in _COLUMNS]
        return [dict(zip(_COLUMNS, row, strict=True)) for row in zip(*parts, strict=True)]


@expectation(FEW_DEAD)
class ExpectDeadRecordsToBeFew(BatchExpectation):  # type: ignore[misc]
    """Expect at most a given share of the records read to be bad.

    The batch has the columns `query`, `read`, `bad`, `late`, one row per query. Dead letters
    count as bad unless their reason is lateness. Runs on pandas batches.

    Args:
        max_share: of what was read, from 0 to 1.
    """

    max_share: float = pydantic.Field(SHARE_MAX, description="Of what was read", ge=0, le=1)
    description: str | None = "Few of the records read were bad."

    metric_dependencies = (RecordShares.metric_name,)
    success_keys = ("max_share",)
    args_keys = ("max_share",)

    def _validate(
        self,
        metrics: dict[str, Any],
        runtime_configuration: dict[str, Any] | None = None,
        execution_engine: Any = None,
    ) -> dict[str, Any]:
        return _judged(metrics[RecordShares.metric_name], "bad", self._get_success_kwargs())


@expectation(FEW_LATE)
class ExpectLateRecordsToBeFew(BatchExpectation):  # type: ignore[misc]
    """Expect at most a given share of the records read to be too late to count.

    The batch is that of `ExpectDeadRecordsToBeFew`. Records count as late if no result holds them:
    dropped, or dead letters for lateness, but not if they revised a window. Runs on pandas batches.

    Args:
        max_share: of what was read, from 0 to 1.
    """

    max_share: float = pydantic.Field(SHARE_MAX, description="Of what was read", ge=0, le=1)
    description: str | None = "Few of the records read came too late to count."

    metric_dependencies = (RecordShares.metric_name,)
    success_keys = ("max_share",)
    args_keys = ("max_share",)

    def _validate(
        self,
        metrics: dict[str, Any],
        runtime_configuration: dict[str, Any] | None = None,
        execution_engine: Any = None,
    ) -> dict[str, Any]:
        return _judged(metrics[RecordShares.metric_name], "late", self._get_success_kwargs())


def _judged(rows: Sequence[dict[str, Any]], what: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """Return the result of an expectation on one of the counts."""
    most = float(arguments["max_share"])
    few = [row[what] <= most * row["read"] for row in rows]
    lines = [
        f"{row['query']}: {row[what]} of {row['read']} {what}"
        + (f", {row[what] / row['read']:.1%}" if row["read"] else "")
        for row in rows
    ]
    return {
        "success": bool(rows) and all(few),
        "result": {
            "observed_value": f"{'; '.join(lines) or 'no counts at all'}; at most {most:.1%}",
            "details": {"max_share": most, "counts": list(rows)},
        },
    }
