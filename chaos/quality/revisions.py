"""Expectation: the revisions of each window rise by one, without duplicates."""

from __future__ import annotations

from typing import Any

import pandas as pd
from great_expectations.compatibility import pydantic
from great_expectations.expectations.expectation import BatchExpectation

from chaos.quality.expectation import expectation
from chaos.quality.frame_metric import FrameMetric
from chaos.quality.names import REVISIONS

_SHOWN = 20
_KINDS = {
    "holes": "windows with a hole in their revisions",
    "misfits": "rows whose pane does not fit the revision",
    "duplicates": "identities that stand more than once",
}


class RevisionFaults(FrameMetric):
    """The errors in the revisions of a batch."""

    metric_name = "table.revisions.faults"
    value_keys = ("window_columns",)

    @classmethod
    def measure(cls, frame: pd.DataFrame, **values: Any) -> dict[str, Any]:
        """Return `faults` of the batch."""
        return faults(frame, list(values["window_columns"]))


@expectation(REVISIONS)
class ExpectRevisionsToRiseWithoutHoles(BatchExpectation):  # type: ignore[misc]
    """Expect the revisions of each window to be 0, 1, 2, …, or 1, 2, … where there is no 0.

    Also, `pane` is `full` for revision 0 and `late` from 1 on, and no identity (window, key, pane,
    revision) occurs twice. Needs the columns `pane` and `revision`. Runs on pandas batches.

    Args:
        window_columns: the columns that name a window of one key.
    """

    window_columns: list[str] = pydantic.Field(
        description="The columns that name a window of one key", min_items=1
    )
    description: str | None = "The revisions of each window rise by one from 0 or 1, none twice."

    metric_dependencies = (RevisionFaults.metric_name,)
    success_keys = ("window_columns",)
    args_keys = ("window_columns",)

    def _validate(
        self,
        metrics: dict[str, Any],
        runtime_configuration: dict[str, Any] | None = None,
        execution_engine: Any = None,
    ) -> dict[str, Any]:
        found = metrics[RevisionFaults.metric_name]
        text = f"{found['rows']} revisions of {found['windows']} windows"
        for kind, meaning in _KINDS.items():
            if count := found[f"{kind}_count"]:
                text += f"; {count} {meaning}, as {tuple(found[kind][0].values())}"
        return {
            "success": not any(found[f"{kind}_count"] for kind in _KINDS),
            "result": {"observed_value": text, "details": found},
        }


def faults(frame: pd.DataFrame, window_columns: list[str]) -> dict[str, Any]:
    """Find holes, misfits and duplicates; counts are exact, lists are the first twenty of each.

    Args:
        frame: rows, all revisions, with `pane` and `revision`.
        window_columns: the columns that name a window of one key.

    Raises:
        KeyError: a column is missing.
    """
    identity = [*window_columns, "pane", "revision"]
    rows = frame[identity]
    revision = rows["revision"].astype("Int64")
    fitting = revision.eq(0).map({True: "full", False: "late"})
    fits = revision.ge(0) & rows["pane"].eq(fitting)
    repeated = rows[rows.duplicated(identity)].drop_duplicates()
    by_window = (
        rows.assign(revision=revision)
        .groupby(window_columns, dropna=False, sort=False)["revision"]
        .agg(["min", "max", "nunique"])
    )
    complete = by_window["min"].isin([0, 1]) & (
        by_window["max"] - by_window["min"] + 1 == by_window["nunique"]
    )
    # A null revision is a misfit; a window with only null revisions has no sequence to judge.
    holed = by_window[~complete.fillna(value=True).astype(bool)].index.to_frame(index=False)
    kinds = {
        "holes": holed,
        "misfits": rows[~fits.fillna(value=False).astype(bool)],
        "duplicates": repeated,
    }
    return {
        "rows": len(rows),
        "windows": len(by_window),
        **{f"{kind}_count": len(part) for kind, part in kinds.items()},
        **{kind: _plain(part) for kind, part in kinds.items()},
    }


def _plain(frame: pd.DataFrame) -> list[dict[str, Any]]:
    records = frame.head(_SHOWN).astype(object).to_dict("records")
    return [
        {str(name): None if pd.isna(value) else value for name, value in record.items()}
        for record in records
    ]
