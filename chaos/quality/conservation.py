"""Expectation: every record that was read became exactly one of applied, outside, dropped, dead."""

from __future__ import annotations

from typing import Any, Final

import pandas as pd
from great_expectations.compatibility import pydantic
from great_expectations.expectations.expectation import BatchExpectation

from chaos.quality.expectation import expectation
from chaos.quality.frame_metric import FrameMetric
from chaos.quality.names import CONSERVED

FATES: Final = ("applied", "outside", "dropped", "dead")


class RecordCounts(FrameMetric):
    """The counts of a batch: one row per query."""

    metric_name = "table.record_counts"

    @classmethod
    def measure(cls, frame: pd.DataFrame, **values: Any) -> list[dict[str, Any]]:
        """Return `counts` of the batch."""
        return counts(frame)


@expectation(CONSERVED)
class ExpectRecordsToBeConserved(BatchExpectation):  # type: ignore[misc]
    """Expect `read = applied + outside + dropped + dead` in every row of a batch.

    `read` is the count of an independent reader of the log, and must equal the run's own. The batch
    has the columns `query`, `read`, `applied`, `outside`, `dropped`, `dead`, one
    row per query, and at least one row. Runs on pandas batches.

    Args:
        read: number of data records that the independent reader saw.
    """

    read: int = pydantic.Field(description="Data records that an independent reader saw", ge=0)
    description: str | None = (
        "Every record read became exactly one of applied, outside, dropped and dead."
    )

    metric_dependencies = (RecordCounts.metric_name,)
    success_keys = ("read",)
    args_keys = ("read",)

    def _validate(
        self,
        metrics: dict[str, Any],
        runtime_configuration: dict[str, Any] | None = None,
        execution_engine: Any = None,
    ) -> dict[str, Any]:
        rows = metrics[RecordCounts.metric_name]
        read = self._get_success_kwargs()["read"]
        kept = [row["read"] == read and sum(row[fate] for fate in FATES) == read for row in rows]
        lines = [_line(row, read) for row in rows]
        return {
            "success": bool(rows) and all(kept),
            "result": {
                "observed_value": "; ".join(lines) or "no counts at all",
                "details": {"read": read, "counts": rows},
            },
        }


def counts(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the counts of each row as plain numbers.

    Raises:
        KeyError: a column is missing.
    """
    columns = ["query", "read", *FATES]
    parts = [frame[name].tolist() for name in columns]
    return [dict(zip(columns, row, strict=True)) for row in zip(*parts, strict=True)]


def _line(row: dict[str, Any], read: int) -> str:
    total = sum(row[fate] for fate in FATES)
    text = f"{row['query']}: " + " + ".join(f"{fate} {row[fate]}" for fate in FATES)
    text += f" = {total}, read {read}"
    return text if row["read"] == read else f"{text}, the run counted {row['read']} read"
