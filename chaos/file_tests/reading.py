"""Tests of a pipeline file, read with what the pipeline has: its queries, lanes and fates."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from chaos.readers.envelope import read_line
from chaos.readers.lane_order import LaneOrder
from chaos.readers.log import LogRecord, read_events
from windowing.model.errors import PipelineError, Problem, meant, meant_or_known, shown
from windowing.model.fates import BY_WINDOWS
from windowing.model.file.file_tests import (
    LETTERS,
    Expectation,
    ExpectedLetter,
    ExpectedRow,
    FileTest,
)
from windowing.model.file.pipeline import Pipeline
from windowing.model.file.yaml_lines import RUN_LIMITS, line_of, load_with_lines
from windowing.model.query import Flow

_SHORT: Final = re.compile(r"([^/\s]+)/([0-9]{1,9}) ([0-9]{1,18}) (.*)", re.DOTALL)
_CONTROL: Final = "control "

Mistake = tuple[tuple[str | int, ...], str]
"""Where in a test something is wrong, and what."""


@dataclass(frozen=True)
class ReadTest:
    """A test that can be run.

    Attributes:
        line: of its name in the pipeline file.
        records: its log; None: that is in the file `events`.
        expect: by the names under `expect`.
    """

    name: str
    line: int
    records: tuple[LogRecord, ...] | None
    events: Path | None
    expect: Mapping[str, Expectation]

    def log(self, pipeline: Pipeline) -> Iterator[LogRecord]:
        """Yield the records of its log.

        Raises:
            EventsFileError: its file is no log of this pipeline.
        """
        if self.events is None:
            yield from self.records or ()
        else:
            yield from read_events(self.events, pipeline.source)


def read_tests(pipeline: Pipeline, file: Path) -> list[ReadTest]:
    """Read the tests of a pipeline file.

    Args:
        file: where it is, for files of events and for messages.

    Raises:
        PipelineError: with everything that is wrong in them.
    """
    if not pipeline.tests:
        return []
    _, lines = load_with_lines(pipeline.text, str(file), RUN_LIMITS)
    found, problems = list[ReadTest](), list[Problem]()
    for name, test in pipeline.tests.items():
        records, mistakes = _given(pipeline, test)
        events = None if test.file is None else file.parent / test.file
        if events is not None and not events.is_file():
            mistakes.append((("file",), f"there is no file {events}: name it from {file.parent}"))
        mistakes += _of_expectations(pipeline, test)
        for path, said in mistakes:
            place = ("tests", name, *path)
            dotted = ".".join(map(str, place))
            problems.append(Problem(str(file), line_of(place, lines), dotted, said))
        line = line_of(("tests", name), lines)
        found.append(ReadTest(name, line, records, events, test.expect))
    if problems:
        raise PipelineError(problems)
    return found


def _given(
    pipeline: Pipeline, test: FileTest
) -> tuple[tuple[LogRecord, ...] | None, list[Mistake]]:
    if test.given is None:
        return None, []
    records, mistakes, order = list[LogRecord](), list[Mistake](), LaneOrder()
    for number, text in enumerate(test.given):
        try:
            record = given_record(text)
            if pipeline.source.number(record.source, record.partition) is None:
                raise ValueError(_no_lane(pipeline, record))
            order.is_new(record)  # a redelivery is part of a log, and has no effect
        except ValueError as error:
            mistakes.append((("given", number), str(error)))
        else:
            records.append(record)
    return tuple(records), mistakes


def _no_lane(pipeline: Pipeline, record: LogRecord) -> str:
    lane, source = f"{record.source}/{record.partition}", pipeline.source
    near = meant(record.source, [part.topic for part in source.parts])
    hint = "" if any(part.topic == record.source for part in source.parts) else near
    return f"there is no lane {lane}: the pipeline reads {source.lanes}{hint}"


def given_record(text: str) -> LogRecord:
    """Return the record that a line under `given` is.

    Raises:
        ValueError: it has no lane, offset and content, and is no line of EVENTS.jsonl.
    """
    if text.lstrip().startswith("{"):
        return LogRecord(*read_line(text.encode()))
    match = _SHORT.fullmatch(text)
    if match is None:
        msg = (
            f"{shown(text)} is no record: write lane, offset and value, as "
            "'s/0 0 {\"ts\": 1}', or 's/0 1 control {\"bound\": 20}', or a line of EVENTS.jsonl"
        )
        raise ValueError(msg)
    topic, partition, offset, content = match.groups()
    value, control = content.encode(), None
    if content.startswith(_CONTROL):
        value, control = None, content.removeprefix(_CONTROL).strip().encode()
    return LogRecord(topic, int(partition), int(offset), value, control, None)


def counted_fates(pipeline: Pipeline) -> list[str]:
    """Return the names of what steps of reading count, as `filtered`."""
    return [fate.name for fate in pipeline.source.fates if fate not in BY_WINDOWS]


def _of_expectations(pipeline: Pipeline, test: FileTest) -> list[Mistake]:
    flows = {flow.name: flow for flow in pipeline.flows}
    # Such a log may add queries that nobody knows yet.
    may_add = any(part.control.believe == "all" for part in pipeline.source.parts)
    fates, mistakes = counted_fates(pipeline), list[Mistake]()
    for name, expected in test.expect.items():
        place: tuple[str | int, ...] = ("expect", name)
        if isinstance(expected, int):
            if name not in fates:
                mistakes.append((place, _no_fate(name, expected, fates, flows)))
        elif name == LETTERS:
            mistakes += _of_letters(pipeline, place, expected)
        elif name in flows:
            mistakes += _of_rows(pipeline, flows[name], place, expected)
        elif name in fates:
            msg = f"{name} is a number of records here, as {{{name}: {len(expected)}}}"
            mistakes.append((place, msg))
        elif not may_add:
            known = meant_or_known(name, [*flows, LETTERS, *fates])
            mistakes.append((place, f"there is no query {name!r}{known}"))
    return mistakes


def _no_fate(name: str, number: int, fates: Sequence[str], flows: Mapping[str, Flow]) -> str:
    if name in flows or name == LETTERS:
        return f"{number} is no list of rows: write them, as {{{name}: [{{…}}]}}, or [] for none"
    said = f"no step of this source counts records as {name!r}"
    return said + (meant_or_known(name, fates) if fates else ": take the number out")


def _of_rows(
    pipeline: Pipeline,
    flow: Flow,
    place: tuple[str | int, ...],
    expected: Sequence[ExpectedRow | ExpectedLetter],
) -> Iterator[Mistake]:
    source = pipeline.source
    lanes = [source.lane(number) for number in range(source.partitions)]
    for number, row in enumerate(expected):
        assert isinstance(row, ExpectedRow)  # noqa: S101 - by its place
        at = (*place, number)
        if row.query not in (None, flow.name):
            yield (*at, "query"), f"{row.query!r} stands among the rows of {flow.name!r}"
        start, end = row.window_start, row.window_end
        if start is not None and end is not None and start > end:
            yield (*at, "window_end"), f"{shown(end)} lies before window_start, {shown(start)}"
        if row.key is not None and len(row.key) != len(flow.key):
            names = ", ".join(flow.key) or "nothing, so []"
            yield (*at, "key"), f"{shown(row.key)} is no key of {flow.name}: it has {names}"
        for name in row.values or ():
            if name not in flow.shows:
                known = meant_or_known(name, flow.shows)
                yield (*at, "values", name), f"{flow.name} shows no {name!r}{known}"
        for lane in row.offsets or ():
            if lane not in lanes:
                yield (*at, "offsets", lane), f"the pipeline reads no lane {lane!r}, but {lanes[0]}"


def _of_letters(
    pipeline: Pipeline,
    place: tuple[str | int, ...],
    expected: Sequence[ExpectedRow | ExpectedLetter],
) -> Iterator[Mistake]:
    topics = [part.topic for part in pipeline.source.parts]
    for number, letter in enumerate(expected):
        assert isinstance(letter, ExpectedLetter)  # noqa: S101 - by its place
        if letter.source is not None and letter.source not in topics:
            known = meant_or_known(letter.source, topics)
            where = (*place, number, "source")
            yield where, f"the pipeline reads no topic {letter.source!r}{known}"
