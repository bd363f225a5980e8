"""What is expected of the accounting of records: none is lost, few are bad, few come too late.

The batch has one row per query, with the columns `query`, `read`, one for each fate
(`windowing.model.fates`), `bad` and `late`; no row at all never holds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Final

import pandas as pd
from great_expectations.compatibility import pydantic

from chaos.quality.block import SHARE_MAX
from chaos.quality.expectation import CONSERVED, FEW_DEAD, FEW_LATE, expectation
from chaos.quality.frame_metric import FrameExpectation, Judgement
from windowing.model.fates import BY_WINDOWS, READ, WARNED, names

_OTHERS: Final = ("query", READ, "bad", "late")
"""The columns of a batch that are no fates."""

*_FIRST, _LAST = names(BY_WINDOWS)
_LISTED: Final = f"{', '.join(_FIRST)} and {_LAST}"


@expectation(CONSERVED)
class ExpectRecordsToBeConserved(FrameExpectation):
    """Expect `read = applied + outside + dropped + dead` in every row of a batch.

    `read` is the count of an independent reader of the log, and must equal the run's own.

    Args:
        read: number of data records that the independent reader saw.
    """

    read: int = pydantic.Field(description="Data records that an independent reader saw", ge=0)
    description: str | None = f"Every record read became exactly one of {_LISTED}."
    metric_name: ClassVar[str] = "table.record_counts"

    @staticmethod
    def measure(frame: pd.DataFrame) -> list[dict[str, Any]]:
        """Return each row's counts."""
        required = ("query", READ, *names(BY_WINDOWS))
        more = (name for name in frame.columns if name not in _OTHERS)
        return _plain(frame, tuple(dict.fromkeys((*required[:2], *more, *required))))

    def judge(self, found: list[dict[str, Any]], arguments: dict[str, Any]) -> Judgement:
        """Compare each row's sum, and its `read`, with the reader's count."""
        read = arguments["read"]
        kept = [row[READ] == read == sum(_fates(row).values()) for row in found]
        text = "; ".join(_sum(row, read) for row in found) or "no counts at all"
        return Judgement(bool(found) and all(kept), text, {"read": read, "counts": found})


class _FewRecords(FrameExpectation):
    """What the two expectations of shares have in common."""

    max_share: float = pydantic.Field(SHARE_MAX, description="Of what was read", ge=0, le=1)
    metric_name: ClassVar[str] = "table.record_shares"

    @staticmethod
    def measure(frame: pd.DataFrame) -> list[dict[str, Any]]:
        """Return each row's records that are in no result."""
        return _plain(frame, ("query", "read", "bad", "late"))


@expectation(FEW_DEAD)
class ExpectDeadRecordsToBeFew(_FewRecords):
    """Expect at most a given share of the records read to be bad.

    Dead letters count as bad unless their reason is lateness.

    Args:
        max_share: of what was read, from 0 to 1.
    """

    description: str | None = "Few of the records read were bad."

    def judge(self, found: list[dict[str, Any]], arguments: dict[str, Any]) -> Judgement:
        """Compare each row's share of bad records."""
        return _few(found, "bad", float(arguments["max_share"]))


@expectation(FEW_LATE)
class ExpectLateRecordsToBeFew(_FewRecords):
    """Expect at most a given share of the records read to be too late to count.

    Records count as late if no result holds them: dropped, or dead letters for lateness, but not if
    they revised a window.

    Args:
        max_share: of what was read, from 0 to 1.
    """

    description: str | None = "Few of the records read came too late to count."

    def judge(self, found: list[dict[str, Any]], arguments: dict[str, Any]) -> Judgement:
        """Compare each row's share of late records."""
        return _few(found, "late", float(arguments["max_share"]))


def _few(rows: list[dict[str, Any]], kind: str, most: float) -> Judgement:
    few = [row[kind] <= most * row["read"] for row in rows]
    lines = [
        f"{row['query']}: {row[kind]} of {row['read']} {kind}"
        + (f", {row[kind] / row['read']:.1%}" if row["read"] else "")
        for row in rows
    ]
    text = f"{'; '.join(lines) or 'no counts at all'}; at most {most:.1%}"
    return Judgement(bool(rows) and all(few), text, {"max_share": most, "counts": rows})


def _plain(frame: pd.DataFrame, columns: Sequence[str]) -> list[dict[str, Any]]:
    parts = [frame[name].tolist() for name in columns]
    return [dict(zip(columns, row, strict=True)) for row in zip(*parts, strict=True)]


def _sum(row: dict[str, Any], read: int) -> str:
    fates = _fates(row)
    text = f"{row['query']}: " + " + ".join(f"{name} {number}" for name, number in fates.items())
    text += f" = {sum(fates.values())}, read {read}"
    return text if row["read"] == read else f"{text}, the run counted {row['read']} read"


def _fates(row: dict[str, Any]) -> dict[str, int]:
    return {
        name: number
        for name, number in row.items()
        if name not in _OTHERS and not name.startswith(WARNED)
    }
