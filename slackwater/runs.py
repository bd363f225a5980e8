"""Commands over runs: runs, start, stop, progress, state."""

from __future__ import annotations

import json
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import typer
from rich.box import SIMPLE
from rich.table import Table
from rich.text import Text

from slackwater import answers
from slackwater.console import FAILED, PASSED, USAGE, complain, err, plain, say, show, tell
from slackwater.options import OptionalRun, PipelineFile, chosen, stack_for, warn, what_is_up

if TYPE_CHECKING:
    from jobs.runs import Progress
    from jobs.runs.overview import Overview
    from jobs.runs.verdicts import Verdict

_COLOURS = {
    "running": "green",
    "finished": "green",
    "failed": "bold red",
    "restarting": "yellow",
    "waiting": "yellow",
}
_ROWS_SHOWN = 10
_EVERY_S = 2.0
_LEAST_US = -(2**63)
_ENDED_US = 2**63 - 1


def runs(
    pipeline: Annotated[
        Path | None,
        typer.Argument(metavar="[PIPELINE.yml]", help="One pipeline; default: all."),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="One JSON object per line, for scripts.")
    ] = False,
) -> None:
    """Show every run: state and reason, which one is live, how far it is, its last verdicts."""
    from jobs.runs.choice import name_in
    from jobs.runs.overview import overview, pipelines_with_runs

    endpoints = what_is_up()
    names = pipelines_with_runs(endpoints) if pipeline is None else [name_in(endpoints, pipeline)]
    found = [one for name in names for one in overview(endpoints, name, pipeline)]
    if as_json:
        for one in found:
            say(json.dumps(one.as_json()))
    elif found:
        _show_runs(found)
    else:
        whose = "no pipeline has a run" if pipeline is None else f"pipeline {names[0]} has no run"
        tell(f"{whose} yet: `slackwater submit FILE --run NAME` begins one")


def start(pipeline: PipelineFile, run: OptionalRun = None) -> None:
    """Resume a run from its checkpoint, with its own copy of the file."""
    from jobs import runs as begun
    from jobs.runs.choice import meant
    from jobs.runs.overview import page_now

    endpoints = stack_for(pipeline, "kafka", "spark")
    found = meant(endpoints, pipeline, run)
    warn(endpoints, found, pipeline)
    begun_again = begun.start(endpoints, found)
    say(json.dumps(answers.submission(begun_again, page_now(endpoints, begun_again))))


def stop(
    pipeline: PipelineFile,
    run: OptionalRun = None,
    every: Annotated[
        bool, typer.Option("--all", help="All of the pipeline's runs that have a job.")
    ] = False,
) -> None:
    """Stop a run's job; its checkpoint stays, and `start` resumes from there."""
    from jobs import runs as begun
    from jobs.runs.choice import meant_or_none, name_in

    endpoints = stack_for(pipeline, "spark")
    name = name_in(endpoints, pipeline)
    if every:
        stopped = begun.stop_all(endpoints, name)
    else:
        found = meant_or_none(endpoints, pipeline, run)
        stopped = [] if found is None else begun.stop_run(endpoints, found)
    say(f"stopped: {', '.join(stopped) or 'nothing was running'}")
    others = begun.living(endpoints, name)
    if others:
        tell(
            f"{', '.join(others)} of pipeline {name} goes on: `--run NAME` or `--all` ends it, too"
        )


def _show_runs(found: list[Overview]) -> None:
    table = Table(box=SIMPLE, pad_edge=False)
    for title in ("pipeline", "run", "state"):
        table.add_column(title)
    for title in ("batches", "behind"):
        table.add_column(title, justify="right")
    for title in ("since", "verify", "quality"):
        table.add_column(title)
    for one in found:
        table.add_row(*_row(one))
    show(table)
    for one in found:
        for sentence in _sentences(one):
            say(f"{one.run.pipeline} {one.run.run}: {sentence}")


def _row(one: Overview) -> list[str | Text]:
    state = one.life.state
    live = Text.assemble(plain(one.run.run), (" (live)" if one.live else "", "bold"))
    restarts = f", died {one.restarts}×" if one.restarts else ""
    return [
        plain(one.run.pipeline),
        live,
        Text(f"{state}{restarts}", _COLOURS.get(state, "")),
        f"{one.batches:,}",
        "?" if one.behind is None else f"{one.behind:,}",
        _ago(one.run.submitted_at),
        _passed(one.last_verify),
        _passed(one.last_quality),
    ]


def _ago(at: datetime) -> str:
    seconds = max(0.0, (datetime.now(UTC) - at).total_seconds())
    for unit, length in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= length:
            return f"{seconds / length:.0f} {unit}"
    return f"{seconds:.0f} s"


def _passed(verdict: Verdict | None) -> Text:
    if verdict is None:
        return Text("-", "dim")
    age = _ago(datetime.fromisoformat(verdict.at))
    return Text(
        f"{'ok' if verdict.passed else 'FAILED'}, {age} ago", "" if verdict.passed else "red"
    )


def _sentences(one: Overview) -> list[str]:
    said = [one.life.why] if one.life.why else []
    for name, verdict in (("verify", one.last_verify), ("quality", one.last_quality)):
        if verdict is not None and not verdict.passed:
            said.append(f"{name}: {verdict.sentence}")
    if one.file_differs:
        said.append(f"the file differs from the run's own copy: {'; '.join(one.file_differs)}")
    return said


def progress(
    pipeline: PipelineFile,
    run: OptionalRun = None,
    ends: Annotated[
        bool, typer.Option("--ends", help="Only print the topic's end per partition.")
    ] = False,
    until: Annotated[
        str | None,
        typer.Option(metavar="JSON", help='Target, as {"0": 100}; default: the topic\'s end.'),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object per line.")] = False,
    follow: Annotated[
        bool,
        typer.Option(
            "--follow",
            help="Show each change, until the target is reached (exit 0) or the run ends before.",
        ),
    ] = False,
) -> None:
    """Show how far a run's committed offsets are from a target, and the run's state."""
    from jobs import runs
    from jobs.brokers.topics import lane_ends
    from jobs.runs.overview import page_now
    from windowing.model import load_pipeline

    target = None if until is None else _offsets(until)
    endpoints = stack_for(pipeline, "kafka", "spark")
    if ends:
        source = load_pipeline(pipeline).source
        target = target or lane_ends(endpoints.kafka_bootstrap, source)
        say(json.dumps({str(lane): end for lane, end in target.items()}))
        return
    of, spec = chosen(endpoints, pipeline, run)

    def look() -> Progress:
        # The reason for a job's failure, even an undeclared partition, is reported below.
        gave_up = runs.failure(of) is not None
        bootstrap = endpoints.kafka_bootstrap
        ends = target or lane_ends(bootstrap, spec.source, declared_only=gave_up)
        return runs.progress(endpoints, of, ends, spec.source)

    shown, found = "", look()
    while True:
        if as_json:
            text = json.dumps(answers.progress(found, spec, page_now(endpoints, of)))
        else:
            about = f"{found.batches} batches, {found.behind} offsets behind"
            why = f"\n{found.why}" if found.why else ""
            text = f"{of.run}: {found.state.upper()}, {about}{why}"
        if text != shown:
            say(text)
            sys.stdout.flush()
        if not follow or found.done or found.error or found.state.ended:
            break
        shown = text
        time.sleep(_EVERY_S)
        found = look()
    if follow and not found.done:
        raise typer.Exit(FAILED)
    raise typer.Exit(FAILED if found.error and not as_json else PASSED)


def _offsets(text: str) -> dict[int, int]:
    """Parse offsets by lane from JSON.

    Raises:
        BadParameter: it is something else.
    """
    try:
        found = msgspec.json.decode(text, type=dict[int, int])
    except (msgspec.MsgspecError, UnicodeError):
        found = {-1: -1}
    if any(lane < 0 or end < 0 for lane, end in found.items()):
        msg = f'--until {text}: give the offset of each partition as JSON, as {{"0": 100}}'
        raise typer.BadParameter(msg)
    return found


def state(
    pipeline: PipelineFile,
    run: OptionalRun = None,
    checkpoint: Annotated[
        Path | None, typer.Option(metavar="DIR", help="A checkpoint, instead of a run.")
    ] = None,
    batch: Annotated[
        int | None, typer.Option(min=0, help="As of the end of this batch; default: the newest.")
    ] = None,
    part: Annotated[
        str | None, typer.Option(help="Only one lane or shard, as in --part 'shard 3'.")
    ] = None,
    shards: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="As this many shards would hold it: whether more of them would spread the keys. "
            "Nothing is changed.",
        ),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="All rows as JSON, one table per line.")
    ] = False,
) -> None:
    """Show the state of lanes and shards of a running or stopped job."""
    from jobs import state as states
    from jobs.file_run import own_session
    from windowing.model import load_pipeline

    if checkpoint is None:
        of, spec = chosen(stack_for(pipeline), pipeline, run)
        where = of.checkpoint
    else:
        where, spec = checkpoint, load_pipeline(pipeline)
    if not states.is_there(where):
        complain(f"{where} holds no committed batch: has the job begun? is it a checkpoint?")
        raise typer.Exit(USAGE)
    with err().status("reading"), own_session("slackwater state") as spark:
        for line in states.read_state(spark, where, spec, batch, shards=shards):
            if part not in (None, line["part"]):
                continue
            text = states.as_json(line)
            if as_json:
                say(text)
            else:
                _show_table(json.loads(text))


def _show_table(line: dict[str, Any]) -> None:
    rows = [row if isinstance(row, dict) else {"": row} for row in line["rows"]]
    title = f"{line['part']}: {line['table']}, {len(rows)} rows"
    if len(rows) > _ROWS_SHOWN:
        title += f", the first {_ROWS_SHOWN} of them"
    table = Table(title=plain(title), title_justify="left", box=SIMPLE)
    for name in rows[0] if rows else ():
        table.add_column(plain(name.removeprefix("=")))
    for row in rows[:_ROWS_SHOWN]:
        table.add_row(*(_cell(value) for value in row.values()))
    show(table)


def _cell(value: object) -> str:
    if value == _LEAST_US:
        return "-∞"
    return "ended" if value == _ENDED_US else plain(str(value))


COMMANDS = (runs, start, stop, progress, state)
