"""`slackwater why`: why a window is open, closed or revised, and what is in it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from slackwater.console import err, say
from slackwater.files import PipelineFile

if TYPE_CHECKING:
    from chaos.readers.log import LogRecord
    from slackwater.since import Log
    from windowing.model import Pipeline, Query
    from windowing.model.rows import Key, Scalar
    from windowing.semantics.why import Sought


def register(app: typer.Typer) -> None:
    """Add `why`."""
    app.command()(why)


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
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
) -> None:
    """Say why a window is open, closed or revised: which lanes hold it back, what it holds.

    By the definition, from the log as far as the run has read it: each record of the window, when
    it is shown, and which records came too late for it.
    """
    from windowing.semantics.why import why as explained
    from windowing.semantics.why_words import Told

    with err.status("reading the log"):
        spec, log = _log_of(pipeline, run, input_)
        sought = _sought(spec, query, window, key or [])
        found = explained(spec, sought, log)
    told = Told(spec, found)
    if as_json:
        say(json.dumps(told.as_json(), ensure_ascii=False))
        return
    for line in told.lines():
        say(line)


def _log_of(
    file: Path, run: str | None, input_: Path | None
) -> tuple[Pipeline, Iterable[LogRecord]]:
    """Return the pipeline, and the log as far as it has been read."""
    from jobs.runs.offsets import committed_offsets
    from slackwater.chosen import chosen, stack_for
    from slackwater.since import Log
    from windowing.model import load_pipeline

    if input_ is not None:
        spec = load_pipeline(file)
        return spec, Log(spec.source, input_, None, None)
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


def _sought(spec: Pipeline, name: str | None, window: str, key: Sequence[str]) -> Sought:
    """Return the window that is meant.

    Raises:
        BadParameter: the query, the window or the key is not named as one.
    """
    from windowing.model.lengths import instant_us
    from windowing.semantics.why import Sought

    query = _query(spec, name)
    if window.lstrip("-").isdecimal():
        return Sought(query, int(window), None, _key(spec, query, key))
    try:
        start = instant_us(window)
    except ValueError as error:
        msg = f"--window {window}: {error}; or the window's id"
        raise typer.BadParameter(msg) from None
    return Sought(query, None, start, _key(spec, query, key))


def _query(spec: Pipeline, name: str | None) -> Query:
    names = [query.name for query in spec.queries]
    if not names or (name is not None and name not in names):
        known = ", ".join(names) or "none; operators and joins have no windows that progress closes"
        msg = f"--query {name or ''}: the queries with windows are: {known}"
        raise typer.BadParameter(msg)
    if name is None and len(names) > 1:
        msg = f"there are several queries, {', '.join(names)}: name one by --query"
        raise typer.BadParameter(msg)
    return spec.queries[names.index(name) if name else 0]


def _key(spec: Pipeline, query: Query, texts: Sequence[str]) -> Key:
    if len(texts) != len(query.key):
        fields = ", ".join(query.key) or "no fields"
        msg = f"query {query.name} has the key {fields}: give one --key for each"
        raise typer.BadParameter(msg)
    return tuple(map(_value, (spec.source.fields[name].kind for name in query.key), texts))


def _value(kind: str, text: str) -> Scalar:
    """Return a value of a key; `null` is the absent one."""
    if text == "null":
        return None
    convert = {"int": int, "float": float}.get(kind, str)
    try:
        return convert(text)
    except ValueError:
        msg = f"--key {text}: not of type {kind}"
        raise typer.BadParameter(msg) from None
