"""Read a YAML document into a model; every mistake becomes a problem that a person can act on."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path as FilePath
from types import UnionType
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, Tag, ValidationError

from windowing.model.errors import PipelineError, Problem, meant, quoted, shown
from windowing.model.file.yaml_lines import (
    LIMITS,
    Limits,
    Path,
    line_of,
    load_with_lines,
    too_large,
)
from windowing.model.reading import STEPS

Model = TypeVar("Model", bound=BaseModel)


def parse_document(
    text: str,
    file: str,
    model: type[Model],
    *,
    shape: str,
    prepare: Callable[[dict[str, Any]], dict[str, Any]] = lambda value: value,
    limits: Limits = LIMITS,
) -> tuple[Model, dict[Path, int]]:
    """Parse and validate a document.

    Args:
        file: its name, for messages.
        shape: the message for a document that is not a mapping.
        prepare: expands short spellings into the model's shape.
        limits: how large it may be.

    Returns:
        the model, and the line (from 1) of each path into the document.

    Raises:
        PipelineError: with all problems found.
    """
    value, lines = load_with_lines(text, file, limits)
    if not isinstance(value, dict):
        raise PipelineError([Problem(file, 1, "", shape)])
    try:
        return model.model_validate(prepare(value)), lines
    except ValidationError as error:
        raise PipelineError(describe(error, file, lines, model)) from None


_OWN_KEYS = "steps"
"""The field of a source that is no key of a file: each of its members is one itself."""


def known_keys(model: Any, path: Sequence[object]) -> list[str]:
    """Return the keys that a model has at a path, which ends before the key.

    Args:
        path: of pydantic, with the tags of unions.
    """
    kinds = [model]
    for part in path:
        kinds = [one for kind in kinds for one in _below(kind, part)]
    return sorted(
        {
            field.alias or name
            for kind in _plain(kinds)
            if isinstance(kind, type) and issubclass(kind, BaseModel)
            for name, field in kind.model_fields.items()
            if name != _OWN_KEYS
        }
        | {
            step
            for kind in kinds
            if _OWN_KEYS in getattr(kind, "model_fields", ())
            for step in STEPS
        }
    )


def _plain(kinds: Iterable[Any], tag: object = None) -> Iterator[Any]:
    """Yield the classes that are meant by annotations: of a union all, or those of a tag.

    Lists and mappings are yielded with what is in them.
    """
    for kind in kinds:
        if (origin := get_origin(kind)) is Annotated:
            tags = [one.tag for one in get_args(kind)[1:] if isinstance(one, Tag)]
            if tag is None or not tags or tag in tags:
                yield from _plain(get_args(kind)[:1], None if tag in tags else tag)
        elif origin in (Union, UnionType):
            yield from _plain(get_args(kind), tag)
        elif isinstance(kind, type) or origin in (dict, list, tuple):
            yield kind


def _below(kind: Any, part: object) -> Iterator[Any]:
    if str(part).startswith("["):
        yield from _plain([kind], part)
    elif get_origin(kind) is Annotated:
        yield from _below(get_args(kind)[0], part)
    elif get_origin(kind) in (Union, UnionType):
        for one in get_args(kind):
            yield from _below(one, part)
    elif get_origin(kind) in (dict, list, tuple):
        yield get_args(kind)[1 if get_origin(kind) is dict else 0]
    elif isinstance(kind, type) and issubclass(kind, BaseModel):
        fields = kind.model_fields.items()
        yield from (field.annotation for name, field in fields if part == (field.alias or name))


def read_text(path: str | FilePath, limits: Limits = LIMITS) -> str:
    """Read a document's file, up to the size limit.

    Raises:
        PipelineError: it is missing, unreadable, too large, or not UTF-8.
    """

    def problem(line: int, message: str) -> PipelineError:
        return PipelineError([Problem(str(path), line, "", message)])

    try:
        with FilePath(path).open("rb") as file:
            content = file.read(limits.bytes_max + 1)
            size = max(os.fstat(file.fileno()).st_size, len(content))
    except (OSError, ValueError) as error:  # ValueError: a name with NUL
        why = getattr(error, "strerror", None) or error
        raise problem(0, f"cannot be read: {why}") from None
    if len(content) > limits.bytes_max:
        raise problem(0, too_large(f"{size:,} bytes", limits)) from None
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        msg = f"is not UTF-8 (byte 0x{content[error.start]:02x}): save it as text in UTF-8"
        raise problem(line, msg) from None


def unread(path: FilePath, limits: Limits) -> str | None:
    """Say why a service does not read a file of a folder; None: it does.

    Reading a pipe would block for ever, and what a large file costs, all others wait for.
    """
    try:
        size = path.stat().st_size if path.is_file() else None
    except OSError as error:
        return f"{path} cannot be read: {error.strerror}"
    if size is None:
        return f"{path} is not a file: take it out of the folder"
    return f"{path} {too_large(f'{size:,} bytes', limits)}" if size > limits.bytes_max else None


# A correct example for each field that people often get wrong.
_EXAMPLES = {
    "name": "name: flight_delays",
    "topic": "topic: flights",
    "topics": "topics: {payments: 3, refunds: 2}",
    "partitions": "partitions: 3",
    "format": "format: json",
    "event_time": "event_time: {field: ts, unit: us}",
    "field": "field: ts",
    "unit": "unit: us (or ms, s, ns, iso, {text: '%d.%m.%Y %H:%M'})",
    "fields": "fields: {origin: string, delay: 'int?'}",
    "disorder": "disorder: {slack: 30 seconds}",
    "late": "late: {policy: update, every: 1 hour}",
    "every": "every: 1 hour",
    "retention": "retention: 12 hours",
    "shards": "shards: 8",
    "queries": "queries: {hourly: {window: …, aggregates: …}}",
    "window": "window: RANGE 1 hour SLIDE 10 minutes WATTR ts",
    "group_by": "group_by: [origin]",
    "aggregates": "aggregates: {flights: count, mean_delay: mean(delay)}",
    "sink": "sink: {table: flight_delays}",
    "source": "source: {topic: …, partitions: …, …}",
    "max_ahead": "max_ahead: 1 day",
    "policy": "policy: dead_letter (or drop, update)",
    "mode": "mode: generous (or consistent)",
    "tests": "tests: {one record: {given: […], expect: {hourly: [{window_id: 0}]}}}",
    "given": 'given: [\'s/0 0 {"ts": 1, "v": 5}\', \'s/0 1 control {"bound": 20}\']',
    "expect": "expect: {hourly: [{window_id: 0, values: {n: 1}}], dead_letters: []}",
}

_OF_A_SIDE = "window: 10 minutes or, with operator: join, SLIDING count(100)"
# The same for queries with operators.
_OF_OPERATORS = {
    "operator": "operator: sort (or aggregate, dedup, python:module:Class)",
    "window": "window: SLIDING count(20), count(5) PARTITIONED BY carrier",
    "by": "by: [delay desc, carrier]",
    "punctuate": "punctuate: {when: cancelled = 1}",
    "when": "when: cancelled = 1",
    "outputs": "outputs: {swing: float}",
    "settings": "settings: {scale: 2}",
    "steps": "steps: [{operator: dedup, …}, {operator: aggregate, …}]",
    "order": "order: lane",
    "clock": "clock: record",
    "late": "late: {policy: drop}",
    "policy": "policy: drop (or dead_letter)",
}


def describe(
    error: ValidationError, file: str, lines: dict[Path, int], model: type[BaseModel]
) -> list[Problem]:
    """Return one problem per pydantic error, in the order of the file."""
    problems = [_problem(finding, file, lines, model) for finding in error.errors()]
    return sorted(problems, key=lambda problem: problem.line)


def _problem(finding: Any, file: str, lines: dict[Path, int], model: type[BaseModel]) -> Problem:
    # Parts in brackets are pydantic's own: of a key, of the kind of a query.
    path: Path = tuple(part for part in finding["loc"] if not str(part).startswith("["))
    name = str(path[-1]) if path else ""
    message = _message(finding, name, model)
    example = _example(path, operator="[operator]" in finding["loc"] or "[steps]" in finding["loc"])
    if example and "such as" not in message and finding["type"] != "extra_forbidden":
        message += f"; an example: {example}"
    return Problem(file, line_of(path, lines), ".".join(map(str, path)), message)


def _example(path: Path, *, operator: bool) -> str | None:
    name = str(path[-1]) if path else ""
    if path[-2:-1] == ("topics",):  # the names below are the user's
        name = "topics"
    if path[-2:-1] == ("control",):  # its keys are called like others
        return None
    if path[:1] == ("join",) and name == "window":
        return _OF_A_SIDE
    return (_OF_OPERATORS.get(name) if operator else None) or _EXAMPLES.get(name)


def _message(finding: Any, name: str, model: type[BaseModel]) -> str:
    kind, value = finding["type"], finding.get("input")
    if kind == "missing":
        return f"{name} is missing and must be given"
    if kind == "extra_forbidden":
        known = known_keys(model, finding["loc"][:-1])
        said = f"unknown key {shown(name)}"
        if close := meant(name, known):
            return said + close
        others = f"; known are {', '.join(known)}" if known else ""
        return f"{said}: correct its spelling or take it out{others}"
    if kind == "value_error":
        return str(finding["msg"]).removeprefix("Value error, ")
    if kind == "string_type" and (advice := quoted(value)) is not None:
        return advice
    if (wanted := _WANTED.get(kind)) is not None:
        wanted = wanted.format_map(finding.get("ctx", {}))
        return f"{shown(value)} is not allowed: it has to be {wanted}"
    text = str(finding["msg"])
    return f"{shown(value)} is not allowed: {text[:1].lower()}{text[1:]}"


_WANTED = {
    "greater_than_equal": "at least {ge}",
    "greater_than": "more than {gt}",
    "less_than_equal": "at most {le}",
    "less_than": "less than {lt}",
    "int_type": "a whole number, without quotes",
    "float_type": "a number, without quotes",
    "bool_type": "true or false",
    "string_type": "a text",
    "list_type": "a list, as [a, b]",
    "tuple_type": "a list, as [a, b]",
    "dict_type": "a mapping, as {{a: 1}}",
}
"""What a value has to be, by the kind of pydantic's finding."""
