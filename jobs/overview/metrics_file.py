"""The lines that a driver writes per batch into `metrics.jsonl`; the file may be absent."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Final

import msgspec
import numpy as np

from jobs.overview.buckets import Buckets
from windowing.model.lengths import instant_us

FILE: Final = "metrics.jsonl"
"""Its name in the run's folder."""

EARLIER_FILE: Final = "metrics.1.jsonl"
"""Name of the file that has the lines before those."""

READ_MAX: Final = 16 << 20
"""How much of the end of each is read, in bytes; older counts are in the tables."""


class LaneLine(msgspec.Struct):
    """What a line says of a lane, all of it optional."""

    progress: int | str | None = None
    records: int | None = None
    late: int | None = None


class Line(msgspec.Struct):
    """A line; what it says besides is not used here."""

    at: str
    batch_id: int
    batch_ms: float | None = None
    state_rows: int | None = None
    state_bytes: int | None = None
    lanes: dict[str, LaneLine] = {}

    @property
    def at_us(self) -> int:
        """When it was written.

        Raises:
            ValueError: it does not say.
        """
        return round(datetime.fromisoformat(self.at).timestamp() * 1_000_000)


@dataclass(frozen=True)
class BatchMetrics:
    """What the lines say.

    Attributes:
        batches: by number, the line of each batch; of one that was run again, the last.
        is_whole: whether there is a line for every batch of the run.
        problems: what could not be read.
    """

    batches: Mapping[int, Line] = field(default_factory=dict)
    is_whole: bool = False
    problems: tuple[str, ...] = ()

    @property
    def last(self) -> Line | None:
        """The line of the newest batch."""
        return self.batches[max(self.batches)] if self.batches else None

    def times(self) -> Iterator[tuple[int, int]]:
        """Yield batches and when they were written, in microseconds."""
        yield from ((number, line.at_us) for number, line in self.batches.items())

    def batch_ms(self, *shares: float) -> list[float | None]:
        """Return quantiles of the times of batches."""
        known = [line.batch_ms for line in self.batches.values() if line.batch_ms is not None]
        return [round(float(np.quantile(known, share)), 1) if known else None for share in shares]

    def lane(self, name: str) -> tuple[int, int] | None:
        """Return the records and the late ones of a lane, over queries; None: not counted."""
        found = [line.lanes[name] for line in self.batches.values() if name in line.lanes]
        if not found or any(one.late is None or one.records is None for one in found):
            return None
        return sum(one.records or 0 for one in found), sum(one.late or 0 for one in found)

    def progress_us(self, name: str) -> int | None:
        """Return a lane's progress after the newest batch; None: none, or it is unknown."""
        lane = self.last.lanes.get(name) if self.last else None
        if lane is None or lane.progress is None:
            return None
        if isinstance(lane.progress, int):
            return lane.progress
        try:
            return instant_us(lane.progress)
        except ValueError:
            return None  # beyond all calendars

    def history(self) -> Buckets:
        """Return by time: batches with a time, their microseconds, late records over queries."""
        found = Buckets()
        for line in self.batches.values():
            timed = line.batch_ms is not None
            late = sum(one.late or 0 for one in line.lanes.values())
            found.add(line.at_us, [int(timed), round((line.batch_ms or 0) * 1000), late])
        return found

    def state_bytes(self, width_us: int) -> dict[int, int]:
        """Return the last size of the state in each bucket of a width, by its beginning."""
        return {
            line.at_us // width_us * width_us: line.state_bytes
            for _, line in sorted(self.batches.items())
            if line.state_bytes is not None
        }


def measured(run_folder: Path, before: int | None = None) -> BatchMetrics:
    """Read the lines; a last one that is torn is being written, and is left out.

    Args:
        before: the first batch to leave out, too; None: none.
    """
    batches: dict[int, Line] = {}
    bad, whole, problems = 0, True, list[str]()
    for name in (EARLIER_FILE, FILE):
        try:
            text, is_all = _end_of(run_folder / name)
        except FileNotFoundError:
            continue
        except OSError as error:
            problems.append(f"{run_folder / name} cannot be read: {error.strerror}")
            continue
        whole &= is_all
        for one in text.split(b"\n")[:-1]:
            try:
                line = msgspec.json.decode(one, type=Line)
                _ = line.at_us
            except (msgspec.MsgspecError, ValueError):
                bad += 1
                continue
            if before is None or line.batch_id < before:
                batches[line.batch_id] = line
    if bad:
        problem = f"{bad:,} lines are not those of a driver, and were left out"
        problems.append(f"{run_folder / FILE}: {problem}")
    is_whole = whole and not problems and sorted(batches) == list(range(len(batches)))
    return BatchMetrics(batches, is_whole, tuple(problems))


def _end_of(file: Path) -> tuple[bytes, bool]:
    """Return the last lines of a file, and whether these are all."""
    with file.open("rb") as opened:
        size = opened.seek(0, 2)
        opened.seek(max(0, size - READ_MAX))
        text = opened.read()
    if size <= READ_MAX:
        return text, True
    return text[text.find(b"\n") + 1 :], False
