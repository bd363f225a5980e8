"""Follow a job's committed batches, from the files of its checkpoint alone."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from chaos.history import History
from jobs.checkpoints.checkpoint import read_base
from windowing.files.places import is_remote

_POLL_S: Final = 0.1
_ASK_S: Final = 2.0


class JobFailed(RuntimeError):
    """The job failed or was given up; it will commit no more batches."""

    exit_code = 1


@dataclass
class CommitWatcher:
    """Follows the batches of a checkpoint, and records them in the history.

    Attributes:
        began_s: start of the run, in seconds since 1970; times in the history count from it.
        job_error: returns why the job gave up; None while it has not.
        offsets: number of offsets in them, over all partitions.
    """

    checkpoint: Path
    history: History
    began_s: float
    job_error: Callable[[], str | None]
    batches: int = 0
    offsets: int = 0
    _seen: dict[Path, int] = field(default_factory=dict)
    _begun_s: dict[int, float] = field(default_factory=dict)
    _committed_s: dict[int, float] = field(default_factory=dict)
    _base: int = 0

    def now(self) -> float:
        """Seconds since the run began."""
        return time.time() - self.began_s

    def look(self) -> None:
        """Record what is new in the checkpoint.

        A job that continues with other queries has another checkpoint, which begins with batch 0.
        """
        first = self._first()
        for number, at_s in self._new("offsets"):
            self._begun_s[first + number] = at_s
            self.history.note(at_s, "begun", batch=first + number)
        for number, at_s in self._new("commits"):
            try:
                offsets = total_offsets(self.checkpoint, number)
            except FileNotFoundError:  # another checkpoint has just taken its place
                continue
            batch = first + number
            self._committed_s[batch] = at_s
            self.batches, self.offsets = max(self.batches, batch + 1), max(self.offsets, offsets)
            self.history.note(at_s, "commit", batch=batch, offsets=offsets)

    def fresh_batch(self, since_s: float) -> tuple[int, float] | None:
        """Return number and commit time of the first batch begun and committed since a moment."""
        for batch, at_s in sorted(self._committed_s.items()):
            if self._begun_s.get(batch, 0.0) >= since_s and at_s >= since_s:
                return batch, at_s
        return None

    def until(self, condition: Callable[[], bool], bound_s: float) -> bool:
        """Poll until a condition holds; return whether it does within `bound_s` seconds.

        Raises:
            JobFailed: the job gave up first.
        """
        deadline_s, asked_s = time.monotonic() + bound_s, time.monotonic()
        while True:
            self.look()
            if condition():
                return True
            now_s = time.monotonic()
            if now_s > deadline_s:
                return False
            if now_s - asked_s > _ASK_S:
                asked_s = now_s
                if (why := self.job_error()) is not None:
                    raise JobFailed(why)
            time.sleep(_POLL_S)

    def pause(self, seconds: float) -> None:
        """Wait, while still following the checkpoint."""
        until_s = time.monotonic() + seconds
        while (left_s := until_s - time.monotonic()) > 0:
            self.look()
            time.sleep(min(_POLL_S, left_s))

    def _first(self) -> int:
        try:
            self._base = read_base(self.checkpoint).batch
        except OSError:
            if not is_remote(self.checkpoint):
                raise
        return self._base

    def _new(self, folder: str) -> list[tuple[int, float]]:
        """Return the new and rewritten files of a log of the checkpoint, with times, in order."""
        found = []
        for path in self._visible(folder):
            try:
                written_ns = path.stat().st_mtime_ns
            except OSError:  # deleted in the meantime, or the file system was
                continue
            if self._seen.get(path) != written_ns:
                self._seen[path] = written_ns
                found.append((int(path.name), written_ns / 1e9 - self.began_s))
        return sorted(found)

    def _visible(self, folder: str) -> list[Path]:
        """Return the files of a log of the checkpoint; none while HDFS is a fault's victim."""
        try:
            # What is still being written has another name.
            return [p for p in (self.checkpoint / folder).glob("[0-9]*") if p.name.isdigit()]
        except OSError:
            if is_remote(self.checkpoint):
                return []
            raise


def total_offsets(checkpoint: Path, batch: int) -> int:
    """Return the number of offsets up to the end of a batch, over all partitions."""
    lines = (checkpoint / "offsets" / str(batch)).read_text(encoding="utf-8").splitlines()
    by_topic = json.loads(lines[-1])
    return sum(int(end) for lanes in by_topic.values() for end in lanes.values())
