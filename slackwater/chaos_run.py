"""Commands that break a running system and judge it: `chaos run`, `replay`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from slackwater.console import FAILED, PASSED, UNKNOWN, err, say


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
) -> None:
    """Run a plan on a stack of its own: workload, faults, checks, report."""
    from chaos.checks import Outcome
    from chaos.plan import load_plan
    from chaos.report import write_report
    from chaos.runner import run_plan
    from infra.layout import Layout, default_layout

    wanted = load_plan(plan)
    layout = Layout((state_dir or default_layout().state_dir / "chaos").resolve())
    folder = report or layout.state_dir / "reports" / f"{wanted.name}-{seed}"
    folder.mkdir(parents=True, exist_ok=True)
    found = run_plan(wanted, plan, seed=seed, layout=layout, folder=folder, news=_tell)
    page = write_report(found, folder)
    for check in found.checks:
        say(f"{check.outcome:<8} {check.name}: {check.detail}")
        for line in check.evidence:
            say(f"         {line}")
    say(f"report: {page}")
    say(f"again: {found.command}")
    codes = {Outcome.passed: PASSED, Outcome.failed: FAILED, Outcome.unknown: UNKNOWN}
    raise typer.Exit(codes[found.outcome])


def _tell(text: str) -> None:
    err.print(text, markup=False, soft_wrap=True)
