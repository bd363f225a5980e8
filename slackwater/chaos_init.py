"""`slackwater chaos init`: a first plan for a pipeline, to read, edit and run."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Annotated

import typer

from slackwater.console import USAGE, complain, err, say
from slackwater.files import PipelineFile


def register(app: typer.Typer) -> None:
    """Add `init` to the commands under `chaos`."""
    app.command()(init)


def init(
    pipeline: PipelineFile,
    events: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Records: EVENTS.jsonl, or one value per line; default: the pipeline's topic.",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="PLAN.yml", help="The plan; default: NAME.chaos.yml in the working directory."
        ),
    ] = None,
) -> None:
    """Write a first plan with the faults that make sense for a pipeline; overwrites nothing."""
    from chaos.run.first_plan import PlanLog, first_plan
    from chaos.workload.records import read_records
    from windowing.model import load_pipeline

    spec = load_pipeline(pipeline)
    plan = out or Path(f"{spec.name}.chaos.yml")
    if plan.exists():
        complain(f"{plan} is there already, and is not written over: name another file with --out")
        raise typer.Exit(USAGE)
    if not plan.parent.is_dir():
        complain(f"--out {plan}: there is no folder {plan.parent}: make it first")
        raise typer.Exit(USAGE)
    log = PlanLog()
    if events is not None:
        with err.status(f"reading {events}"):
            log = PlanLog(events, sum(1 for _ in read_records(events, spec)))
    text = first_plan(spec, pipeline, log, plan.parent)
    _check(text, plan, whole=events is not None)
    with plan.open("x", encoding="utf-8") as file:
        file.write(text)
    say(f"{plan}: `slackwater chaos run {plan} --dry-run` says what it would do")


def _check(text: str, plan: Path, *, whole: bool) -> None:
    """Check that the plan can be carried out before writing it.

    Args:
        text: the plan.
        plan: its future file.
        whole: whether to check its records too, which are in a file.
    """
    from chaos.run.fitting import fitting_faults, make_order

    # In its folder, because its paths are relative to that folder.
    with tempfile.NamedTemporaryFile("w", dir=plan.parent, suffix=".tmp", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        draft = Path(file.name)
        if whole:
            make_order(draft, draft, seed=1, kind="local", bootstrap=str)
        else:
            fitting_faults(draft, "local")
