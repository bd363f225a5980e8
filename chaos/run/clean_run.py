"""A clean run beside the faulted one: the same log, no faults, other batches; do states agree?

The rows of both are the definition's or they are not, which other checks say. This one looks behind
them: what lanes and shards keep for rows that are still to come, read with Spark's state reader.
The clean run is one process beside the stack: a cluster adds nothing to it but a minute.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from chaos.run.target import Target
from chaos.verdict.checks import Check, Outcome
from infra.layout import ROOT
from infra.spark import connector_jars

State = Mapping[tuple[str, str], list[Any]]
"""By part (a lane or a shard) and table, the rows."""

_CUTS: Final = 3
_READ_S: Final = 600.0


class StateError(RuntimeError):
    """A clean run without an end, or a state that cannot be read."""

    exit_code = 1


@dataclass(frozen=True)
class Drained:
    """A moment at which a run had taken in all that its log held.

    Attributes:
        batch: its newest committed batch.
        ends: per partition, the next offset.
    """

    batch: int
    ends: Mapping[int, int]


def same_state(job: Target, drained: Drained, bootstrap: str) -> Check:
    """Run the same log again without faults, and compare what both keep at its end.

    Args:
        job: the faulted run; stopped.
        drained: when it had taken in all of a log, before the ends came.
        bootstrap: of the broker, as this process reaches it.
    """
    try:
        states = _read_states(job, drained, bootstrap)
    except StateError as error:
        return Check("state", Outcome.unknown, f"nothing to compare with: {error}")
    return compare_states(states["judged"], states["clean"])


def _read_states(job: Target, drained: Drained, bootstrap: str) -> dict[str, State]:
    """Both states, by a program of its own, since Spark stays out of here.

    Raises:
        StateError: the clean run failed, or a state cannot be read.
    """
    # An interrupted judgement may have left one; it would be gone on with.
    clean = job.folder.parent / "clean"
    shutil.rmtree(clean, ignore_errors=True)
    size = max(1, sum(drained.ends.values()) // _CUTS)
    options = {
        "--checkpoint": str(job.checkpoint),
        "--batch": str(drained.batch),
        "--clean": str(clean),
        "--bootstrap": bootstrap,
        "--ends": json.dumps({str(lane): end for lane, end in drained.ends.items()}),
        "--max-offsets": str(size),
        "--jars": connector_jars(),
    }
    told = subprocess.run(
        [
            *(sys.executable, "-m", "jobs.clean_state", "/dev/stdin"),
            *(word for option in options.items() for word in option),
        ],
        cwd=ROOT,
        input=job.accepted.text,
        capture_output=True,
        text=True,
        check=False,
        timeout=_READ_S,
    )
    lines = [json.loads(line) for line in told.stdout.splitlines() if line.startswith("{")]
    if told.returncode != 0:
        why = lines[-1]["error"] if lines and "error" in lines[-1] else told.stderr.strip()[-400:]
        msg = f"the clean run beside {job.checkpoint} has no state to compare: {why}"
        raise StateError(msg)
    states: dict[str, dict[tuple[str, str], list[Any]]] = {"judged": {}, "clean": {}}
    for line in lines:
        states[line["run"]][line["part"], line["table"]] = line["rows"]
    return {**states}


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
