"""`slackwater chaos init` and `run`: write a plan, break a running system by it, and judge it."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from slackwater.console import (
    FAILED,
    PASSED,
    UNKNOWN,
    USAGE,
    complain,
    err,
    say,
    tell,
)
from slackwater.ending import killed_when_interrupted, when_interrupted
from slackwater.options import PipelineFile

if TYPE_CHECKING:
    from collections.abc import Callable

    from chaos.batch_comparison.run import CutsReport, Emitted
    from chaos.readers.log import LogRecord
    from chaos.run.runner import PreparedPlan, RunReport
    from infra.layout import Layout
    from windowing.model import Pipeline
    from windowing.runtime.local import Output

StackKind = Literal["local", "containers", "yarn"]
"""`chaos.faults.kind.StackKind`, which takes a second to import."""


def run(
    plans: Annotated[
        list[Path], typer.Argument(metavar="PLAN.yml", help="What to break, and when.")
    ],
    seed: Annotated[int, typer.Option(help="Seed for choosing targets and times.")] = 1,
    report: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="For the report; of several plans, for a folder each and a page of contents. "
            "By default beside the stack's state.",
        ),
    ] = None,
    state_dir: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="State folder of the stack that it starts and stops."),
    ] = None,
    stack: Annotated[
        StackKind,
        typer.Option(help="Processes on this machine, containers, or processes of HDFS and YARN."),
    ] = "local",
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Only say what would happen, and about how long it takes."),
    ] = False,
) -> None:
    """Run plans: faults on a stack of its own, or batch comparisons; checks and reports.

    Several plans with faults share the stack, one after another.
    """
    from chaos.reports.pages import write_contents
    from chaos.verdict.check import Outcome, merged
    from infra import state_folder
    from infra.layout import Layout, default_layout

    layout = Layout((state_dir or default_layout().state_dir / "chaos").resolve())
    folders = _folders(plans, report, layout.state_dir / "reports", seed)
    orders, cuts = _read(plans, folders, seed, stack)
    if dry_run:
        _foretell(orders, cuts)
        return
    state_folder.claim(layout)
    _claim(folders)
    left = "containers that are not gone in a second go on: `docker ps` shows them"
    with (
        killed_when_interrupted(layout.state_dir),
        when_interrupted(lambda: tell(left) if stack == "containers" else None),
    ):
        found = _run_all(orders, cuts, seed=seed, layout=layout, stack=stack)
    if len(plans) > 1:
        place = folders[0].parent
        write_contents(place)
        say(f"all reports: {place / 'index.html'}")
    codes = {Outcome.passed: PASSED, Outcome.failed: FAILED}
    raise typer.Exit(codes.get(merged(check for one in found for check in one.checks), UNKNOWN))


def _folders(plans: Sequence[Path], report: Path | None, kept: Path, seed: int) -> list[Path]:
    stems = [plan.stem for plan in plans]
    if twice := sorted({stem for stem in stems if stems.count(stem) > 1}):
        complain(f"two plans are called {twice[0]}.yml, and would share a report: run one alone")
        raise typer.Exit(USAGE)
    if report is None:
        return [kept / f"{stem}-{seed}" for stem in stems]
    return [report] if len(plans) == 1 else [report / stem for stem in stems]


def _claim(folders: Sequence[Path]) -> None:
    """Create the report folders, and check that we may write into them."""
    from chaos.reports.pages import ReportFolderError, claim

    try:
        for folder in [*([folders[0].parent] if len(folders) > 1 else []), *folders]:
            claim(folder)
    except ReportFolderError as error:
        complain(str(error))
        raise typer.Exit(USAGE) from None


def _read(
    plans: Sequence[Path], folders: Sequence[Path], seed: int, stack: StackKind
) -> tuple[list[PreparedPlan], list[tuple[Path, Path]]]:
    from chaos.batch_comparison.plan import load_cuts_plan
    from chaos.plan import kind_of
    from chaos.run.fitting import make_order

    orders: list[PreparedPlan] = []
    cuts: list[tuple[Path, Path]] = []
    for file, folder in zip(plans, folders, strict=True):
        if kind_of(file) == "cuts":
            load_cuts_plan(file)
            cuts.append((file, folder))
        else:
            orders.append(make_order(file, folder, seed=seed, kind=stack, bootstrap=_broker))
    return orders, cuts


def _foretell(orders: Sequence[PreparedPlan], cuts: Sequence[tuple[Path, Path]]) -> None:
    """Print what the plans would do; they have been checked against their pipelines."""
    from chaos.run.fitting import forecast

    for order in orders:
        for line in forecast(order):
            say(line)
    for file, _ in cuts:
        say(f"{file}: one log in two cuts, in this machine's own Spark; no stack, no faults")


def _broker() -> str:
    """Return the broker whose topic a plan copies: the running stack's, or the Kafka settings'."""
    from slackwater.options import broker

    return broker(None)


def _run_all(
    orders: Sequence[PreparedPlan],
    cuts: Sequence[tuple[Path, Path]],
    *,
    seed: int,
    layout: Layout,
    stack: StackKind,
) -> list[RunReport | CutsReport]:
    """Run the plans with faults on one stack, then the batch comparisons, which need none."""
    from chaos.reports.report import write_report
    from chaos.run.runner import run_plans

    def done(order: PreparedPlan, found: RunReport) -> None:
        _tell(found, write_report(found, order.folder))

    found: list[RunReport | CutsReport] = []
    if orders:
        found += run_plans(orders, seed=seed, layout=layout, news=tell, kind=stack, done=done)
    for file, folder in cuts:
        from chaos.batch_comparison.report import write_cuts

        came = run_cuts_plan(file)
        _tell(came, write_cuts(came, folder))
        found.append(came)
    return found


def _tell(found: RunReport | CutsReport, page: Path) -> None:
    for check in found.checks:
        say(f"{check.outcome:<8} {check.name}: {check.detail}")
        for line in check.evidence:
            say(f"         {line}")
    say(f"report: {page}")
    say(f"again: {found.command}")


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
            metavar="PLAN.yml", help="The plan; default: plans/NAME.chaos.yml of the project."
        ),
    ] = None,
) -> None:
    """Write a first plan with the faults that make sense for a pipeline; overwrites nothing."""
    from chaos.run.first_plan import PlanLog, first_plan
    from chaos.workload.records import read_records
    from infra.layout import PLANS_VARIABLE
    from windowing.model import load_pipeline

    spec = load_pipeline(pipeline)
    plans = Path(os.environ.get(PLANS_VARIABLE, "plans"))
    plan = out or plans / f"{spec.name}.chaos.yml"
    if plan.exists():
        complain(f"{plan} is there already, and is not written over: name another file with --out")
        raise typer.Exit(USAGE)
    if out is not None and not plan.parent.is_dir():
        complain(f"--out {plan}: there is no folder {plan.parent}: make it first")
        raise typer.Exit(USAGE)
    with err().status(f"reading {events or spec.source.topic}"):
        if events is not None:
            log = PlanLog(events, sum(1 for _ in read_records(events, spec)))
        else:
            log = PlanLog(records=_records_on_topic(spec) if spec.one_topic else None)
        text = first_plan(spec, pipeline, log, plan.parent)
        _check_plan(text, plan, whole=log.records is not None)
    plan.parent.mkdir(exist_ok=True)
    with plan.open("x", encoding="utf-8") as file:
        file.write(text)
    say(f"{plan}: `slackwater chaos run {plan} --dry-run` says what it would do")


def _records_on_topic(spec: Pipeline) -> int | None:
    """Count them, as far as a plan sends them; None: no broker is running.

    Raises:
        LogError, BrokerError: the topic is not there, or is none of the pipeline's.
    """
    from chaos.workload.kinds import RECORDS_MAX, Workload
    from chaos.workload.origin import read_range
    from infra.errors import InfraError

    try:
        bootstrap = _broker()
    except InfraError as error:
        tell(f"the plan is for a topic of unknown size: {error}")
        return None
    topic = Workload(topic=spec.source.topic, max_offsets=1)
    return sum(1 for _ in islice(read_range(bootstrap, topic, spec), RECORDS_MAX + 1))


def _check_plan(text: str, plan: Path, *, whole: bool) -> None:
    """Check that the plan can be carried out before writing it.

    Args:
        plan: its future file.
        whole: whether to check its records too, which are in a file.
    """
    from chaos.run.fitting import fitting_faults, make_order

    # Where its folder is or will be, because its paths are relative to that folder.
    with ExitStack() as stack:
        if not plan.parent.is_dir():
            plan.parent.mkdir()
            stack.callback(plan.parent.rmdir)
        file = stack.enter_context(
            tempfile.NamedTemporaryFile("w", dir=plan.parent, suffix=".tmp", encoding="utf-8")
        )
        file.write(text)
        file.flush()
        draft = Path(file.name)
        if whole:
            make_order(draft, draft, seed=1, kind="local", bootstrap=_broker)
        else:
            fitting_faults(draft, "local")


def run_cuts_plan(file: Path) -> CutsReport:
    """Run a batch comparison in a local Spark session.

    Raises:
        PipelineError: the plan or its pipeline breaks a rule.
        WindowingError: Spark's `window()` cannot express the pipeline.
    """
    from chaos.batch_comparison.plan import load_cuts_plan, pipeline_of
    from chaos.batch_comparison.run import run_cuts
    from jobs import builtin, file_run
    from windowing.engine.reading.batches import batches

    plan = load_cuts_plan(file)
    pipeline = pipeline_of(plan, file)
    with file_run.own_session(f"slackwater {plan.name}") as spark:

        def on(run: Callable[..., Output], log: Sequence[LogRecord], rows: int) -> Emitted:
            output = run(pipeline, batches(log, rows), spark)
            return output.rows, output.dead_letters

        return run_cuts(
            plan,
            pipeline,
            spark=lambda log, rows: on(builtin.run, log, rows),
            ours=lambda log, rows: on(file_run.run, log, rows),
            command=f"slackwater chaos run {file}",
            news=tell,
        )
