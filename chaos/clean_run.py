"""A clean run beside the faulted one: the same log, no faults, other batches; do states agree?

The rows of both are the definition's or they are not, which other checks say. This one looks behind
them: what lanes and shards keep for rows that are still to come, read with Spark's state reader.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from chaos.checks import Check, Outcome
from chaos.replay.run import Range, ReplayError, run_trial
from chaos.replay.trials import Trial
from chaos.target import Target
from infra.layout import ROOT

State = Mapping[tuple[str, str], list[Any]]
"""By part (a lane or a shard) and table, the rows."""

_CUTS: Final = 5
_READ_S: Final = 600.0


class StateError(RuntimeError):
    """A state that cannot be read."""


@dataclass(frozen=True)
class Drained:
    """A moment at which a run had taken in all that its log held.

    Attributes:
        batch: its newest committed batch.
        ends: per partition, the next offset.
    """

    batch: int
    ends: Mapping[int, int]


def same_state(job: Target, drained: Drained) -> Check:
    """Run the same log again without faults, and compare what both keep at its end.

    Args:
        job: the faulted run; stopped.
        drained: when it had taken in all of a log, before the ends came.
    """
    offsets = sum(drained.ends.values())
    trial = Trial(1, max(1, offsets // _CUTS), cores=2, executor_cores=1, shards=0, tasks=2)
    ranged = Range(dict.fromkeys(drained.ends, 0), drained.ends, [])
    try:
        run_trial(job.endpoints, job.pipeline, job.file, trial, ranged)
        found = read_state(job.pipeline.text, job.checkpoint, drained.batch)
        wanted = read_state(job.pipeline.text, _checkpoint_of(job, trial))
    except (ReplayError, StateError) as error:
        return Check("state", Outcome.unknown, f"nothing to compare with: {error}")
    return compare_states(found, wanted)


def _checkpoint_of(job: Target, trial: Trial) -> Path:
    return job.folder.parent / f"trial-{trial.number}" / "checkpoint"


def read_state(text: str, checkpoint: Path, batch: int | None = None) -> State:
    """What lanes and shards keep, by a program of its own, since Spark stays out of here.

    Args:
        text: the pipeline file.
        checkpoint: of a run of it.
        batch: as of the end of which batch; None: the newest.

    Raises:
        StateError: it cannot be read.
    """
    command = [sys.executable, "-m", "jobs.state", "/dev/stdin", "--checkpoint", str(checkpoint)]
    if batch is not None:
        command += ["--batch", str(batch)]
    told = subprocess.run(
        command,
        cwd=ROOT,
        input=text,
        capture_output=True,
        text=True,
        check=False,
        timeout=_READ_S,
    )
    lines = [json.loads(line) for line in told.stdout.splitlines() if line.startswith("{")]
    if told.returncode != 0:
        why = lines[-1]["error"] if lines and "error" in lines[-1] else told.stderr.strip()[-400:]
        msg = f"the state in {checkpoint} cannot be read: {why}"
        raise StateError(msg)
    return {(line["part"], line["table"]): line["rows"] for line in lines}


def compare_states(found: State, wanted: State) -> Check:
    """Every table of every lane and shard is the same in both.

    Args:
        found: of the run that is judged.
        wanted: of the clean one.
    """
    rows = sum(len(table) for table in wanted.values())
    if rows == 0:
        return Check("state", Outcome.unknown, "the clean run keeps nothing: nothing shown")
    wrong = [place for place in sorted({*found, *wanted}) if found.get(place) != wanted.get(place)]
    parts = len({part for part, _ in wanted})
    detail = f"{rows} rows of state in {parts} lanes and shards, {len(wrong)} tables differ"
    outcome = Outcome.failed if wrong else Outcome.passed
    return Check("state", outcome, detail, tuple(_shown(found, wanted, wrong[0])) if wrong else ())


def _shown(found: State, wanted: State, place: tuple[str, str]) -> list[str]:
    """The first differing row of a table in both states."""
    left, right = found.get(place, []), wanted.get(place, [])
    longest = max(len(left), len(right))
    at = next(n for n in range(longest) if left[n : n + 1] != right[n : n + 1])
    return [
        f"{place[0]}, table {place[1]}: {len(left)} rows, clean {len(right)}, first in row {at}",
        f"  faulted: {json.dumps(left[at : at + 1])}",
        f"  clean:   {json.dumps(right[at : at + 1])}",
    ]
