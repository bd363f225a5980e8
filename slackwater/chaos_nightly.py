"""`slackwater chaos nightly` and `mutants`: what takes hours, with a page of verdicts."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from slackwater.console import FAILED, PASSED, UNKNOWN, USAGE, complain, say, tell

if TYPE_CHECKING:
    from chaos.nightly.parts import Part
    from chaos.nightly.verdicts import PartVerdict

_GOAL = 0.9


def nightly(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[PART]…", help="Parts, or groups of them; default: all."),
    ] = None,
    seed: Annotated[
        int | None, typer.Option(help="Seed for everything random; default: each part draws one.")
    ] = None,
    forever: Annotated[
        bool,
        typer.Option(
            "--forever",
            help="One part after another, what has changed first, then what was shown longest ago.",
        ),
    ] = False,
    minutes: Annotated[
        float | None,
        typer.Option(min=0.01, help="With --forever: when to end; a part that runs is ended too."),
    ] = None,
    verdicts: Annotated[
        Path, typer.Option(metavar="DIR", help="Folder for the page of verdicts.")
    ] = Path("docs") / "nightly",
    work: Annotated[Path, typer.Option(metavar="DIR", help="Folder for logs and reports.")] = Path(
        ".slackwater"
    )
    / "nightly",
    list_: Annotated[bool, typer.Option("--list", help="Only list the parts.")] = False,
    page: Annotated[
        bool, typer.Option("--page", help="Only write the page again: what is outdated by now?")
    ] = False,
) -> None:
    """Run the nightly parts in turn; each reports its verdict and how long it took."""
    from chaos.nightly.parts import all_parts, choose
    from chaos.nightly.verdicts import write_page
    from chaos.reports.pages import ReportFolderError, claim

    parts = all_parts(work)
    try:
        chosen = choose(parts, names or [])
        if minutes is not None and not forever:
            msg = "--minutes says when --forever ends: give both"
            raise ValueError(msg)
        if not list_:
            for folder in (verdicts, work / "reports"):
                claim(folder)
    except (ReportFolderError, ValueError) as error:
        complain(str(error))
        raise typer.Exit(USAGE) from None
    if list_:
        for part in chosen:
            say(part.name)
    elif page:
        write_page(verdicts, parts)
    else:
        until = None if minutes is None else time.monotonic() + 60 * minutes
        raise typer.Exit(_run(parts, chosen, verdicts, work, seed, forever=forever, until=until))


def _run(
    parts: Sequence[Part],
    chosen: Sequence[Part],
    verdicts: Path,
    work: Path,
    seed: int | None,
    *,
    forever: bool,
    until: float | None,
) -> int:
    from chaos.nightly.run import Night, in_turn
    from chaos.nightly.verdicts import keep, oldest, read_verdicts
    from chaos.reports.pages import write_contents
    from chaos.verdict.check import Outcome

    def done(verdict: PartVerdict) -> None:
        keep(verdict, verdicts, parts)
        took = f"{verdict.seconds:>8.1f} s"
        say(f"{verdict.outcome.value:<8} {verdict.part:<28} {took}  {verdict.said}")

    night = Night(work / "logs", done, tell, seed, until)
    if forever:
        found, unable = night.run(lambda no: oldest(chosen, read_verdicts(verdicts), no, until))
    else:
        found, unable = night.run(in_turn(chosen))
    reports = work / "reports"
    write_contents(reports)
    say(f"page: {verdicts / 'README.md'}; reports: {reports / 'index.html'}")
    outcomes = {verdict.outcome for verdict in found}
    if Outcome.failed in outcomes:
        return FAILED
    return UNKNOWN if Outcome.unknown in outcomes or (unable and not forever) else PASSED


def mutants(
    number: Annotated[int, typer.Option(min=1, help="How many to judge.")] = 30,
    minutes: Annotated[
        float | None, typer.Option(min=0.01, help="Begin none after so many minutes.")
    ] = None,
    again: Annotated[
        bool,
        typer.Option("--again", help="Judge survivors without a proof again, by the tests of now."),
    ] = False,
    commit: Annotated[
        str, typer.Option(metavar="REVISION", help="The commit whose engine is changed.")
    ] = "HEAD",
    verdicts: Annotated[
        Path, typer.Option(metavar="DIR", help="Folder for what became of each.")
    ] = Path("docs") / "nightly",
) -> None:
    """Judge mutants of a commit's engine by the tests of their rooms and simulated runs.

    They are drawn by the commit's hash, and applied to a copy of it. What became of each is written
    at once, and the next run goes on from there.
    """
    from chaos.mutants.draw import copy_of
    from chaos.mutants.judge import Bench, Judge
    from chaos.mutants.results import read_judged, score
    from infra.layout import MUTANTS_VENV

    if not MUTANTS_VENV.exists():
        complain("what makes mutants is not installed: run make setup-mutants")
        raise typer.Exit(USAGE)
    asked = ["git", "rev-parse", "--verify", f"{commit}^{{commit}}"]
    found = subprocess.run(asked, capture_output=True, text=True, check=False)
    if found.returncode:
        complain(f"--commit {commit}: {found.stderr.strip()}: name a commit of this repository")
        raise typer.Exit(USAGE)
    commit = found.stdout.strip()
    until = float("inf") if minutes is None else time.monotonic() + 60 * minutes
    with copy_of(commit) as tree:
        bench = Bench(tree, commit, verdicts, tell, Judge(tree))
        for one in bench.run(number, until, again=again):
            place = f"{one.mutant.file}:{one.mutant.line}"
            say(f"{one.fate:<20} {place} {one.mutant.operator}  {one.said}")
    known = read_judged(verdicts)
    say(f"mutants: {score(known)}, of all so far")
    enough = sum(one.killed for one in known) >= _GOAL * len(known)
    raise typer.Exit(PASSED if enough else FAILED)
