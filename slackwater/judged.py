"""What `verify` judges: a run or a table, the file to judge by, and where its log ends."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from slackwater.console import UNKNOWN, tell
from slackwater.options import what_is_up

if TYPE_CHECKING:
    from chaos.verdict.verify import Verdict
    from jobs.checkpoints.checkpoint import Cut
    from jobs.runs import Run
    from windowing.model import Pipeline


@dataclass(frozen=True)
class JudgedOutput:
    """The run or table whose output is judged.

    Attributes:
        pipeline: the pipeline to judge by.
        name: the run's name, given or found; None: the only run in the tables.
        run: the run, if this machine has its folder.
    """

    pipeline: Pipeline
    name: str | None
    run: Run | None

    @property
    def table(self) -> Path:
        """The folder of the run's tables."""
        assert self.run is not None  # noqa: S101 - asked for where the run was needed
        return self.run.table

    @property
    def first(self) -> Mapping[int, int] | None:
        """Start offsets of the run by lane; None: at the beginning."""
        return None if self.run is None else self.run.options.first

    @property
    def point(self) -> Path | None:
        """The file with the point of the run's last verification; None: there is no run here."""
        return None if self.run is None else self.run.folder / "verified.jsonl"

    def keep(self, verdict: Verdict, *scope: str) -> None:
        """Keep the verdict in the run's folder, if there is one.

        Args:
            scope: what of the run it is about, if not everything.
        """
        from jobs.runs.verdicts import Judge, keep_verdict

        if self.run is not None:
            last = verdict.lines()[-1]
            sentence = " ".join([f"{last};" if scope else last, *scope])
            keep_verdict(self.run, Judge.verify, passed=verdict.ok, sentence=sentence)


def judged(
    file: Path, table: Path | None, run: str | None, *, is_needed: bool, is_file: bool
) -> JudgedOutput:
    """Determine the output to judge.

    Args:
        table: the given folder of tables; None: none was given.
        run: the given name of a run.
        is_needed: whether a run is needed to determine the output.
        is_file: whether the output is a file of `slackwater run`, which has no runs.

    Raises:
        RunError: a run is needed, and there is none.
        PipelineError: the file breaks a rule, and there is no run with its own copy.
    """
    from infra import stack
    from jobs.runs.choice import meant
    from slackwater.options import warn
    from windowing.model import load_pipeline

    endpoints = stack.endpoints(only=[], check=False)
    if is_needed:
        found: Run | None = meant(endpoints, file, run)
    elif is_file and run is None:
        found = None
    else:
        found = _of_folder(file, table, run)
    if found is None:
        return JudgedOutput(load_pipeline(file), run, None)
    warn(endpoints, found, file)
    return JudgedOutput(found.own_pipeline(), found.run, found)


def _of_folder(file: Path, table: Path | None, run: str | None) -> Run | None:
    """Find the run that wrote the tables; None: no run known here."""
    from infra import stack
    from jobs.runs.choice import live_run, name_in
    from jobs.runs.folder import every_run

    endpoints = stack.endpoints(only=[], check=False)
    ours = [
        one
        for one in every_run(endpoints, name_in(endpoints, file))
        if table is None or one.table.resolve() == table.resolve()
    ]
    if run is None and len(ours) > 1:
        live = live_run(endpoints, ours[0].pipeline)
        run = live.run if live is not None else None
    named = [one for one in ours if run in (None, one.run)]
    return named[0] if len(named) == 1 else None


class LogEnd(StrEnum):
    """Where the log ends."""

    end = "end"
    committed = "committed"


def committed(until: LogEnd | None, of: JudgedOutput, *, of_run: bool, is_file: bool) -> Cut | None:
    """Return where the log ends for a run; None: at its end.

    Args:
        until: as given; None: what the run has committed if its job is alive, else the end.
        of: the run or table that is judged.
        of_run: whether it is the run's own output.
        is_file: whether it is a file of `slackwater run`, which has no batches.

    Raises:
        BadParameter: there is no run that has committed it.
        Exit: the run has committed nothing.
    """
    run = None if is_file else of.run
    if until is LogEnd.end or (until is None and not (of_run and run and is_alive(run))):
        return None
    if run is None:
        msg = "--until committed: only runs of this machine have commits: leave it out"
        raise typer.BadParameter(msg)
    return cut_of(run, of.pipeline)


def cut_of(run: Run, pipeline: Pipeline) -> Cut:
    """Take the cut at which a run is judged.

    Raises:
        Exit: the run has committed nothing.
    """
    from jobs.checkpoints.checkpoint import Cut

    cut = Cut.of(run.checkpoint, pipeline.source)
    if not cut.batches:
        tell(f"run {run.run} has not committed a batch yet: there is nothing to judge")
        raise typer.Exit(UNKNOWN)
    return cut


def places(pipeline: Pipeline, offsets: Mapping[int, int]) -> str:
    """Spell an offset in each lane."""
    lane = pipeline.source.lane
    return ", ".join(f"{lane(number)} offset {max(at, 0)}" for number, at in offsets.items())


def is_alive(run: Run) -> bool:
    """Whether the job of a run is there, or will be; also if its master does not say."""
    from infra.errors import InfraError
    from jobs.runs.looking import look_at

    try:
        return not look_at(what_is_up(lambda _: None), run).life.state.ended
    except InfraError:
        return True
