"""The output that `verify` judges, the file to judge by, and the place for the verdict."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from chaos.verdict.verify import Verdict
    from jobs.runs import Run
    from windowing.model import Pipeline


@dataclass(frozen=True)
class Judged:
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
            verdict: the verdict.
            scope: what of the run it is about, if not everything.
        """
        from jobs.runs.verdicts import Judge, keep_verdict

        if self.run is not None:
            last = verdict.lines()[-1]
            sentence = " ".join([f"{last};" if scope else last, *scope])
            keep_verdict(self.run, Judge.verify, passed=verdict.ok, sentence=sentence)


def judged(
    file: Path, table: Path | None, run: str | None, *, is_needed: bool, is_file: bool
) -> Judged:
    """Determine the output to judge.

    Args:
        file: the pipeline file.
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
    from slackwater.chosen import warn
    from windowing.model import load_pipeline

    endpoints = stack.endpoints(only=[], check=False)
    if is_needed:
        found: Run | None = meant(endpoints, file, run)
    elif is_file and run is None:
        found = None
    else:
        found = _of_folder(file, table, run)
    if found is None:
        return Judged(load_pipeline(file), run, None)
    warn(endpoints, found, file)
    return Judged(found.own_pipeline(), found.run, found)


def _of_folder(file: Path, table: Path | None, run: str | None) -> Run | None:
    """Find the run that wrote the tables; None: no run known here."""
    from infra import stack
    from jobs.runs.choice import name_in
    from jobs.runs.folder import every_run
    from jobs.runs.orders import live_run

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
