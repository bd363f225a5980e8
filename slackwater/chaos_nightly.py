"""`slackwater chaos nightly`: everything that takes hours, or parts of it; a page of verdicts."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from slackwater.console import FAILED, PASSED, UNKNOWN, USAGE, complain, say, tell

if TYPE_CHECKING:
    from chaos.nightly.verdicts import PartVerdict


def register(app: typer.Typer) -> None:
    """Add `nightly` to the commands under `chaos`."""
    app.command()(nightly)


def nightly(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[PART]…", help="Parts, or groups of them; default: all."),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed for everything random.")] = 1,
    verdicts: Annotated[
        Path, typer.Option(metavar="DIR", help="Folder for the page of verdicts.")
    ] = Path("docs") / "nightly",
    work: Annotated[Path, typer.Option(metavar="DIR", help="Folder for logs and reports.")] = Path(
        ".slackwater"
    )
    / "nightly",
    list_: Annotated[bool, typer.Option("--list", help="Only list the parts.")] = False,
) -> None:
    """Run the nightly parts in turn; each reports its verdict and how long it took."""
    from chaos.nightly.parts import all_parts, choose
    from chaos.nightly.run import run_parts
    from chaos.nightly.verdicts import keep
    from chaos.reports.contents import write_contents
    from chaos.reports.report_folder import ReportFolderError, claim
    from chaos.verdict.check import Outcome

    reports = work / "reports"
    parts = all_parts(seed, reports)
    try:
        chosen = choose(parts, names or [])
    except ValueError as error:
        complain(str(error))
        raise typer.Exit(USAGE) from None
    if list_:
        for part in chosen:
            say(part.name)
        return
    try:
        for folder in (verdicts, reports):
            claim(folder)
    except ReportFolderError as error:
        complain(str(error))
        raise typer.Exit(USAGE) from None
    order = [part.name for part in parts]

    def done(verdict: PartVerdict) -> None:
        keep(verdict, verdicts, order)
        took = f"{verdict.seconds:>8.1f} s"
        say(f"{verdict.outcome.value:<8} {verdict.part:<28} {took}  {verdict.said}")

    found = run_parts(chosen, work / "logs", done, tell)
    write_contents(reports)
    say(f"page: {verdicts / 'README.md'}; reports: {reports / 'index.html'}")
    outcomes = {verdict.outcome for verdict in found}
    if Outcome.failed in outcomes:
        raise typer.Exit(FAILED)
    raise typer.Exit(UNKNOWN if Outcome.unknown in outcomes else PASSED)
