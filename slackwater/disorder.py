"""Commands around the disorder of a log: punctuate, tune, trace."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, BinaryIO

import typer

from slackwater.console import USAGE, bar, complain, say
from slackwater.noted import TraceNotes, tell_notes, tell_of_recording, tell_redelivered
from slackwater.options import As, End, PipelineFile, broker, check_of_file, length_us
from slackwater.places import check_picture, check_places

if TYPE_CHECKING:
    from jobs.tools.tune import Cost, Tuning
    from windowing.engine.reading.batches import Entry
    from windowing.model import Pipeline

Input = Annotated[
    Path | None, typer.Option("--input", metavar="EVENTS.jsonl", help="Read the log from a file.")
]
FromTopic = Annotated[bool, typer.Option("--topic", help="Read the log from the pipeline's topic.")]
Bootstrap = Annotated[str | None, typer.Option(help="The broker; default: the local stack's.")]


_LATE = "0.1%"
"""Share of records that may be late, by default."""


class ClockName(StrEnum):
    """The clock by which latency is measured."""

    event = "event"
    append = "append"


def punctuate(
    pipeline: PipelineFile,
    input_: Input = None,
    output: Annotated[
        Path | None,
        typer.Option(metavar="EVENTS.jsonl", help="Where to write the log, with --input."),
    ] = None,
    as_: As = None,
    topic: FromTopic = False,
    to: Annotated[
        str | None, typer.Option(metavar="TOPIC", help="An empty or new topic, with --topic.")
    ] = None,
    every: Annotated[
        str | None,
        typer.Option(metavar="LENGTH", help="Distance between bounds; default: every window end."),
    ] = None,
    per: Annotated[
        str | None, typer.Option(metavar="FIELD", help="Add bounds for each value of this field.")
    ] = None,
    end: Annotated[
        bool, typer.Option("--end", help="End every lane after its last record.")
    ] = False,
    bootstrap: Bootstrap = None,
) -> None:
    """Add the tightest bounds that hold for a recorded log."""
    from jobs.tools.punctuate import check_believed, punctuated, punctuations, step_of
    from jobs.tools.recording import record, write_events
    from slackwater.options import load_single
    from windowing.explain.notes import nothing_added

    spec = load_single(pipeline)
    if (input_ is None) != (output is None) or topic != (to is not None) or topic == bool(input_):
        complain("give --input FILE and --output FILE, or --topic and --to TOPIC")
        raise typer.Exit(USAGE)
    check_of_file(input_, as_, end=False)
    check_places({"--output": output}, {"the pipeline": pipeline, "--input": input_})
    check_believed(spec)
    if to is not None and len(spec.source.parts) > 1:
        complain(
            f"--to {to}: one topic has no room for the lanes of several: write events, with "
            "--input FILE and --output FILE, where `slackwater record` has made FILE"
        )
        raise typer.Exit(USAGE)
    log = _Log(spec, input_, bootstrap, rows_of=as_)
    step_us = step_of(spec) if every is None else length_us("--every", every, minimum_us=1)
    with bar("reading") as shown:
        recording = record(spec, shown.track(log.read(), task_id=shown.task_ids[0]))
    stops = punctuations(spec, recording, step_us, per)
    ended = set(recording.lanes) - set(recording.ended) if end else set()
    count = sum(len(here) for lane in stops.values() for here in lane.values())
    with bar("writing", recording.length + count + len(ended)) as shown:
        task = shown.task_ids[0]
        if output is not None:
            written = punctuated(spec.source, log.read(), stops, ended)
            write_events(output, written, lambda done: shown.update(task, completed=done))
        else:
            assert to is not None  # noqa: S101 - asked above
            written = punctuated(spec.source, log.read(), stops, ended)
            _send(spec, log.bootstrap, to, written, lambda done: shown.update(task, completed=done))
    say(f"{recording.length} records, {count} bounds, {len(ended)} ends written to {output or to}")
    tell_redelivered(log.order)
    tell_notes(nothing_added(count))


def _send(
    spec: Pipeline, bootstrap: str, to: str, log: Iterable[Entry], progress: Callable[[int], None]
) -> None:
    from jobs.brokers.producing import send_all
    from jobs.brokers.topics import TopicError, create_topic, end_offsets
    from windowing.model.metadata import metadata_of

    create_topic(bootstrap, to, spec.source.partitions)
    if any(end_offsets(bootstrap, to).values()):
        msg = f"topic {to!r} holds records already: name another one"
        raise TopicError(msg)
    messages = (
        (
            entry.partition,
            entry.value if entry.control is None else b"",
            entry.control,
            metadata_of(entry),
        )
        for entry in log
    )
    send_all(bootstrap, to, messages, progress)


def tune(
    pipeline: PipelineFile,
    input_: Input = None,
    as_: As = None,
    topic: FromTopic = False,
    late: Annotated[
        str | None,
        typer.Option(
            metavar="SHARE",
            help="Share of records that may be late; default: 0.1%, unless the knee of the curve, "
            "beyond which more slack buys little, comes first.",
        ),
    ] = None,
    clock: Annotated[
        ClockName,
        typer.Option(help="Measure latency by the newest event time, or by append times."),
    ] = ClockName.event,
    png: Annotated[Path | None, typer.Option(metavar="FILE.png", help="Also draw it.")] = None,
    bootstrap: Bootstrap = None,
) -> None:
    """Show what each slack costs and buys on a log, and propose one."""
    from jobs.tools.recording import record
    from jobs.tools.tune import tune as weigh
    from jobs.tools.tune_plot import draw
    from slackwater.options import load_single
    from windowing.model.progress.generators import parse_share

    spec = load_single(pipeline)
    try:
        target = parse_share(late or _LATE)
    except ValueError as error:
        complain(f"--late {error}")
        raise typer.Exit(USAGE) from None
    if topic == (input_ is not None):
        complain("give the log as --topic or as --input FILE, one of them")
        raise typer.Exit(USAGE)
    check_of_file(input_, as_, end=False)
    check_picture("--png", png, {"the pipeline": pipeline, "--input": input_})
    log = _Log(spec, input_, bootstrap, rows_of=as_)
    with bar("reading") as shown:
        recording = record(spec, shown.track(log.read(), task_id=shown.task_ids[0]))
    with bar("weighing slacks") as shown:
        task = shown.task_ids[0]
        found = weigh(
            spec, recording, target, clock=clock.value, progress=lambda: shown.advance(task)
        )
    for line in _tuned(found, clock, is_asked=late is not None):
        say(line)
    tell_of_recording(spec, recording)
    if png is not None:
        draw(found, spec.name, png)
        say(f"picture: {png}")


def _tuned(found: Tuning, clock: ClockName, *, is_asked: bool) -> Iterator[str]:
    """Format a tuning: lags, costs, proposals; the user may have asked for the share."""
    from jobs.tools.times_in_words import in_words
    from jobs.tools.tune import QUANTILES

    yield f"{found.records} records in windows; lag behind the newest of their lane:"
    for quantile in QUANTILES:
        place = min(int(quantile * len(found.lags_us)), len(found.lags_us) - 1)
        yield f"  {100 * quantile:5.1f}% within {in_words(int(found.lags_us[place]))}"
    if found.silent:
        yield f"silent: {', '.join(found.silent)}; no window closes without heartbeats or an end"
    if found.left_out:
        yield f"not weighed: {', '.join(found.left_out)}: windows of a plug-in, of unknown ends"
    names = f"{'late':>10}{'rows wrong':>12}{'missing':>10}{'latency':>16}{'closed':>9}"
    yield f"{'setting':<22}{names}"
    for cost in found.costs:
        yield _cost_line(cost)
    yield f"latency by {clock} time; late: records; rows wrong and missing: in a window's first row"
    share = f"{float(100 * found.target):g}%"
    yield from _proposals(found, f"for at most {share} late records: ", is_asked=is_asked)


def _proposals(found: Tuning, target: str, *, is_asked: bool) -> Iterator[str]:
    from jobs.tools.times_in_words import in_words
    from windowing.model.lengths import spell_us

    wanted = f"{target}disorder: {{slack: {spell_us(found.slack_us)}}}"
    in_rows = f"{'or: ':>{len(target)}}disorder: {{slack: {found.slack_rows} rows}}"
    if found.knee_us is None:
        yield from (wanted, in_rows)
        return
    knee, last = (found.cost_of("time", us) for us in (found.knee_us, found.slack_us))
    more = in_words(found.slack_us - found.knee_us)
    lines = [f"the knee of the curve: disorder: {{slack: {spell_us(found.knee_us)}}}"]
    if found.knee_rows is not None:
        lines.append(f"                   or: disorder: {{slack: {found.knee_rows} rows}}")
    lines.append(f"  it leaves {knee.late:.2%} late; {more} more would leave {last.late:.2%}")
    yield from ((wanted, in_rows, *lines) if is_asked else (*lines, wanted, in_rows))


def _cost_line(cost: Cost) -> str:
    from jobs.tools.times_in_words import in_words
    from windowing.model.lengths import spell_us

    if cost.slack is None:
        setting = "punctuation"
    else:
        setting = f"slack {spell_us(cost.slack) if cost.kind == 'time' else f'{cost.slack} rows'}"
    latency = "–" if cost.latency_us is None else in_words(cost.latency_us)
    shares = f"{cost.late:>10.3%}{cost.wrong:>12.3%}{cost.missing:>10.4%}"
    return f"{setting:<22}{shares}{latency:>16}{cost.closed:>9.1%}"


def trace(
    pipeline: PipelineFile,
    input_: Annotated[
        Path,
        typer.Option(
            "--input", metavar="EVENTS.jsonl", help="The log, one event per line; or see --as."
        ),
    ],
    output: Annotated[
        Path | None, typer.Option(metavar="TRACE.jsonl", help="Default: standard output.")
    ] = None,
    as_: As = None,
    end: End = False,
) -> None:
    """Print a JSON line for each record: its windows, lateness, and what it closed."""
    from slackwater.options import load_single
    from windowing.semantics.trace import trace as lines

    check_places({"--output": output}, {"the pipeline": pipeline, "--input": input_})
    spec = load_single(pipeline, windows=True)
    told = TraceNotes(spec)
    with bar("tracing") as shown, _opened(output) as file:
        log = _Log(spec, input_, None, rows_of=as_, ended=end).read(again=True)
        for line in shown.track(lines(spec, log), task_id=shown.task_ids[0]):
            file.write(json.dumps(line, ensure_ascii=False, separators=(",", ":")).encode() + b"\n")
            told.add(line)
    told.tell()


@contextmanager
def _opened(output: Path | None) -> Iterator[BinaryIO]:
    from windowing.files.whole_files import whole_file

    if output is None:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    with whole_file(output) as file:
        yield file


class _Log:
    """A log that can be read twice: a file, or a topic up to its end at the first reading.

    Args:
        path: the file; None: the pipeline's topics.
        bootstrap: the broker; None: the local stack's.
        rows_of: the topic whose plain rows the file has; None: it has events.
        ended: whether a file is followed by an end of each lane.
    """

    def __init__(
        self,
        spec: Pipeline,
        path: Path | None,
        bootstrap: str | None,
        *,
        rows_of: str | None = None,
        ended: bool = False,
    ) -> None:
        from chaos.readers.lane_order import LaneOrder
        from jobs.brokers.topics import lane_ends

        self._spec, self._path, self._rows_of, self._ended = spec, path, rows_of, ended
        self.bootstrap, self.order = "", LaneOrder()
        if path is None:
            self.bootstrap = broker(bootstrap)
            self._ends = lane_ends(self.bootstrap, spec.source)

    def read(self, *, again: bool = False) -> Iterable[Entry]:
        """Read the log from its beginning; a file's redeliveries only on request."""
        from chaos.readers.lane_ends import with_ends
        from chaos.readers.plain_rows import read_input
        from chaos.readers.topic import read_topics
        from windowing.engine.reading.batches import checked

        source = self._spec.source
        if self._path is not None:
            self.order = type(self.order)()
            log = read_input(self._path, source, self._rows_of, again=again, order=self.order)
            return checked(with_ends(source, log) if self._ended else log, self._spec)
        return checked(read_topics(self.bootstrap, source, ends=self._ends), self._spec)


COMMANDS = (punctuate, tune, trace)
