"""`slackwater chaos run`: break a running system, or cut a log in two ways, and judge it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from slackwater.console import FAILED, PASSED, UNKNOWN, end_politely, say, tell

if TYPE_CHECKING:
    from chaos.cuts.run import CutsReport
    from chaos.runner import Report


def register(app: typer.Typer) -> None:
    """Add `run` to the commands under `chaos`."""
    app.command()(run)


def run(
    plan: Annotated[Path, typer.Argument(metavar="PLAN.yml", help="What to break, and when.")],
    seed: Annotated[int, typer.Option(help="Draws victims and moments.")] = 1,
    report: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="For the report; by default beside the stack's state."),
    ] = None,
    state_dir: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="State of the stack that is started for it, and stopped afterwards."
        ),
    ] = None,
    stack: Annotated[
        Literal["local", "containers"],
        typer.Option(help="Of processes on this machine, or of containers."),
    ] = "local",
) -> None:
    """Run a plan: faults on a stack of its own, or cuts of one log; checks and report."""
    from chaos.checks import Outcome
    from chaos.plan import kind_of
    from infra.layout import Layout, default_layout

    layout = Layout((state_dir or default_layout().state_dir / "chaos").resolve())
    folder = report or layout.state_dir / "reports" / f"{plan.stem}-{seed}"
    folder.mkdir(parents=True, exist_ok=True)
    end_politely()
    found: Report | CutsReport
    if kind_of(plan) == "cuts":
        from chaos.cuts.report import write_cuts
        from slackwater.chaos_cuts import run_cuts_plan

        found = run_cuts_plan(plan)
        page = write_cuts(found, folder)
    else:
        from chaos.plan import load_plan
        from chaos.report import write_report
        from chaos.runner import run_plan

        found = run_plan(
            load_plan(plan),
            plan,
            seed=seed,
            layout=layout,
            folder=folder,
            news=tell,
            kind=stack,
        )
        page = write_report(found, folder)
    for check in found.checks:
        say(f"{check.outcome:<8} {check.name}: {check.detail}")
        for line in check.evidence:
            say(f"         {line}")
    say(f"report: {page}")
    say(f"again: {found.command}")
    codes = {Outcome.passed: PASSED, Outcome.failed: FAILED}
    raise typer.Exit(codes.get(found.outcome, UNKNOWN))
