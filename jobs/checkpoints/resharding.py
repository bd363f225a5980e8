"""Another number of shards for a run: a checkpoint that goes on where the old one ends.

The new checkpoint is made beside the old one, whole, and then takes its place; an interruption is
made good by the next call, and until then no job starts. The old checkpoint is kept.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from itertools import chain, count
from pathlib import Path

from jobs.checkpoints.base import Base, read_base, seed_of, write_base
from jobs.checkpoints.plans import read_checkpoint
from jobs.checkpoints.stages import STAGES_FILE, Stages, stages_of
from jobs.file_run import own_session
from jobs.runs import Run
from jobs.runs.folder import NOTE_FILE, read_run, write_note, write_whole
from jobs.runs.owner import Owner
from jobs.state import Divided, divide
from windowing.model import Pipeline
from windowing.model.file.width import with_shards
from windowing.model.run_errors import CheckpointMismatch, SecondDriver
from windowing.places import move_file, remove_folder
from windowing.spark.seed import write_seed

_READY, _CHECKPOINT = "resharded", "checkpoint"


class ReshardError(RuntimeError):
    """A run whose shards cannot be divided now."""

    exit_code = 1


@dataclass(frozen=True)
class Resharded:
    """What became of a run.

    Attributes:
        run: its note from now on.
        before, after: its pipeline.
        batch: its next batch.
        rows, digest: of the state that the shards hold together, equal before and after.
        kept: where the old checkpoint is; None: nothing was changed.
    """

    run: Run
    before: Pipeline
    after: Pipeline
    batch: int
    rows: int
    digest: str
    kept: Path | None


def reshard_run(run: Run, shards: int, *, dry_run: bool = False) -> Resharded:
    """Give a stopped run another number of shards.

    Args:
        run: the run.
        shards: how many it will have.
        dry_run: divide the state and compare it, and change nothing.

    Raises:
        ReshardError: a job of the run is alive, it has no state yet, or has this many already.
        CheckpointMismatch: the state is not that of the run's file, or would not be the same.
        PipelineError: this number of shards is not allowed.
    """
    owner = Owner(run.folder)
    try:
        owner.claim()
    except SecondDriver as error:
        msg = f"run {run.run} has a job that is alive: end it with `slackwater stop`, then reshard"
        raise ReshardError(msg) from error
    try:
        _take_place(run)
        return _reshard(read_run(run.folder), shards, dry_run=dry_run)
    finally:
        owner.release()


def check_whole(checkpoint: Path) -> None:
    """Check that no division of a run's state was interrupted.

    Raises:
        CheckpointMismatch: one was.
    """
    if (checkpoint.parent / _READY).exists():
        msg = (
            f"run {checkpoint.parent.name} is being given another number of shards, and that was "
            "interrupted: run `slackwater reshard` again, which goes on with it"
        )
        raise CheckpointMismatch(msg)


def _reshard(run: Run, shards: int, *, dry_run: bool) -> Resharded:
    before = run.own_pipeline()
    after, checkpoint = with_shards(before, shards), read_checkpoint(run.checkpoint)
    if before.shards == shards:
        msg = f"run {run.run} has {shards} shards already: nothing to do"
        raise ReshardError(msg)
    if checkpoint.committed < 0:
        msg = (
            f"run {run.run} has no committed batch, and so no state: write shards: {shards} into "
            "the file, and submit it as a new run"
        )
        raise ReshardError(msg)
    with own_session("slackwater reshard") as spark:
        divided = divide(spark, run.checkpoint, before, shards)
    batch = checkpoint.committed + 1
    result = Resharded(run, before, after, batch, divided.rows, divided.digest, kept=None)
    if dry_run:
        return result
    earlier = (*read_base(run.checkpoint).fingerprints, before.fingerprint)
    ends = checkpoint.ends[checkpoint.committed]
    base = Base(batch, ends, earlier, after=_free_name(run.checkpoint.parent, batch))
    _prepare(run, divided, base)
    kept = _take_place(run)
    return replace(result, run=read_run(run.folder), kept=kept)


def _prepare(run: Run, divided: Divided, base: Base) -> None:
    """Write all that the run will have, into a folder that gets its name when it is complete."""
    folder = run.checkpoint.with_name(f".{_READY}.new")
    remove_folder(folder)
    checkpoint = folder / _CHECKPOINT
    write_seed(seed_of(checkpoint), divided.stores)
    write_base(checkpoint, base)
    write_whole(
        folder / STAGES_FILE, asdict(Stages(fused=stages_of(run.checkpoint).fused, even=True))
    )
    (folder / run.file.name).write_text(divided.pipeline.text, encoding="utf-8")
    write_note(replace(run, fingerprint=divided.pipeline.fingerprint), folder)
    folder.rename(run.checkpoint.with_name(_READY))


def _take_place(run: Run) -> Path | None:
    """Put what is ready in the place of what the run has; return where the old checkpoint is.

    Every step may have been done by an earlier call. The note comes last.
    """
    home = run.checkpoint.parent
    ready = home / _READY
    if not ready.exists():
        return None
    kept = home / read_base(_new(home)).after
    if not kept.exists():
        run.checkpoint.rename(kept)
    if (ready / _CHECKPOINT).exists():
        (ready / _CHECKPOINT).rename(run.checkpoint)
    for file in sorted(ready.iterdir(), key=lambda path: path.name == NOTE_FILE):
        # Beside the checkpoint is what belongs to it; the notes may be on another file system.
        move_file(file, (home if file.name == STAGES_FILE else run.folder) / file.name)
    ready.rmdir()
    return kept


def _free_name(folder: Path, batch: int) -> str:
    """Return a name for the old checkpoint: a run may be divided twice before the same batch."""
    plain = f"{_CHECKPOINT}.before-{batch}"
    names = chain([plain], (f"{plain}-{number}" for number in count(2)))
    return next(name for name in names if not (folder / name).exists())


def _new(folder: Path) -> Path:
    """Return the new checkpoint, wherever it is by now."""
    ready = folder / _READY / _CHECKPOINT
    return ready if ready.exists() else folder / _CHECKPOINT
