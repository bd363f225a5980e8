"""What is expected of the windows of an output: the right ones, none missing, and recent ones."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from itertools import chain, islice
from typing import Any, ClassVar, Literal

import pandas as pd
from great_expectations.compatibility import pydantic

from chaos.quality.expectation import COMPLETE, FRESH, PLAUSIBLE, WINDOW_SET, expectation
from chaos.quality.finality import NOTHING_DUE
from chaos.quality.frame_metric import SHOWN, FrameExpectation, Judgement
from chaos.quality.numbers import between
from windowing.model.lengths import duration_us, spell_instant
from windowing.model.limits import PLAUSIBLE_US, SIZES_NS, fitting_unit, is_plausible, written_in

Window = tuple[Any, ...]


@expectation(WINDOW_SET)
class ExpectWindowSetToMatchDefinition(FrameExpectation):
    """Expect the windows in a batch to be exactly those of a Parquet file.

    A window of one key is a combination of the file's columns, such as `window_id` and `origin`; a
    batch may hold several rows of it (revisions). Null is equal to null.

    Args:
        expected: path of the Parquet file, with one row per expected window.
    """

    expected: str = pydantic.Field(description="Parquet file of the windows there should be")
    description: str | None = "The windows are exactly those that the definition gives."
    metric_name: ClassVar[str] = "table.window_set.difference"

    @staticmethod
    def measure(frame: pd.DataFrame, expected: str) -> dict[str, Any]:
        """Compare the sets of windows: exact counts, and the first twenty of each difference."""
        named = pd.read_parquet(expected, dtype_backend="pyarrow")
        columns = list(named.columns)
        wanted, got = _windows(named[columns]), _windows(frame[columns])
        missing = [window for window in wanted if window not in got]
        unexpected = [window for window in got if window not in wanted]
        return {
            "expected": len(wanted),
            "found": len(got),
            "missing_count": len(missing),
            "unexpected_count": len(unexpected),
            "missing": [dict(zip(columns, window, strict=True)) for window in missing[:SHOWN]],
            "unexpected": [
                dict(zip(columns, window, strict=True)) for window in unexpected[:SHOWN]
            ],
        }

    def judge(self, found: dict[str, Any], arguments: dict[str, Any]) -> Judgement:
        """Allow no difference."""
        del arguments
        text = f"{found['found']} windows, {found['expected']} expected"
        for what in ("missing", "unexpected"):
            if count := found[f"{what}_count"]:
                shown = ", ".join(str(tuple(window.values())) for window in found[what][:3])
                text += f"; {count} {what}, as {shown}"
        return Judgement(not found["missing_count"] and not found["unexpected_count"], text, found)


def _windows(frame: pd.DataFrame) -> dict[Window, None]:
    columns: Iterable[list[Any]] = (
        [None if null else value for value, null in zip(part.tolist(), part.isna(), strict=True)]
        for _, part in frame.items()
    )
    return dict.fromkeys(zip(*columns, strict=True))  # an ordered set


@expectation(COMPLETE)
class ExpectWindowsToBeComplete(FrameExpectation):
    """Expect each window number between the first and the last to have a row.

    A window has a row if any key has one in it, or, with `per`, if any key with these values has.
    No class of windows has a row for a window that holds no record, so this also expects that no
    stretch of the data is empty; up to `max_share` of the windows may be. For exactly the
    windows that the log gives, empty ones left out, use `ExpectWindowSetToMatchDefinition`.
    Windows that are numbered by records or keys (by record, sessions) have no such grid: for them a
    number that is missing says nothing. Numbers that periods of local time leave over are of no
    window. Needs the column `window_id`.

    Args:
        per: columns; each combination of their values has windows of its own. Empty: none has.
        max_share: at most this share of the windows may be missing, from 0 to 1.
        last: how many of the newest numbers (of each combination) to look at; None: all.
        periods: unit and zone of the periods over which windows cumulate, and how many numbers each
            has; None: every number is of a window.
    """

    per: list[str] = pydantic.Field([], description="Columns whose values have their own windows")
    max_share: float = pydantic.Field(0, description="Of the windows", ge=0, le=1)
    last: int | None = pydantic.Field(None, description="How many of the newest windows", ge=1)
    periods: dict[str, Any] | None = pydantic.Field(None, description="What has own numbers")
    description: str | None = "No window is missing between the first and the last."
    metric_name: ClassVar[str] = "table.windows.holes"

    @staticmethod
    def measure(
        frame: pd.DataFrame,
        per: list[str] | None,
        last: int | None,
        periods: dict[str, Any] | None = None,
    ) -> dict[str, Any]:
        """Find the missing window numbers: exact counts, and the first twenty.

        Returns:
            `windows` (those numbered between first and last), `missing_count`, and `missing`, each
            with the values of `per` and the number.
        """
        per = list(per or [])
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
            known = sum(map(len, between(first, numbers[-1], periods)))
            windows += known
            count += known - len(there)
            key = {name: None if pd.isna(of) else of for name, of in zip(per, values, strict=True)}
            for before, after in zip([first - 1, *there], there, strict=False):
                skipped = chain.from_iterable(between(before + 1, after - 1, periods))
                for number in islice(skipped, SHOWN - len(missing)):
                    missing.append({**key, "window_id": number})
        return {"windows": windows, "missing_count": count, "missing": missing}

    def judge(self, found: dict[str, Any], arguments: dict[str, Any]) -> Judgement:
        """Compare the share that is missing with `max_share`."""
        most = float(arguments["max_share"])
        text = f"{found['missing_count']} of {found['windows']} windows missing"
        if found["missing"]:
            text += f", as {', '.join(str(tuple(one.values())) for one in found['missing'][:3])}"
        few = found["missing_count"] <= most * found["windows"]
        return Judgement(few, f"{text}; at most {most:.1%}", found)


@expectation(FRESH)
class ExpectNewestWindowToBeFresh(FrameExpectation):
    """Expect the end of the newest window to be at most `max_age` before a reference.

    The window's end is an event time. The reference is, with `relative_to: log`, the progress of
    the lane that is furthest ahead, among those that have not ended, up to what the run has
    committed: so a silent lane that holds all windows back makes results old, and a replay of an
    old log is judged like the first time. If all lanes have ended, it is the newest end of a window
    that the definition gives; if it gives none, nothing is due, and the expectation holds. With
    `relative_to: clock`, the reference is the time of the check: so a topic into which nobody
    writes makes results old, too. Without any window, the expectation does not hold.

    The newest window always trails by up to its slide and the slack: choose `max_age` larger.
    Needs the column `window_end`, with instants.

    Args:
        max_age: a duration such as `2 hours`.
        relative_to: `log` or `clock`.
        reference: the instant in ISO 8601; in pipeline files it comes from the log. None: now.
    """

    max_age: str = pydantic.Field(description="A duration, as 2 hours")
    relative_to: Literal["log", "clock"] = "log"
    reference: str | None = None
    description: str | None = "The newest window is not older than it may be."
    metric_name: ClassVar[str] = "table.windows.newest_end"

    @pydantic.validator("max_age")  # type: ignore[untyped-decorator]
    def _is_a_duration(cls, value: str) -> str:  # noqa: N805 - the decorator makes it a class method
        duration_us(value)
        return value

    @staticmethod
    def measure(frame: pd.DataFrame) -> str | None:
        """Return the end of the newest window in ISO 8601; None: there is no window."""
        newest = frame["window_end"].max()
        return None if pd.isna(newest) else newest.isoformat()

    def judge(self, found: str | None, arguments: dict[str, Any]) -> Judgement:
        """Compare the age of the newest window with `max_age`."""
        most = timedelta(microseconds=duration_us(arguments["max_age"]))
        reference = arguments["reference"]
        if reference == NOTHING_DUE:
            return Judgement(success=True, text="no window has ended yet")
        if found is None:
            return Judgement(success=False, text="no window at all")
        until = datetime.fromisoformat(reference) if reference else datetime.now(UTC)
        age = until - datetime.fromisoformat(found)
        behind = "the log" if arguments["relative_to"] == "log" else "the clock"
        text = f"newest window ends at {found}, {age} behind {behind}; at most {most}"
        return Judgement(success=age <= most, text=text)


@expectation(PLAUSIBLE)
class ExpectEventTimesToBePlausible(FrameExpectation):
    """Expect windows, and the progress of lanes, within 1975 to 2100, or wherever the file allows.

    In another unit than the producer's, all event times lie in January 1970, or far in the future.
    A window is implausible if it ends too early or begins too late; that some lane is at an
    implausible time counts as long as no share is allowed. Needs the columns `window_start` and
    `window_end`, with instants.

    Args:
        max_share: at most this share of the rows, from 0 to 1.
        unit: of the event times on the log: `us`, `ms`, `s` or `iso`.
        first_us, end_us: what is plausible, the end exclusive.
        progress: of the lanes, in microseconds.
    """

    max_share: float = pydantic.Field(0, description="Of the rows", ge=0, le=1)
    unit: str = "us"
    first_us: int = PLAUSIBLE_US[0]
    end_us: int = PLAUSIBLE_US[1]
    progress: dict[str, int] = pydantic.Field({}, description="Of the lanes")
    description: str | None = "Event times are plausible: from 1975 to 2100."
    metric_name: ClassVar[str] = "table.windows.implausible"

    @staticmethod
    def measure(frame: pd.DataFrame, first_us: int, end_us: int) -> dict[str, Any]:
        """Count the rows, those at implausible times, and find the extremes of these."""
        ends = _microseconds(frame["window_end"])
        starts = _microseconds(frame["window_start"])
        early, late = ends[ends <= first_us], starts[starts >= end_us]
        extremes = [
            int(us) for part in (early, late) if len(part) for us in (part.min(), part.max())
        ]
        return {"rows": len(frame), "odd": len(early) + len(late), "extremes_us": extremes}

    def judge(self, found: dict[str, Any], arguments: dict[str, Any]) -> Judgement:
        """Compare the share of rows, look at the lanes, and name the unit that would fit."""
        within = (arguments["first_us"], arguments["end_us"])
        lanes = {k: us for k, us in arguments["progress"].items() if not is_plausible(us, within)}
        text = f"{found['odd']} of {found['rows']} rows lie outside of "
        text += " to ".join(spell_instant(us)[:10] for us in within)
        extremes = [*found["extremes_us"], *lanes.values()]
        if extremes:
            ends = dict.fromkeys((min(extremes), max(extremes)))
            text += f": at {' to '.join(map(spell_instant, ends))}"
        if lanes:
            text += f"; {len(lanes)} lanes are there, as {next(iter(lanes))}"
        if extremes:
            text += f": {_advice(arguments['unit'], extremes)}"
        most = arguments["max_share"]
        fits = found["odd"] <= most * found["rows"] and not (lanes and not most)
        return Judgement(fits, text, found)


def _microseconds(instants: pd.Series[Any]) -> pd.Series[int]:
    numbers: pd.Series[int] = instants.dropna().dt.as_unit("us").astype("int64")
    return numbers


def _advice(unit: str, times_us: list[int]) -> str:
    fits = None
    if unit in SIZES_NS:
        fits = fitting_unit(unit, *(written_in(unit, us) for us in times_us))
    if fits is not None:
        return f"the unit that fits is {fits}: event_time: {{unit: {fits}}}"
    return "look at the producer's clock; say by source.event_time.min and max what is meant"
