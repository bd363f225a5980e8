"""What is expected of revisions: they rise by one, none twice, and there are few."""

from __future__ import annotations

from typing import Any, ClassVar, Final

import pandas as pd
from great_expectations.compatibility import pydantic

from chaos.quality.expectation import FEW_REVISED, REVISIONS, expectation
from chaos.quality.frame_metric import SHOWN, FrameExpectation, Judgement

_FAULTS: Final = {
    "holes": "windows with a hole in their revisions",
    "misfits": "rows whose pane does not fit the revision",
    "duplicates": "identities that stand more than once",
}


@expectation(REVISIONS)
class ExpectRevisionsToRiseWithoutHoles(FrameExpectation):
    """Expect the revisions of each window to be 0, 1, 2, …, or 1, 2, … where there is no 0.

    Also, `pane` is `full` for revision 0 and `late` from 1 on, and no identity (window, key, pane,
    revision) occurs twice. Needs the columns `pane` and `revision`.

    Args:
        window_columns: the columns that name a window of one key.
        with_holes: whether some revisions are not sent, as of queries with `having`, whose rows
            have the numbers that they would have without it.
    """

    window_columns: list[str] = pydantic.Field(
        description="The columns that name a window of one key", min_items=1
    )
    with_holes: bool = pydantic.Field(False, description="Whether some revisions are not sent")
    description: str | None = "The revisions of each window rise by one from 0 or 1, none twice."
    metric_name: ClassVar[str] = "table.revisions.faults"

    @staticmethod
    def measure(
        frame: pd.DataFrame, window_columns: list[str], with_holes: bool | None
    ) -> dict[str, Any]:
        """Find holes, misfits and duplicates: exact counts, and the first twenty of each."""
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
        sound = complete.fillna(value=True).astype(bool) | bool(with_holes)
        holed = by_window[~sound].index.to_frame(index=False)
        faults = {
            "holes": holed,
            "misfits": rows[~fits.fillna(value=False).astype(bool)],
            "duplicates": repeated,
        }
        return {
            "rows": len(rows),
            "windows": len(by_window),
            **{f"{fault}_count": len(part) for fault, part in faults.items()},
            **{fault: _plain(part) for fault, part in faults.items()},
        }

    def judge(self, found: dict[str, Any], arguments: dict[str, Any]) -> Judgement:
        """Allow no fault."""
        del arguments
        text = f"{found['rows']} revisions of {found['windows']} windows"
        for fault, meaning in _FAULTS.items():
            if count := found[f"{fault}_count"]:
                text += f"; {count} {meaning}, as {tuple(found[fault][0].values())}"
        return Judgement(not any(found[f"{fault}_count"] for fault in _FAULTS), text, found)


@expectation(FEW_REVISED)
class ExpectRevisionsToBeFew(FrameExpectation):
    """Expect few windows to be revised, or few revisions per window.

    A window of one key is revised if it has a row of revision 1 or more; its revisions are those
    rows. The batch has all revisions; at least one of `max_share` and `max_mean` is given. Needs
    the columns `revision` and `window_end`.

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
    metric_name: ClassVar[str] = "table.revisions.churn"

    @pydantic.root_validator(skip_on_failure=True)  # type: ignore[untyped-decorator]
    def _has_a_bound(cls, values: dict[str, Any]) -> dict[str, Any]:  # noqa: N805 - as in pydantic
        if values["max_share"] is None and values["max_mean"] is None:
            msg = "give max_share (of the windows), max_mean (revisions per window), or both"
            raise ValueError(msg)
        return values

    @staticmethod
    def measure(frame: pd.DataFrame, window_columns: list[str], last: int | None) -> dict[str, int]:
        """Count the windows, those that were revised, and their revisions."""
        rows = frame
        if last is not None:
            ends = frame["window_end"].drop_duplicates().nlargest(last)
            rows = frame[frame["window_end"].isin(ends)]
        # A revision that is stored twice was made once: duplicates are another expectation's.
        revisions = rows[[*window_columns, "revision"]].drop_duplicates()
        late = revisions[revisions["revision"].ge(1).fillna(value=False).astype(bool)]
        return {
            "windows": len(rows[window_columns].drop_duplicates()),
            "revised": len(late[window_columns].drop_duplicates()),
            "revisions": len(late),
        }

    def judge(self, found: dict[str, int], arguments: dict[str, Any]) -> Judgement:
        """Compare the share and the mean with their bounds."""
        windows = max(1, found["windows"])
        share, mean = found["revised"] / windows, found["revisions"] / windows
        text = (
            f"{found['revised']} of {found['windows']} windows revised, {share:.1%}; "
            f"{mean:.2f} revisions per window"
        )
        bounds = ((share, arguments["max_share"]), (mean, arguments["max_mean"]))
        return Judgement(all(most is None or value <= most for value, most in bounds), text, found)


def _plain(frame: pd.DataFrame) -> list[dict[str, Any]]:
    records = frame.head(SHOWN).astype(object).to_dict("records")
    return [
        {str(name): None if pd.isna(value) else value for name, value in record.items()}
        for record in records
    ]
