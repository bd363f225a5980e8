"""Expectation: few windows are revised, and not often."""

from __future__ import annotations

from typing import Any

import pandas as pd
from great_expectations.compatibility import pydantic
from great_expectations.expectations.expectation import BatchExpectation

from chaos.quality.expectation import expectation
from chaos.quality.frame_metric import FrameMetric
from chaos.quality.names import FEW_REVISED


class RevisionChurn(FrameMetric):
    """How many windows of a batch were revised, and how often."""

    metric_name = "table.revisions.churn"
    value_keys = ("window_columns", "last")

    @classmethod
    def measure(cls, frame: pd.DataFrame, **values: Any) -> dict[str, int]:
        """Return `churn` of the batch."""
        return churn(frame, list(values["window_columns"]), values["last"])


@expectation(FEW_REVISED)
class ExpectRevisionsToBeFew(BatchExpectation):  # type: ignore[misc]
    """Expect few windows to be revised, or few revisions per window.

    A window of one key is revised if it has a row of revision 1 or more; its revisions are those
    rows. The batch has all revisions; at least one of `max_share` and `max_mean` is given. Needs
    the columns `revision` and `window_end`. Runs on pandas batches.

    Args:
        window_columns: the columns that name a window of one key.
        max_share: at most this share of the windows is revised, from 0 to 1.
        max_mean: the most revisions per window, on average over all windows.
        last: number of newest window ends to look at; None: all.
    """

    window_columns: list[str] = pydantic.Field(
        description="The columns that name a window of one key", min_items=1
    )
    max_share: float | None = pydantic.Field(None, description="Of the windows", ge=0, le=1)
    max_mean: float | None = pydantic.Field(None, description="Revisions per window", ge=0)
    last: int | None = pydantic.Field(None, description="How many of the newest windows", ge=1)
    description: str | None = "Few windows are revised, and not often."

    metric_dependencies = (RevisionChurn.metric_name,)
    success_keys = ("window_columns", "max_share", "max_mean", "last")
    args_keys = ("window_columns", "max_share", "max_mean", "last")

    @pydantic.root_validator(skip_on_failure=True)  # type: ignore[untyped-decorator]
    def _has_a_bound(cls, values: dict[str, Any]) -> dict[str, Any]:  # noqa: N805 - as in pydantic
        if values["max_share"] is None and values["max_mean"] is None:
            msg = "give max_share (of the windows), max_mean (revisions per window), or both"
            raise ValueError(msg)
        return values

    def _validate(
        self,
        metrics: dict[str, Any],
        runtime_configuration: dict[str, Any] | None = None,
        execution_engine: Any = None,
    ) -> dict[str, Any]:
        found, arguments = metrics[RevisionChurn.metric_name], self._get_success_kwargs()
        windows = max(1, found["windows"])
        share, mean = found["revised"] / windows, found["revisions"] / windows
        text = (
            f"{found['revised']} of {found['windows']} windows revised, {share:.1%}; "
            f"{mean:.2f} revisions per window"
        )
        bounds = ((share, arguments["max_share"]), (mean, arguments["max_mean"]))
        return {
            "success": all(most is None or value <= most for value, most in bounds),
            "result": {"observed_value": text, "details": found},
        }


def churn(frame: pd.DataFrame, window_columns: list[str], last: int | None) -> dict[str, int]:
    """Count the windows, those that were revised, and their revisions.

    Args:
        frame: rows, all revisions, with `revision` and `window_end`.
        window_columns: the columns that name a window of one key.
        last: as in `ExpectRevisionsToBeFew`.

    Raises:
        KeyError: a column is missing.
    """
    rows = newest(frame, last)
    # A revision that is stored twice was made once: duplicates are another expectation's.
    revisions = rows[[*window_columns, "revision"]].drop_duplicates()
    late = revisions[revisions["revision"].ge(1).fillna(value=False).astype(bool)]
    return {
        "windows": len(rows[window_columns].drop_duplicates()),
        "revised": len(late[window_columns].drop_duplicates()),
        "revisions": len(late),
    }


def newest(frame: pd.DataFrame, last: int | None) -> pd.DataFrame:
    """Return the rows whose `window_end` is one of the `last` newest ones; None: all rows."""
    if last is None:
        return frame
    ends = frame["window_end"].drop_duplicates().nlargest(last)
    return frame[frame["window_end"].isin(ends)]
