"""`slackwater verify`: an output, or what came to it since a point, against the definition."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Final

import typer

from slackwater.console import FAILED, PASSED, USAGE, bar, complain, say, tell
from slackwater.judged import JudgedOutput, LogEnd, committed, cut_of, judged, places
from slackwater.noted import LogNotes, tell_of_verdict
from slackwater.options import As, End, Engine, PipelineFile, Topic, broker, check_of_file

if TYPE_CHECKING:
    from chaos.readers.log import LogRecord
    from chaos.readers.output import Output
    from chaos.verdict.in_parts import Means
    from chaos.verdict.point import Point
    from chaos.verdict.verify import Verdict
    from infra.endpoints import Endpoints
    from jobs.checkpoints.checkpoint import Cut
    from jobs.runs import Run
    from windowing.model.source import Source

Memory = Annotated[
    str, typer.Option(metavar="SIZE", help="Memory to use, approximately; beyond it, the disk.")
]
LogFile = Annotated[
    Path | None, typer.Option("--input", metavar="FILE", help="Read the log from EVENTS.jsonl.")
]
RunName = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="The run; default: the live one, or a table's only one."),
]
Bootstrap = Annotated[
    str | None, typer.Option(help="Broker for --topic; default: the local stack's.")
]
Since = Annotated[
    str | None,
    typer.Option(
        metavar="OFFSETS|TIME|last|unverified",
        help='Judge only the rows after it: {"0": 100}, an ISO time, the last verification; '
        "unverified: after the last one, or all if there is none.",
    ),
]
Where = Annotated[
    LogEnd | None,
    typer.Option(
        help="Judge a run by the whole log, or by what it has committed; default: committed if its "
        "job is alive.",
        show_default=False,
    ),
]
Master = Annotated[str, typer.Option(metavar="URL", help="Spark's master, for --engine spark.")]
Jobs = Annotated[
    int | None, typer.Option(min=1, help="Number of processes; default: one per core.")
]
Evaluating = Annotated[
    Engine, typer.Option(help="Evaluate the parts of the log by processes here, or on Spark.")
]
_UNITS = {"KB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30, "TB": 1 << 40}

LAST: Final = "last"
"""The value of `--since` for what has come since the last verification."""

UNVERIFIED: Final = "unverified"
"""The value for the same, or for everything, if no verification has passed yet."""


def verify(
    pipeline: PipelineFile,
    table: Annotated[
        Path | None, typer.Option(metavar="DIR", help="The pipeline's table folder.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option(metavar="FILE", help="OUT.jsonl as `run` writes it.")
    ] = None,
    postgres: Annotated[
        bool, typer.Option("--postgres", help="The pipeline's PostgreSQL tables; PGHOST, ….")
    ] = False,
    topic: Topic = False,
    input_: LogFile = None,
    run: RunName = None,
    bootstrap: Bootstrap = None,
    since: Since = None,
    until: Where = None,
    engine: Evaluating = Engine.local,
    master: Master = "local[2]",
    memory: Memory = "2GB",
    jobs: Jobs = None,
    as_: As = None,
    end: End = False,
) -> None:
    """Compare an output with the definition, row by row, and account for every record.

    Without an output and a log, takes those of the pipeline's live run, or of `--run NAME`. A
    run's output is judged by the run's own copy of the file.

    A log of any length is judged in bounded memory, with few exceptions: docs/verify.md.

    `--since last` judges only what has come since a run's last verification that passed. While a
    run's job goes on, it is judged by the part of the log that it has committed.
    """
    from chaos.verdict.in_parts import Means

    outputs = [table is not None, output is not None, postgres].count(True)
    _check_choice(outputs, [topic, input_ is not None].count(True))
    check_of_file(input_, as_, end=end)
    means = Means(_bytes(memory), jobs or len(os.sched_getaffinity(0)))
    of = judged(pipeline, table, run, is_needed=not outputs, is_file=output is not None)
    if of.first:
        say(f"run {of.name} was begun at {places(of.pipeline, of.first)}: so is the log here")
    since = named_since(since, of)
    at = committed(
        until, of, of_run=not outputs, is_file=output is not None
    )  # before the tables, which have at least that
    if at is not None:
        say(f"run {of.name} is judged {at}: {places(of.pipeline, at.ends)}")
    of_run = not (output or input_)
    log = Log(of.pipeline.source, input_, bootstrap, of.first, _ends(at), ended=end, rows_of=as_)
    with _evaluating(engine, master, means) as means:
        read = partial(_output, table=table, file=output, at=at, postgres=postgres)
        verdict = _judge(of, log, read, means, since, keeps=of_run)
    for line in verdict.lines():
        say(line)
    _tell_why(of, log, verdict, read)
    if of_run:
        of.keep(verdict, *([f"since {since}"] if since else []), *([str(at)] if at else []))
    raise typer.Exit(PASSED if verdict.ok else FAILED)


def is_proved(run: Run, endpoints: Endpoints) -> bool:
    """Verify a run by its own definition, up to what it has committed, and keep the verdict.

    Raises:
        Exit: it has committed nothing.
    """
    from chaos.verdict.in_parts import Means

    of = JudgedOutput(run.own_pipeline(), run.run, run)
    at = cut_of(run, of.pipeline)
    log = Log(of.pipeline.source, None, endpoints.kafka_bootstrap, of.first, at.ends)
    read = partial(_output, table=None, file=None, at=at, postgres=False)
    means = Means(jobs=len(os.sched_getaffinity(0)))
    verdict = _judge(of, log, read, means, None, keeps=True)
    for line in verdict.lines():
        say(line)
    _tell_why(of, log, verdict, read)
    of.keep(verdict, str(at))
    return verdict.ok


def _tell_why(
    of: JudgedOutput, log: Log, verdict: Verdict, read: Callable[[JudgedOutput], Output]
) -> None:
    log.notes.tell(of.pipeline)
    tell_of_verdict(of.pipeline, verdict, lambda: read(of))


@contextmanager
def _evaluating(engine: Engine, master: str, means: Means) -> Iterator[Means]:
    """Provide the means with a cluster, if one was asked for."""
    if engine is Engine.local:
        yield means
        return
    from jobs.spread import cluster

    with cluster("slackwater verify", master) as calls:
        yield replace(means, cluster=calls)


def _judge(
    of: JudgedOutput,
    log: Log,
    read: Callable[[JudgedOutput], Output],
    means: Means,
    since: str | None,
    *,
    keeps: bool,
) -> Verdict:
    from windowing.semantics.changes import UndeclaredChange
    from windowing.semantics.view import following

    try:
        return _verdict(of, log, read(of), means, since, keeps=keeps)
    except UndeclaredChange:
        tell("the log changes the queries, and is read again with them")
        of = replace(of, pipeline=following(of.pipeline, log))
        return _verdict(of, log, read(of), means, since, keeps=keeps)


def _verdict(
    of: JudgedOutput, log: Log, found: Output, means: Means, since: str | None, *, keeps: bool
) -> Verdict:
    """Judge an output, as a whole or since a point; keep the point at its end, if all is well."""
    from chaos.verdict.verify import verify as compare
    from chaos.verdict.verify import with_records

    with bar(f"verify {of.pipeline.name}") as progress, TemporaryDirectory() as folder:
        point = point_of(since, of, log, means, Path(folder))
        log = log if point is None else log.after(point)
        keep = kept_at(of) if keeps and since in (None, LAST) else None
        read = progress.track(log, task_id=progress.task_ids[0])
        verdict = compare(of.pipeline, read, found, means, since=point, keep=keep)
        return with_records(verdict, of.pipeline, log, means, point)


def _output(
    of: JudgedOutput,
    table: Path | None,
    file: Path | None,
    at: Cut | None,
    *,
    postgres: bool,
) -> Output:
    from chaos.readers.catalogue import read_output
    from chaos.readers.output import read_files

    if file is not None:
        return read_files(file)
    before = None if at is None else at.batches
    folder = of.table if table is None else table
    # The options are called after the sinks.
    sink = "postgres" if postgres else None if table is None else "table"
    return read_output(of.pipeline, folder, of.name, before=before, sink=sink)


def _bytes(size: str) -> int:
    """Return a size in bytes, such as `512MB`.

    Raises:
        Exit: it is not a size.
    """
    number, unit = size[:-2], size[-2:].upper()
    if unit not in _UNITS or not number.isdecimal() or not int(number):
        complain(f"--memory {size!r} is not a size: give a whole number and a unit, like 512MB")
        raise typer.Exit(USAGE)
    return int(number) * _UNITS[unit]


def _check_choice(outputs: int, logs: int) -> None:
    """Check that the user named one output and one log, or neither: a run has both.

    Raises:
        Exit: they were not.
    """
    if outputs > 1:
        complain("give the output as --table DIR, --postgres or --output FILE, one of them")
        raise typer.Exit(USAGE)
    if logs > 1 or (outputs and not logs):
        complain("give the log as --topic or as --input FILE, one of them")
        raise typer.Exit(USAGE)


def _ends(at: Cut | None) -> Mapping[int, int] | None:
    return None if at is None else at.ends


@dataclass(frozen=True)
class Log:
    """The log of a run, or its end, which can be read again.

    Attributes:
        file: a log; None: the log is in the source's topics.
        bootstrap: the broker as given.
        first: first offset to read by lane; None: from the beginning.
        ends: first offset not to read, by lane; None: up to the end.
        ended: whether the file is followed by an end of each lane.
        rows_of: the topic whose plain rows the file has; None: it has events.
        notes: what is noted when it is read.
    """

    source: Source
    file: Path | None
    bootstrap: str | None
    first: Mapping[int, int] | None
    ends: Mapping[int, int] | None = None
    ended: bool = False
    rows_of: str | None = None
    notes: LogNotes = field(default_factory=LogNotes, compare=False)

    def __iter__(self) -> Iterator[LogRecord]:
        from chaos.readers.lane_ends import with_ends
        from chaos.readers.lane_order import LaneOrder
        from chaos.readers.log import behind, up_to
        from chaos.readers.plain_rows import read_input
        from chaos.readers.topic import read_topics

        if self.file:
            order = LaneOrder()
            self.notes.order = self.notes.order or order  # of the first time
            events: Iterable[LogRecord] = read_input(
                self.file, self.source, self.rows_of, order=order
            )
            events = with_ends(self.source, events) if self.ended else events
            read = up_to(self.source, events, self.ends)
        elif self.ends is None:
            read = read_topics(broker(self.bootstrap), self.source, self.first)
        else:
            read = read_topics(broker(self.bootstrap), self.source, self.first, self.ends)
        return self.notes.noting(behind(self.source, read, self.first))

    def after(self, point: Point) -> Log:
        """Return the log from the last entries before a point on."""
        lasts = {lane: last.offset for lane, last in point.lasts_by_lane().items()}
        return replace(self, first={**(self.first or {}), **lasts})


def named_since(text: str | None, of: JudgedOutput) -> str | None:
    """Return where a range begins, once it is known whether a verification has passed yet."""
    if text == UNVERIFIED and of.point is not None:
        return LAST if of.point.exists() else None
    return text


def point_of(
    text: str | None, of: JudgedOutput, log: Log, means: Means, folder: Path
) -> Point | None:
    """Return the point at which a range begins; None: it is the whole log.

    Args:
        text: as of `named_since`.
        of: the run or table that is judged.
        means: what may be used to read it up to an offset or instant.
        folder: a temporary folder.

    Raises:
        BadParameter: neither offsets of existing lanes, nor a time, nor `last` with a run.
        PointError: there is no such point, or it is of another pipeline.
    """
    from chaos.verdict.point import read_point
    from chaos.verdict.ranges import offsets_at, point_before
    from slackwater.recording import named_offsets
    from windowing.model.lengths import instant_us

    spec = of.pipeline
    if text is None:
        return None
    if text in (LAST, UNVERIFIED):
        if of.point is None:
            msg = f"--since {text}: only runs keep where a verification ended: give offsets"
            raise typer.BadParameter(msg)
        point = read_point(of.point)
        point.check(spec)
        return point
    if text.lstrip().startswith("{"):
        first = named_offsets("--since", text, spec.source)
    else:
        try:
            at_us = instant_us(text)
        except ValueError as error:
            msg = f'--since: {error}; or offsets, as {{"{spec.source.lane(0)}": 100}}; or last'
            raise typer.BadParameter(msg) from None
        first = offsets_at(spec, log, at_us)
    return point_before(spec, log, first, folder / "point.jsonl", means)


def kept_at(of: JudgedOutput) -> Path | None:
    """Return where the point at the end of a verification is kept; None: nowhere."""
    from chaos.verdict.ranges import why_no_point

    why = why_no_point(of.pipeline)
    if why is not None and of.point is not None:
        tell(f"--since last will not go on from here: {why}")
    return None if why is not None else of.point


COMMANDS = (verify,)
