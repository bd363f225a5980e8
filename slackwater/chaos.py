"""Commands of `slackwater chaos`: attack an engine, and check that its results hold."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from slackwater import chaos_nightly, chaos_run
from slackwater.console import FAILED, PASSED, UNKNOWN, USAGE, bar, complain, say

if TYPE_CHECKING:
    from chaos.simulator.platform.parts import EngineParts
    from chaos.simulator.simulate import SimulationReport

chaos = typer.Typer(
    help="Break a pipeline on purpose, and check its results.", no_args_is_help=True
)


@chaos.callback()
def _group() -> None:
    """Break a pipeline on purpose, and check its results."""


@chaos.command()
def simulate(
    runs: Annotated[int, typer.Option(min=1, help="Number of random runs.")] = 1000,
    seed: Annotated[int, typer.Option(help="The same seed gives the same runs.")] = 0,
    pipeline: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="A pipeline file; default: a random one in each run."),
    ] = None,
    replay: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Only repeat a recorded failure."),
    ] = None,
    jobs: Annotated[
        int | None, typer.Option(min=1, help="Processes; default: one per core.")
    ] = None,
    guilty: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Test an engine with this planted defect instead; all: try every one.",
        ),
    ] = None,
    keep: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Folder for failures; default: in the project's state."),
    ] = None,
    record: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="With --guilty: keep there, for each defect, the smallest run that shows it, "
            "unless there is one that does.",
        ),
    ] = None,
    complete: Annotated[
        bool,
        typer.Option(
            "--complete",
            help="Fail, too, if a mechanism of the engine took effect in too few of the runs, or a "
            "planned fault in none.",
        ),
    ] = False,
) -> None:
    """Run lanes and shards through simulated crashes, redeliveries and restarts."""
    from chaos.simulator.case import CaseError

    if complete:
        _refuse_with_complete(pipeline, replay, guilty)
    try:
        if record is not None:
            _record(record, runs, seed, jobs, guilty)
        if guilty == "all" and replay is None:
            _search(runs, seed, jobs)
        if replay is not None:
            report = _replay(replay)
        else:
            report = _simulate(runs, seed, pipeline, jobs, guilty, keep or _kept())
    except CaseError as error:
        complain(str(error))
        raise typer.Exit(USAGE) from None
    _end(report, complete=complete)


@chaos.command()
def contents(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder with a folder per report.")],
) -> None:
    """Write one page that links to all reports in a folder."""
    from chaos.reports.pages import ReportFolderError, write_contents

    try:
        found = write_contents(folder)
    except ReportFolderError as error:
        complain(str(error))
        raise typer.Exit(USAGE) from None
    say(json.dumps({"reports": found, "page": str(folder / "index.html")}))


def _refuse_with_complete(*others: object) -> None:
    if any(others):
        complain("--complete judges random runs of the engine itself: leave out the other option")
        raise typer.Exit(USAGE)


def _end(report: SimulationReport, *, complete: bool) -> NoReturn:
    """Show a report, and exit by it."""
    for line in report.lines():
        say(line)
    if not report.ok or (complete and not report.complete):
        raise typer.Exit(FAILED)
    raise typer.Exit(UNKNOWN if report.without_effect else PASSED)


def _simulate(
    runs: int,
    seed: int,
    pipeline: Path | None,
    jobs: int | None,
    guilty: str | None,
    keep: Path,
) -> SimulationReport:
    # Small frames gain nothing from threads; polars reads this once, when it is imported.
    os.environ.setdefault("POLARS_MAX_THREADS", "1")
    from chaos.simulator.simulate import simulate as run
    from windowing.model import load_pipeline

    text = None if pipeline is None else load_pipeline(pipeline).text
    # A separate process costs more than a few runs.
    jobs = jobs or (len(os.sched_getaffinity(0)) if runs > 20 else 1)
    parts = _parts(guilty or "slackwater")
    with bar(f"simulating, seed {seed}", runs) as progress:
        task = progress.task_ids[0]
        return run(
            runs,
            seed,
            parts=parts,
            pipeline_text=text,
            jobs=jobs,
            on_finished=lambda ended: progress.advance(task, ended),
            keep=keep,
        )


def _kept() -> Path:
    """Return the folder for failures: in the project's state, or in the working directory."""
    from infra.layout import STATE_DIR_VARIABLE

    return Path(os.environ.get(STATE_DIR_VARIABLE) or ".slackwater") / "simulated"


def _search(runs: int, seed: int, jobs: int | None) -> NoReturn:
    os.environ.setdefault("POLARS_MAX_THREADS", "1")
    from chaos.planted_bugs.convictions import search_all

    verdicts = []
    for verdict in search_all(seed, runs, jobs or len(os.sched_getaffinity(0))):
        say(verdict.line)
        verdicts.append(verdict.ok)
    missed = verdicts.count(False)
    say(f"{len(verdicts) - missed} found, {missed} not found")
    raise typer.Exit(FAILED if missed else PASSED)


def _record(folder: Path, runs: int, seed: int, jobs: int | None, guilty: str | None) -> NoReturn:
    """Record a case that convicts a planted bug, or each of them."""
    os.environ.setdefault("POLARS_MAX_THREADS", "1")
    from chaos.planted_bugs import PLANTED_BUGS
    from chaos.planted_bugs.convictions import record_all

    if guilty is None or guilty == "slackwater":
        complain("--record keeps what convicts a planted defect: name it with --guilty, or all")
        raise typer.Exit(USAGE)
    names = [*PLANTED_BUGS] if guilty == "all" else [_parts(guilty).name]
    recordings = []
    with bar(f"recording, seed {seed}", len(names)) as progress:
        for recording in record_all(folder, seed, runs, jobs or _cores(len(names)), names):
            say(recording.line)
            recordings.append(recording.ok)
            progress.advance(progress.task_ids[0])
    missed = recordings.count(False)
    say(f"{len(recordings) - missed} convicted, {missed} not convicted")
    raise typer.Exit(FAILED if missed else PASSED)


def _cores(most: int) -> int:
    return min(most, len(os.sched_getaffinity(0)))


def _replay(file: Path) -> SimulationReport:
    from chaos.simulator.case import read_case
    from chaos.simulator.simulate import replay

    return replay(file, _parts(read_case(file).engine))


def _parts(name: str) -> EngineParts:
    from chaos.planted_bugs import PLANTED_BUGS
    from chaos.simulator.platform.parts import EngineParts

    real = EngineParts()
    if name == real.name:
        return real
    if name not in PLANTED_BUGS:
        complain(f"no engine is called {name!r}; the guilty ones are: {', '.join(PLANTED_BUGS)}")
        raise typer.Exit(USAGE)
    return PLANTED_BUGS[name].parts


def convictions(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="Folder of the recorded cases.")
    ] = Path("tests") / "data" / "convictions",
    write: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="A page to write the table into, too."),
    ] = None,
    jobs: Annotated[
        int | None, typer.Option(min=1, help="Processes; default: one per core.")
    ] = None,
) -> None:
    """Tell which mechanisms of the engine the cases that convict planted bugs come through."""
    os.environ.setdefault("POLARS_MAX_THREADS", "1")
    from chaos.planted_bugs import PLANTED_BUGS
    from chaos.planted_bugs.convictions import reached, table, with_table
    from windowing.files.whole_files import whole_file

    found = []
    with bar("replaying", len(PLANTED_BUGS)) as progress:
        for one in reached(folder, jobs or len(os.sched_getaffinity(0))):
            found.append(one)
            progress.advance(progress.task_ids[0])
    if all(one.mechanisms is None for one in found):
        complain(f"{folder} has no recorded case of a planted bug")
        raise typer.Exit(USAGE)
    lines = table(found)
    for line in lines:
        say(line)
    if write is not None:
        try:
            page = with_table(write.read_text(encoding="utf-8"), lines)
        except (OSError, ValueError) as error:
            complain(f"{write}: {error}")
            raise typer.Exit(USAGE) from None
        with whole_file(write) as file:
            file.write(page.encode())
    raise typer.Exit(FAILED if any(one.mechanisms is None for one in found) else PASSED)


for _command in (
    chaos_run.run,
    chaos_run.init,
    chaos_nightly.nightly,
    convictions,
    chaos_nightly.mutants,
):
    chaos.command()(_command)
