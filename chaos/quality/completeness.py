"""Expectation: no window is missing between the first and the last."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import pandas as pd
from great_expectations.compatibility import pydantic
from great_expectations.expectations.expectation import BatchExpectation

from chaos.quality.expectation import expectation
from chaos.quality.frame_metric import FrameMetric
from chaos.quality.names import COMPLETE

_SHOWN: Final = 20


class WindowHoles(FrameMetric):
    """The window numbers that are missing in a batch."""

    metric_name = "table.windows.holes"
    value_keys = ("per", "last")

    @classmethod
    def measure(cls, frame: pd.DataFrame, **values: Any) -> dict[str, Any]:
        """Return `holes` of the batch."""
        return holes(frame, list(values["per"] or []), values["last"])


@expectation(COMPLETE)
class ExpectWindowsToBeComplete(BatchExpectation):  # type: ignore[misc]
    """Expect each window number between the first and the last to have a row.

    A window has a row if any key has one in it, or, with `per`, if any key with these values has.
    No class of windows has a row for a window that holds no record, so this also expects that no
    stretch of the data is empty; up to `max_share` of the windows may be. For exactly the
    windows that the log gives, empty ones left out, use `ExpectWindowSetToMatchDefinition`.
    Windows that are numbered by records or keys (by record, sessions) have no such grid: for them a
    number that is missing says nothing. Needs the column `window_id`. Runs on pandas batches.

    Args:
        per: columns; each combination of their values has windows of its own. Empty: none has.
        max_share: at most this share of the windows may be missing, from 0 to 1.
        last: how many of the newest numbers (of each combination) to look at; None: all.
    """

    per: list[str] = pydantic.Field([], description="Columns whose values have their own windows")
    max_share: float = pydantic.Field(0, description="Of the windows", ge=0, le=1)
    last: int | None = pydantic.Field(None, description="How many of the newest windows", ge=1)
    description: str | None = "No window is missing between the first and the last."

    metric_dependencies = (WindowHoles.metric_name,)
    success_keys = ("per", "max_share", "last")
    args_keys = ("per", "max_share", "last")

    def _validate(
        self,
        metrics: dict[str, Any],
        runtime_configuration: dict[str, Any] | None = None,
        execution_engine: Any = None,
    ) -> dict[str, Any]:
        found = metrics[WindowHoles.metric_name]
        most = float(self._get_success_kwargs()["max_share"])
        text = f"{found['missing_count']} of {found['windows']} windows missing"
        if found["missing"]:
            text += f", as {', '.join(str(tuple(one.values())) for one in found['missing'][:3])}"
        return {
            "success": found["missing_count"] <= most * found["windows"],
            "result": {"observed_value": f"{text}; at most {most:.1%}", "details": found},
        }


def holes(frame: pd.DataFrame, per: list[str], last: int | None) -> dict[str, Any]:
    """Find the missing window numbers; the counts are exact, the list has the first twenty.

    Args:
        frame: rows with `window_id` and the columns in `per`.
        per: as in `ExpectWindowsToBeComplete`.
        last: as there.

    Returns:
        `windows` (numbers between first and last), `missing_count`, and `missing`, each with the
        values of `per` and the number.

    Raises:
        KeyError: a column is missing.
    """
    rows = frame[[*per, "window_id"]].drop_duplicates().sort_values("window_id", kind="stable")
    groups: Iterable[tuple[Any, pd.DataFrame]] = (
        rows.groupby(per, dropna=False, sort=False) if per else [((), rows)]
    )
    windows, count = 0, 0
    missing: list[dict[str, Any]] = []
    for values, group in groups:
        numbers = [int(number) for number in group["window_id"]]
        if not numbers:
            continue
        first = numbers[0] if last is None else max(numbers[0], numbers[-1] - last + 1)
        there = [number for number in numbers if number >= first]
        # The first of them may be missing, too, if only the newest are looked at.
        windows += numbers[-1] - first + 1
        count += numbers[-1] - first + 1 - len(there)
        named = {name: None if pd.isna(of) else of for name, of in zip(per, values, strict=True)}
        for before, after in zip([first - 1, *there], there, strict=False):
            for number in range(before + 1, min(after, before + 1 + _SHOWN - len(missing))):
                missing.append({**named, "window_id": number})
    return {"windows": windows, "missing_count": count, "missing": missing}
