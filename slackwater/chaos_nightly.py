"""`slackwater chaos nightly`: everything that takes hours, or parts of it; a page of verdicts."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from slackwater.console import FAILED, PASSED, UNKNOWN, USAGE, complain, say, tell

if TYPE_CHECKING:
    from chaos.nightly.parts import Part
    from chaos.nightly.verdicts import PartVerdict


def register(app: typer.Typer) -> None:
    """Add `nightly` to the commands under `chaos`."""
    app.command()(nightly)


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
    from chaos.reports.report_folder import ReportFolderError, claim

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
    """Run the chosen parts; return an exit code."""
    from chaos.nightly.run import Night, in_turn
    from chaos.nightly.verdicts import keep, oldest, read_verdicts
    from chaos.reports.contents import write_contents
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
