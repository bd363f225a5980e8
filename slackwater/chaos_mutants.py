"""`slackwater chaos mutants`: change the engine, one place at a time; what does not notice?"""

from __future__ import annotations

import subprocess
import time
from pathlib import Path
from typing import Annotated

import typer

from slackwater.console import FAILED, PASSED, USAGE, complain, say, tell

_GOAL = 0.9


def register(app: typer.Typer) -> None:
    """Add `mutants` to the commands under `chaos`."""
    app.command()(mutants)


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
    from chaos.mutants.judge import Judge
    from chaos.mutants.results import read_judged, score
    from chaos.mutants.run import Bench
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
