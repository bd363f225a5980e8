"""Faults of the checkpoint's files: a commit is lost, a file deleted or corrupted, offsets rewound.

The job stands meanwhile. Afterwards the files are restored.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path
from typing import Final, Literal

from chaos.control.node_control import await_that
from chaos.errors import FaultDidNotApply
from chaos.faults.fault import FaultContext
from chaos.faults.kind import STANDALONE, Suggestion, fault
from chaos.faults.stopped_job import Harm, WhileStopped
from jobs.runs import committed_offsets
from windowing.model import Pipeline
from windowing.model.windows.traits import Ends

What = Literal["delta", "snapshot", "offsets"]

_STATE_MATTERS: Final = "the state holds single records or open sessions: a lost file must be named"
_DONE_AGAIN_S = 600.0


@fault(
    "lose_last_commit",
    stacks=STANDALONE,
    back_s=141,
    least_after=2,
    suggestion=Suggestion(7, "a batch is run again, and no row stands twice"),
)
@dataclass
class LoseLastCommit:
    """Loss of the last batch's commit while the job is stopped.

    The job must rerun that batch from the state before it, and its tables must not take any of its
    rows twice.
    """

    hold_s: float = 0.0
    _lost: Path | None = field(default=None, init=False)

    def inject(self, context: FaultContext) -> str:
        """Stop the job, and delete the newest entry of its commit log."""
        context.stop_job()
        commits = [
            path for path in (context.checkpoint / "commits").glob("*") if path.name.isdigit()
        ]
        if len(commits) < 2:
            msg = f"{len(commits)} batches are committed: with two or more, one can be lost"
            raise FaultDidNotApply(msg)
        lost = max(commits, key=lambda path: int(path.name))
        lost.unlink()
        lost.with_name(f".{lost.name}.crc").unlink(missing_ok=True)
        self._lost = lost
        return f"commits/{lost.name} is deleted"

    def heal(self, context: FaultContext) -> str:
        """Resubmit the job, and wait until the batch is committed a second time.

        Raises:
            FaultDidNotApply: the batch was not rerun.
        """
        context.submit_job()
        lost = self._lost
        if lost is None:
            return "job submitted again"
        if not await_that(lost.exists, _DONE_AGAIN_S):
            msg = f"batch {lost.name} was not run again within {_DONE_AGAIN_S:.0f} s"
            raise FaultDidNotApply(msg)
        return f"batch {lost.name} was run again"


def _keeps_records(pipeline: Pipeline) -> bool:
    """Whether the state holds single records or open sessions, not just sums."""
    keeping = (Ends.DRAWN, Ends.ROWS)
    windows = (flow.window for flow in pipeline.flows)
    return any(window is None or window.traits.ends in keeping for window in windows)


@dataclass
class _DamagedFile(WhileStopped):
    """Damage to the newest file of a kind that a restart needs.

    The job must name the file in its error, or recover its content from elsewhere and lose nothing.

    Attributes:
        what: a delta or a snapshot of the state, or the plan of the last committed batch.
        how: delete the file, or flip the bits of a few bytes in its middle.
    """

    _: KW_ONLY
    what: What
    how: Literal["delete", "corrupt"]
    _backup: Backup | None = field(default=None, init=False)

    def inject(self, context: FaultContext) -> str:
        """Say, too, whether the job stopped."""
        evidence = super().inject(context)
        outcome = "the job stopped" if context.losses[-1].said else "the job went on without it"
        return f"{evidence}; {outcome}"

    def harm(self, context: FaultContext) -> Harm:
        """Damage the file."""
        victim = _victim(self.what, context)
        if self.how == "delete":
            self._backup = Backup([victim, _sum_of(victim)])
            self._backup.delete()
        else:
            self._backup = Backup([victim])
            _flip_bits(victim)
        done = "is deleted" if self.how == "delete" else "is corrupt"
        return Harm((victim.name,), f"{victim.relative_to(context.checkpoint)} {done}")

    def heal(self, context: FaultContext) -> str:
        """Restore the file and resubmit the job, unless it runs."""
        if self._backup is None:
            context.submit_job()
            return "job submitted again"
        if context.job_error() is None:
            self._backup.forget()
            return "nothing to put back: the job runs"
        self._backup.restore()
        context.submit_job()
        return "file put back, job submitted again"


fault(
    "delete_state_delta",
    stacks=STANDALONE,
    back_s=70,
    ends="cure",
    suggestion=Suggestion(5, _STATE_MATTERS, to=_keeps_records),
)(_DamagedFile, what="delta", how="delete")
for _name, _what, _how, _back_s in (
    ("corrupt_state_delta", "delta", "corrupt", 70),
    ("delete_state_snapshot", "snapshot", "delete", 5),
    ("corrupt_state_snapshot", "snapshot", "corrupt", 7),
    ("delete_offsets", "offsets", "delete", 72),
    ("corrupt_offsets", "offsets", "corrupt", 81),
):
    _of_file = fault(_name, back_s=_back_s, ends="cure", stacks=STANDALONE)
    _of_file(_DamagedFile, what=_what, how=_how)


@fault("rewind_offsets", back_s=100, ends="cure", least_after=2, one_topic=True, stacks=STANDALONE)
@dataclass
class RewindOffsets(WhileStopped):
    """Rewind of the last batch's offsets, so that the next batch rereads records."""

    _backup: Backup | None = field(default=None, init=False)

    def harm(self, context: FaultContext) -> Harm:
        """Change the offset log."""
        batches, now = committed_offsets(context.checkpoint)
        if batches < 2:
            msg = f"{batches} batches are committed: with two or more, one can be rewound"
            raise FaultDidNotApply(msg)
        plans = context.checkpoint / "offsets"
        # A batch that is already planned would keep its own start offsets.
        later = [path for path in plans.iterdir() if _number(path) >= batches]
        last = plans / str(batches - 1)
        self._backup = Backup([last, _sum_of(last), *later])
        head, ends = last.read_text(encoding="utf-8").rsplit("\n", 1)
        back = json.loads((plans / str(batches - 2)).read_text(encoding="utf-8").split("\n")[-1])
        topic = context.topic
        moved = sorted(lane for lane in now if back[topic].get(str(lane), 0) < now[lane])
        lane = context.rng.choice(moved)
        changed = json.loads(ends)
        changed[topic][str(lane)] = first = back[topic].get(str(lane), 0)
        self._backup.delete()
        last.write_text(f"{head}\n{json.dumps(changed)}", encoding="utf-8")
        return Harm(
            wanted=(f"{topic}/{lane}", str(first)),
            evidence=f"partition {lane} is set back from {now[lane]} to {first}; the job stopped",
            unnoticed=f"partition {lane} was set back to {first}, and the job said nothing",
        )

    def undo(self, context: FaultContext) -> str:
        """Restore the offset log."""
        if self._backup is not None:
            for path in (context.checkpoint / "offsets").iterdir():
                if _number(path) > self._backup.newest:
                    path.unlink()  # planned from the wrong offsets, and never run
            self._backup.restore()
        return "offset log put back"


class Backup:
    """Backup copies of files, kept beside the originals.

    Args:
        files: what to copy; missing files are skipped.
    """

    def __init__(self, files: Sequence[Path]) -> None:
        self._files = [path for path in files if path.exists()]
        for path in self._files:
            shutil.copy2(path, _aside(path))

    @property
    def newest(self) -> int:
        """The highest batch number among the files."""
        return max(_number(path) for path in self._files)

    def delete(self) -> None:
        """Delete the files, but not the copies."""
        for path in self._files:
            path.unlink()

    def restore(self) -> None:
        """Move the copies back."""
        for path in self._files:
            _aside(path).replace(path)

    def forget(self) -> None:
        """Delete the copies."""
        for path in self._files:
            _aside(path).unlink()


def _victim(what: What, context: FaultContext) -> Path:
    """Choose the file to damage, at random if there are several candidates.

    Raises:
        FaultDidNotApply: there is no such file.
    """
    batches, _ = committed_offsets(context.checkpoint)
    if batches and what == "offsets":
        return context.checkpoint / "offsets" / str(batches - 1)
    # State version = batch + 1; the commit names the attempt whose files count.
    commit = context.checkpoint / "commits" / str(batches - 1)
    named = commit.read_text(encoding="utf-8") if batches else ""
    pattern = f"{batches}_*.changelog" if what == "delta" else "*_*.zip"
    found = [
        path
        for path in (context.checkpoint / "state").glob(f"*/*/{pattern}")
        if what == "snapshot" or path.stem.partition("_")[2] in named
    ]
    if not found:
        msg = f"after {batches} batches the checkpoint has no {what} that could be damaged"
        raise FaultDidNotApply(msg)
    if what == "snapshot":
        chosen = context.rng.choice(sorted({path.parent for path in found}))
        return max((path for path in found if path.parent == chosen), key=_version)
    return context.rng.choice(sorted(found))


def _version(path: Path) -> int:
    return int(path.name.partition("_")[0])


def _sum_of(path: Path) -> Path:
    """Return the path of a file's Hadoop checksum."""
    return path.with_name(f".{path.name}.crc")


def _aside(path: Path) -> Path:
    return path.with_name(f".{path.name}.backup")


def _number(path: Path) -> int:
    """Return the batch number of a file in the offset log; -1 if it belongs to no batch."""
    name = path.name.removeprefix(".").removesuffix(".crc")
    return int(name) if name.isdigit() else -1


def _flip_bits(path: Path) -> None:
    data = bytearray(path.read_bytes())
    middle = len(data) // 2
    for at in range(middle, min(middle + 16, len(data))):
        data[at] ^= 0xFF
    path.write_bytes(data)
