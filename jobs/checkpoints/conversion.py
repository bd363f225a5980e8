"""A changed pipeline for a stopped run: a checkpoint that continues where the old one ends.

It has another number of shards, or other queries. The new checkpoint is made beside the old one,
whole, and then takes its place; an interruption is made good by the next call, and until then no
job starts. The old checkpoint is kept.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import chain, count
from pathlib import Path

from pyspark.sql import SparkSession

from jobs.checkpoints.checkpoint import Base, read_base, seed_of, write_base
from jobs.checkpoints.plans import Checkpoint, read_checkpoint
from jobs.checkpoints.stages import STAGES_FILE, is_fused, note_fused
from jobs.file_run import own_session
from jobs.runs import Run
from jobs.runs.folder import NOTE_FILE, read_run, write_note
from jobs.runs.owner import Owner
from jobs.state import ConvertedState, converted
from jobs.tools.dead_letters import letters_of
from windowing.engine.plan import plan_of
from windowing.files.places import move_file, remove_folder
from windowing.model import Pipeline, PipelineError, load_pipeline, parse_pipeline
from windowing.model.file.versions import added_queries, with_shards
from windowing.model.file.yaml_lines import RUN_LIMITS
from windowing.model.run_errors import CheckpointMismatch, SecondDriver
from windowing.spark.sinks import RunPlace, begin_tables, sink_of
from windowing.spark.sinks.rows import METRICS
from windowing.spark.storage.seed import write_seed

_READY, _CHECKPOINT = "converted", "checkpoint"


class ConversionError(RuntimeError):
    """A run whose state cannot be converted now."""

    exit_code = 1


@dataclass(frozen=True)
class Conversion:
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


def reshard_run(run: Run, shards: int, *, dry_run: bool = False) -> Conversion:
    """Give a stopped run another number of shards.

    Args:
        shards: how many it will have.
        dry_run: divide the state and compare it, and change nothing.

    Raises:
        ConversionError: a job of the run is alive, it has no state yet, or has this many already.
        CheckpointMismatch: the state is not that of the run's file, or would not be the same.
        PipelineError: this number of shards is not allowed.
    """
    with _claimed(run, "reshard"):
        run = read_run(run.folder)
        before = run.own_pipeline()
        after = with_shards(before, shards)
        if before.shards == shards:
            msg = f"run {run.run} has {shards} shards already: nothing to do"
            raise ConversionError(msg)
        checkpoint = read_checkpoint(run.checkpoint)
        if checkpoint.committed < 0:
            msg = (
                f"run {run.run} has no committed batch, and so no state: write shards: {shards} "
                "into the file, and submit it as a new run"
            )
            raise ConversionError(msg)
        return _convert(run, after, checkpoint, dry_run=dry_run)


def add_queries(run: Run, after: Pipeline, *, dry_run: bool = False) -> Conversion | None:
    """Let a stopped run continue with queries in addition to its own.

    Args:
        after: its pipeline with them.
        dry_run: check whether it is possible, and change nothing.

    Returns:
        What became of the run; None: it has the queries, from a call that was interrupted.

    Raises:
        ConversionError: a job of the run is alive, it has no state yet, or its tables are ahead of
            its checkpoint.
        CheckpointMismatch: a window of a query would hold records that were read before.
        TableConflict: existing tables cannot take the queries' rows.
    """
    with _claimed(run, "submit the file again"):
        run = read_run(run.folder)
        before, checkpoint = run.own_pipeline(), read_checkpoint(run.checkpoint)
        if before.fingerprint == after.fingerprint:
            return None
        _check_tables(run, before, checkpoint)
        _check_refused(run, before, after)
        if not dry_run:
            place = RunPlace(after, run.run, run.table, is_live=lambda: False)
            begin_tables(place, checkpoint.committed, added_queries(before, after))
        return _convert(run, after, checkpoint, dry_run=dry_run)


def change_file(run: Run, after: Pipeline) -> None:
    """Let a stopped run continue with a file that believes other control records.

    Args:
        after: its pipeline with another rule, or with names that it forgets.

    Raises:
        ConversionError: a job of the run is alive, or its tables are ahead of its checkpoint.
        CheckpointMismatch: it has refused control records by the rule that it has.
    """
    with _claimed(run, "do this again"):
        run = read_run(run.folder)
        before, checkpoint = run.own_pipeline(), read_checkpoint(run.checkpoint)
        if before.fingerprint == after.fingerprint:
            return
        if checkpoint.committed < 0 and not read_base(run.checkpoint).batch:
            _replace_file(run, after)
            return
        _check_refused(run, before, after)
        _check_tables(run, before, checkpoint)
        _convert(run, after, checkpoint, dry_run=False)


def change_queries(spark: SparkSession, run: Run, after: Pipeline) -> None:
    """Let a run continue with queries that its log has changed; for the driver that owns it.

    Args:
        run: the run, whose next batch has the change and is not written yet.
        after: its pipeline with the change.

    Raises:
        CheckpointMismatch: the state is not that of the run's file.
        TableConflict: existing tables cannot take the rows of a query.
    """
    before, checkpoint = run.own_pipeline(), read_checkpoint(run.checkpoint)
    # All that can fail comes before the run's own file is touched: that is read at each start.
    plan_of(after)
    _check_rereads(after)
    if checkpoint.committed < 0 and not read_base(run.checkpoint).batch:
        # There is no state yet: the first batch is run with the other file.
        _replace_file(run, after)
        return
    place = RunPlace(after, run.run, run.table, is_live=lambda: False)
    begin_tables(place, checkpoint.committed, added_queries(before, after))
    state = converted(spark, run.checkpoint, before, after)
    _make(run, before, state, checkpoint)


def _check_rereads(after: Pipeline) -> None:
    """Check that a pipeline can be read from its own text, as every later start does.

    Raises:
        CheckpointMismatch: it cannot.
    """
    try:
        same = parse_pipeline(after.text).fingerprint == after.fingerprint
    except PipelineError as error:
        same, why = False, f": {error}"
    else:
        why = ""
    if not same:
        msg = (
            f"the log's change of pipeline {after.name} cannot be kept in the run's own file{why}; "
            "nothing was changed: `slackwater queries forget` lets the run go on without it"
        )
        raise CheckpointMismatch(msg)


def _replace_file(run: Run, after: Pipeline) -> None:
    """Replace the run's copy of the file; the note, which names the fingerprint, comes last."""
    written = run.file.with_name(f".{run.file.name}.new")
    written.write_text(after.text, encoding="utf-8")
    written.replace(run.file)
    write_note(replace(run, fingerprint=after.fingerprint))


def resume_conversion(run: Run) -> None:
    """Finish a change of the queries by the log that was interrupted; for the driver of the run."""
    ready = run.checkpoint.with_name(_READY)
    copy = ready / run.file.name
    written = copy if copy.exists() else run.file
    if ready.exists() and load_pipeline(written, RUN_LIMITS).log_places:
        _take_place(run)
        sys.stderr.write(f"run {run.run}: a change of the queries that was interrupted is done\n")


def check_whole(checkpoint: Path) -> None:
    """Check that no conversion of a run's state was interrupted.

    Raises:
        CheckpointMismatch: one was.
    """
    if (checkpoint.parent / _READY).exists():
        msg = (
            f"the state of run {checkpoint.parent.name} is being converted, and that was "
            "interrupted: repeat the command (`slackwater reshard`, or `slackwater submit`), which "
            "goes on with it"
        )
        raise CheckpointMismatch(msg)


def _check_tables(run: Run, before: Pipeline, checkpoint: Checkpoint) -> None:
    """Refuse a run without batches, or with one that its checkpoint does not know yet.

    What such a batch counted is counted once, without the added queries.
    """
    done = checkpoint.committed
    if done < 0:
        msg = f"run {run.run} has no committed batch, and so no state: submit the file as a new run"
        raise ConversionError(msg)
    metrics = sink_of(before).kept(before, run.table, run.run, done).tables.get(METRICS)
    if metrics is not None and metrics.batch is not None and metrics.batch > done:
        msg = (
            f"the tables of run {run.run} have batch {metrics.batch}, of which its checkpoint does "
            f"not know yet that it is done: `slackwater start {run.file} --run {run.run}`, stop it "
            "after its next batch, and submit the file again"
        )
        raise ConversionError(msg)


def _check_refused(run: Run, before: Pipeline, after: Pipeline) -> None:
    """Refuse another rule for control records for a run that has refused some by its own.

    Whether they would be believed now, nobody knows without reading the log again.
    """
    if before.source.control == after.source.control:
        return
    reasons = {"not_allowed"}
    if not after.source.control.believes_as_much(before.source.control):
        reasons |= {"change_too_late", "malformed"}
    found = letters_of(before, run.table, run.run)
    if found is None:
        msg = (
            f"run {run.run} writes to a sink of a plug-in ({before.destination.kind}), whose dead "
            "letters cannot be read here: whether it has refused control records is not known; "
            "submit the file as a new run"
        )
        raise CheckpointMismatch(msg)
    if letters := [one for one in found[0] if one.reason in reasons]:
        first = letters[0]
        msg = (
            f"run {run.run} has refused {len(letters)} records by its rule for control records, "
            f"the first at {first.source}/{first.partition} offset {first.offset} ({first.reason}):"
            " with another rule its results would be others; submit the file as a new run"
        )
        raise CheckpointMismatch(msg)


@contextmanager
def _claimed(run: Run, then: str) -> Iterator[None]:
    """Hold a run, without a conversion that was interrupted, so that no job of it begins."""
    owner = Owner(run.folder)
    try:
        owner.claim()
    except SecondDriver as error:
        msg = f"run {run.run} has a job that is alive: end it with `slackwater stop`, then {then}"
        raise ConversionError(msg) from error
    try:
        _take_place(run)
        yield
    finally:
        owner.release()


def _convert(run: Run, after: Pipeline, checkpoint: Checkpoint, *, dry_run: bool) -> Conversion:
    before = run.own_pipeline()
    with own_session("slackwater conversion") as spark:
        state = converted(spark, run.checkpoint, before, after)
    batch = checkpoint.committed + 1
    result = Conversion(run, before, after, batch, state.rows, state.digest, kept=None)
    if dry_run:
        return result
    kept = _make(run, before, state, checkpoint)
    return replace(result, run=read_run(run.folder), kept=kept)


def _make(run: Run, before: Pipeline, state: ConvertedState, checkpoint: Checkpoint) -> Path | None:
    """Make the new checkpoint, and put it in the place of the old one; return where that is."""
    batch = checkpoint.committed + 1
    earlier = (*read_base(run.checkpoint).fingerprints, before.fingerprint)
    ends = checkpoint.ends[checkpoint.committed]
    base = Base(batch, ends, earlier, after=_free_name(run.checkpoint.parent, batch))
    _prepare(run, state, base)
    return _take_place(run)


def _prepare(run: Run, state: ConvertedState, base: Base) -> None:
    folder = run.checkpoint.with_name(f".{_READY}.new")
    remove_folder(folder)
    checkpoint = folder / _CHECKPOINT
    write_seed(seed_of(checkpoint), state.stores)
    write_base(checkpoint, base)
    note_fused(checkpoint, fused=is_fused(run.checkpoint))
    (folder / run.file.name).write_text(state.pipeline.text, encoding="utf-8")
    write_note(replace(run, fingerprint=state.pipeline.fingerprint), folder)
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
    """Return a name for the old checkpoint: a run may be converted twice before the same batch."""
    plain = f"{_CHECKPOINT}.before-{batch}"
    names = chain([plain], (f"{plain}-{number}" for number in count(2)))
    return next(name for name in names if not (folder / name).exists())


def _new(folder: Path) -> Path:
    ready = folder / _READY / _CHECKPOINT
    return ready if ready.exists() else folder / _CHECKPOINT
