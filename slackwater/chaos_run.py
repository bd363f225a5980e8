"""Commands that break a running system and judge it: `chaos run`, `replay`."""

from __future__ import annotations

import json
import signal
import sys
from pathlib import Path
from typing import Annotated

import typer

from slackwater.console import FAILED, PASSED, UNKNOWN, err, say
from slackwater.files import PipelineFile


def register(app: typer.Typer) -> None:
    """Add `run` to the commands under `chaos`."""
    app.command()(run)


def register_top(app: typer.Typer) -> None:
    """Add `replay` to the commands at the top."""
    app.command()(replay)


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
    # Ended politely, it must not leave a stack behind.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    found = run_plan(wanted, plan, seed=seed, layout=layout, folder=folder, news=_tell)
    page = write_report(found, folder)
    for check in found.checks:
        say(f"{check.outcome:<8} {check.name}: {check.detail}")
        for line in check.evidence:
            say(f"         {line}")
    say(f"report: {page}")
    say(f"again: {found.command}")
    codes = {Outcome.passed: PASSED, Outcome.failed: FAILED}
    raise typer.Exit(codes.get(found.outcome, UNKNOWN))


def _tell(text: str) -> None:
    err.print(text, markup=False, soft_wrap=True)


def replay(
    pipeline: PipelineFile,
    trials: Annotated[int, typer.Option(min=1, help="How often, each time cut differently.")] = 3,
    seed: Annotated[int, typer.Option(help="Draws sizes of batches, numbers of executors.")] = 1,
    from_: Annotated[
        str | None,
        typer.Option("--from", metavar="OFFSETS|TIME", help='As {"0": 100}, or an ISO time.'),
    ] = None,
    to: Annotated[
        str | None,
        typer.Option("--to", metavar="OFFSETS|TIME", help="The first record to be left out."),
    ] = None,
) -> None:
    """Run a range of the topic again on fresh checkpoints, and compare all with the definition."""
    from chaos.replay import all_equal
    from chaos.replay import replay as run_again
    from infra import stack
    from windowing.spec import load_pipeline

    endpoints = stack.endpoints(only=["kafka", "spark"])
    topic = load_pipeline(pipeline).source.topic
    first, end = (_offsets(text, endpoints.kafka_bootstrap, topic) for text in (from_, to))
    results = run_again(pipeline, endpoints, trials, seed=seed, first=first, end=end, news=_tell)
    for result in results:
        say(f"{result.trial}: {result.verdict.lines()[-1]}")
        if not result.ok:
            for line in result.verdict.lines()[:-1]:
                say(f"  {line}")
    equal = all_equal(results)
    say(f"{len(results)} trials, {'the same bytes' if equal else 'different bytes'}")
    raise typer.Exit(PASSED if equal and all(result.ok for result in results) else FAILED)


def _offsets(text: str | None, bootstrap: str, topic: str) -> dict[int, int] | None:
    """Offsets per partition from JSON, or from an append time."""
    from jobs.topics import offsets_at
    from windowing.spec.lengths import instant_us

    if text is None:
        return None
    try:
        if text.lstrip().startswith("{"):
            return {int(lane): int(offset) for lane, offset in json.loads(text).items()}
        return offsets_at(bootstrap, topic, instant_us(text))
    except ValueError as error:
        msg = f'{text!r} is neither offsets, as {{"0": 100}}, nor an ISO time: {error}'
        raise typer.BadParameter(msg) from None
