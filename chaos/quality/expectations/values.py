"""What is expected of values: that there is one, and that it changes little over the windows."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import pandas as pd
from great_expectations.compatibility import pydantic

from chaos.quality.expectation import STEADY, SUMS_FIT, expectation
from chaos.quality.frame_metric import SHOWN, FrameExpectation, Judgement


@expectation(SUMS_FIT)
class ExpectSumsToFit(FrameExpectation):
    """Expect no row, or few, with a null where a sum leaves int64 or a user's class fails.

    Needs the column `overflow`, with the names of a row's aggregates that do; else null.

    Args:
        max_share: at most this share of the rows, from 0 to 1.
    """

    max_share: float = pydantic.Field(0, description="Of the rows", ge=0, le=1)
    description: str | None = (
        "No sum of ints leaves int64, and no class or expression of yours fails."
    )
    metric_name: ClassVar[str] = "table.sums.overflow"

    @staticmethod
    def measure(frame: pd.DataFrame) -> dict[str, Any]:
        """Count the rows, those with such a sum, and name the first windows with one."""
        marked = frame[frame["overflow"].notna()]
        shown = marked[["window_id", "overflow"]].head(SHOWN).astype(object)
        return {"rows": len(frame), "marked": len(marked), "windows": shown.to_dict("records")}

    def judge(self, found: dict[str, Any], arguments: dict[str, Any]) -> Judgement:
        """Compare the share of rows."""
        what = "have an aggregate that leaves int64, or fails"
        text = f"{found['marked']} of {found['rows']} rows {what}"
        if found["windows"]:
            first = found["windows"][0]
            text += f", as {first['overflow']} of window {first['window_id']}"
        most = arguments["max_share"] * found["rows"]
        return Judgement(found["marked"] <= most, text, found)


@expectation(STEADY)
class ExpectWindowValuesToBeSteady(FrameExpectation):
    """Expect each window's value to be near the median of the windows before it.

    A window's value is the median of `column` over its rows (its keys), nulls left out; rows with
    one `window_end` are one window. It is compared with the median of the values of the `previous`
    windows before it that have any. A window with fewer before it is not judged, so that a young
    table holds. The difference is at most `max_change`, or at most `max_ratio` times the absolute
    value of that median (which allows none after zeros); exactly one of the two is given. An
    infinite value is never near. Needs the column `window_end`.

    Args:
        column: a column of numbers.
        previous: how many windows to compare with.
        max_change: greatest difference, in the column's unit.
        max_ratio: greatest difference as a multiple of the median before.
        per: columns; each combination of their values is a series of its own.
        last: how many newest windows (of each series) are judged; None: all.
        mostly: share of the judged windows that must be near, from 0 to 1.
    """

    column: str = pydantic.Field(description="A column of numbers")
    previous: int = pydantic.Field(5, description="Windows to compare with", ge=1)
    max_change: float | None = pydantic.Field(None, description="Greatest difference", ge=0)
    max_ratio: float | None = pydantic.Field(None, description="Relative to the median", ge=0)
    per: list[str] = pydantic.Field([], description="Columns whose values are series")
    last: int | None = pydantic.Field(None, description="How many of the newest windows", ge=1)
    mostly: float = pydantic.Field(1, description="Share of the windows", ge=0, le=1)
    description: str | None = "The value changes little from the windows before."
    metric_name: ClassVar[str] = "table.windows.drift"

    @pydantic.root_validator(skip_on_failure=True)  # type: ignore[untyped-decorator]
    def _has_one_bound(cls, values: dict[str, Any]) -> dict[str, Any]:  # noqa: N805 - as in pydantic
        if (values["max_change"] is None) == (values["max_ratio"] is None):
            msg = "give either max_change, in the column's unit, or max_ratio, of the median"
            raise ValueError(msg)
        return values

    @staticmethod
    def measure(
        frame: pd.DataFrame,
        *,
        column: str,
        previous: int,
        max_change: float | None,
        max_ratio: float | None,
        per: list[str] | None,
        last: int | None,
    ) -> dict[str, Any]:
        """Find the windows whose value is not near.

        Returns:
            `windows` that have a value, `judged` and `drifted_count`, and `drifted`: at most
            twenty, the largest differences first, with the values of `per`, `window_end`, `value`,
            `before`.

        Raises:
            KeyError: a column is missing.
            ValueError, TypeError: the column does not hold numbers.
        """
        per = list(per or [])
        numbers = frame[column].astype("Float64").astype(float)
        rows = frame[[*per, "window_end"]].assign(value=numbers).dropna(subset=["value"])
        values = rows.groupby([*per, "window_end"], dropna=False)["value"]
        series = values.median().reset_index().sort_values("window_end", kind="stable")
        groups = series.groupby(per, dropna=False, sort=False) if per else [((), series)]
        judged = [_judged(group, previous, last) for _, group in groups]
        compared = pd.concat(judged) if judged else series.assign(before=math.nan)[:0]
        difference = (compared["value"] - compared["before"]).abs()
        bound = compared["before"].abs() * (max_ratio or 0) + (max_change or 0)
        far = ~(difference <= bound)  # not a number is not near
        drifted = compared[far].assign(difference=difference[far].fillna(math.inf))
        worst = drifted.nlargest(SHOWN, "difference").drop(columns="difference")
        return {
            "windows": len(series),
            "judged": len(compared),
            "drifted_count": len(drifted),
            "drifted": [
                {**one, "window_end": str(one["window_end"])} for one in worst.to_dict("records")
            ],
        }

    def judge(self, found: dict[str, Any], arguments: dict[str, Any]) -> Judgement:
        """Compare the share of the windows that are near with `mostly`."""
        near = found["judged"] - found["drifted_count"]
        text = f"{found['drifted_count']} of {found['judged']} windows drifted"
        if found["drifted"]:
            worst = found["drifted"][0]
            text += f", most at {worst['window_end']}: {worst['value']:g} after {worst['before']:g}"
        if not found["judged"]:
            text = f"{found['windows']} windows, too few to compare"
        return Judgement(near >= arguments["mostly"] * found["judged"], text, found)


def _judged(series: pd.DataFrame, previous: int, last: int | None) -> pd.DataFrame:
    """Return the windows of a series that have enough before them, with the median of those."""
    before = series["value"].shift(1).rolling(previous, min_periods=previous).median()
    compared = series.assign(before=before)[previous:]
    return compared if last is None else compared[-last:]
