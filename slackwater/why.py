"""`slackwater why`: why a window is open, closed or revised, and what is in it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from slackwater.console import err, plain, say
from slackwater.options import As, End, PipelineFile, check_of_file

if TYPE_CHECKING:
    from chaos.readers.log import LogRecord
    from jobs.tools.row_records import RowRecords
    from slackwater.verify import Log
    from windowing.model import Pipeline, Query
    from windowing.model.rows import Key, Scalar
    from windowing.model.types import FieldType
    from windowing.model.window_join import WindowJoinQuery
    from windowing.semantics.why import WindowRef


def why(
    pipeline: PipelineFile,
    window: Annotated[
        str, typer.Option(metavar="START|ID", help="Its start, as 2013-01-16T20:00Z, or its id.")
    ],
    key: Annotated[
        list[str] | None,
        typer.Option(metavar="VALUE", help="A value of its key, in the order of the fields."),
    ] = None,
    query: Annotated[
        str | None, typer.Option(metavar="NAME", help="Its query; default: the only one.")
    ] = None,
    run: Annotated[
        str | None,
        typer.Option("--run", metavar="NAME", help="The run; default: the live one, or newest."),
    ] = None,
    input_: Annotated[
        Path | None,
        typer.Option(
            "--input", metavar="EVENTS.jsonl", help="A log from a file, instead of a run's."
        ),
    ] = None,
    only_records: Annotated[
        bool,
        typer.Option(
            "--records",
            help="Only its records, found by the offsets in the run's table: quick on a long log.",
        ),
    ] = False,
    as_: As = None,
    end: End = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
) -> None:
    """Say why a window is open, closed or revised: which lanes hold it back, what it holds.

    By the definition, from the log as far as the run has read it: each record of the window, when
    it is shown, and which records came too late for it.
    """
    from windowing.semantics.why import why as explained
    from windowing.semantics.why_words import Explanation

    if only_records:
        if input_ is not None:
            msg = "--records finds them by a run's table, and --input is no run: give one of them"
            raise typer.BadParameter(msg)
        _show_records(_records(pipeline, run, query, window, key or []), as_json=as_json)
        return
    with err().status("reading the log"):
        spec, log = _log_of(pipeline, run, input_, as_, ended=end)
        sought = _sought(spec, query, window, key or [])
        found = explained(spec, sought, log)
    answer = Explanation(spec, found)
    if as_json:
        say(json.dumps(answer.as_json(), ensure_ascii=False))
        return
    for line in answer.lines():
        say(line)


def _records(
    file: Path, run: str | None, query: str | None, window: str, key: Sequence[str]
) -> RowRecords:
    from chaos.readers.topic import read_topic
    from jobs.tools.row_records import Span, row_records
    from slackwater.options import chosen, stack_for

    endpoints = stack_for(file, "kafka")
    found, spec = chosen(endpoints, file, run)

    def read(spans: Mapping[str, Span]) -> Iterator[LogRecord]:
        for part in spec.source.parts:
            own = {
                partition: spans[lane]
                for partition in range(part.partitions)
                if (lane := f"{part.topic}/{partition}") in spans
            }
            begins = {partition: first for partition, (first, _) in own.items()}
            ends = {partition: last + 1 for partition, (_, last) in own.items()}
            if own:
                yield from read_topic(
                    endpoints.kafka_bootstrap, part.topic, begins=begins, ends=ends
                )

    sought = _sought(spec, query, window, key)
    if sought.join is not None:
        raise typer.BadParameter("--records: the rows of a join name their records in their keys")
    return row_records(spec, found.table, found.run, sought, read)


def _show_records(found: RowRecords, *, as_json: bool) -> None:
    if as_json:
        say(json.dumps(found.as_json(), ensure_ascii=False))
        return
    for row in found.rows:
        say(f"revision {row.revision}: {row.records:,} records")
    for one in found.records:
        shown = "" if one.revision is None else f", revision {one.revision}"
        say(plain(f"  {one.lane} offset {one.offset}{shown}: {one.value}"))
    if not found.complete:
        say(
            f"only {len(found.records):,} of its records are on the log between the offsets that "
            "its rows name: has the topic lost some?"
        )


def _log_of(
    file: Path, run: str | None, input_: Path | None, rows_of: str | None, *, ended: bool
) -> tuple[Pipeline, Iterable[LogRecord]]:
    """Return the pipeline, as its log makes it, and the log as far as it has been read."""
    from jobs.checkpoints.checkpoint import committed_offsets
    from slackwater.options import chosen, stack_for
    from slackwater.verify import Log
    from windowing.model import load_pipeline
    from windowing.semantics.changes import may_change
    from windowing.semantics.view import effective

    check_of_file(input_, rows_of, end=ended)
    if input_ is not None:
        spec = load_pipeline(file)
        log = Log(spec.source, input_, None, None, ended=ended, rows_of=rows_of)
        return effective(spec, [*log]) if may_change(spec, log) else spec, log
    endpoints = stack_for(file, "kafka")
    found, spec = chosen(endpoints, file, run)
    _, ends = committed_offsets(found.checkpoint, spec.source)
    log = Log(spec.source, None, endpoints.kafka_bootstrap, found.options.first)
    return spec, _until(log, spec, ends)


def _until(log: Log, spec: Pipeline, ends: dict[int, int]) -> Iterator[LogRecord]:
    for entry in log:
        number = spec.source.number(entry.source, entry.partition)
        if number is not None and entry.offset < ends.get(number, 0):
            yield entry


def _sought(spec: Pipeline, name: str | None, window: str, key: Sequence[str]) -> WindowRef:
    """Return the window that is meant.

    Raises:
        BadParameter: the query, the window or the key is not named as one.
    """
    from windowing.model.lengths import instant_us
    from windowing.semantics.why import WindowRef

    query, join = _query(spec, name)
    if window.lstrip("-").isdecimal():
        return WindowRef(query, int(window), None, _key(spec, query, key), join)
    if query.window.traits.cumulative or query.window.traits.periodic:
        msg = f"--window {window}: several windows of {query.name} begin then: name one by its id"
        raise typer.BadParameter(f"{msg}, as `slackwater newest` shows it")
    try:
        start = instant_us(window)
    except ValueError as error:
        msg = f"--window {window}: {error}; or the window's id"
        raise typer.BadParameter(msg) from None
    return WindowRef(query, None, start, _key(spec, query, key), join)


def _query(spec: Pipeline, name: str | None) -> tuple[Query, WindowJoinQuery | None]:
    """Return the query that is meant, or what a window join is as one, and the join."""
    from windowing.model import Query
    from windowing.model.window_join import WindowJoinQuery
    from windowing.semantics.windows.window_joins import as_query

    queries, joins = [*spec.of(Query)], spec.of(WindowJoinQuery)
    queries += map(as_query, joins)
    names = [query.name for query in queries]
    if not names or (name is not None and name not in names):
        known = ", ".join(names) or "none; operators and joins by distance have no windows"
        msg = f"--query {name or ''}: the queries with windows are: {known}"
        raise typer.BadParameter(msg)
    if name is None and len(names) > 1:
        msg = f"there are several queries, {', '.join(names)}: name one by --query"
        raise typer.BadParameter(msg)
    return queries[names.index(name) if name else 0], next(iter(joins), None)


def _key(spec: Pipeline, query: Query, texts: Sequence[str]) -> Key:
    if len(texts) != len(query.key):
        fields = ", ".join(query.key) or "no fields"
        msg = f"query {query.name} has the key {fields}: give one --key for each"
        raise typer.BadParameter(msg)
    return tuple(map(_value, (spec.source.fields[name] for name in query.key), texts))


_CONVERT: Final[Mapping[str, Callable[[str], Scalar]]] = {
    "int": int,
    "float": float,
    "decimal": Decimal,
    "timestamp": int,
    "bool": {"true": True, "false": False}.__getitem__,
}


def _value(type_: FieldType, text: str) -> Scalar:
    """Return a value of a key; `null` is the absent one."""
    if text == "null":
        return None
    convert: Callable[[str], Scalar] = _CONVERT.get(type_.kind, str)
    try:
        return convert(text)
    except (ValueError, KeyError, ArithmeticError):
        msg = f"--key {text}: not of type {type_}"
        raise typer.BadParameter(msg) from None


COMMANDS = (why,)
