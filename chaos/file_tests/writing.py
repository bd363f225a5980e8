"""A test, written for a log: its records as lines, and what the definition makes of them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any, Final

from chaos.file_tests.reading import counted_fates, given_record
from chaos.readers.log import LogRecord
from windowing.model.file.file_tests import LETTERS
from windowing.model.file.pipeline import Pipeline
from windowing.model.file.yaml_lines import TEXT_MAX
from windowing.model.rows import dead_letter_lines, row_lines
from windowing.semantics import evaluate

RECORDS_MAX: Final = 1_000
"""The most records of a test that stands in a pipeline file; more belong in a file of events."""

_OTHER: Final = {"true", "false", "null"}
_PLAIN: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?: [A-Za-z0-9_]+)*")


class TooLong(ValueError):
    """A log that is no test in a pipeline file."""

    exit_code = 2


def written(pipeline: Pipeline, name: str, log: Iterable[LogRecord], lines: Iterable[bytes]) -> str:
    """Return a test as a part of a pipeline file.

    Args:
        name: the test's.
        log: its records.
        lines: the same, as lines of EVENTS.jsonl.

    Raises:
        TooLong: it has too many records, or a record too many characters.
    """
    log = list(log)
    if len(log) > RECORDS_MAX:
        msg = (
            f"{len(log):,} records are too many for a test in a pipeline file, which has at most "
            f"{RECORDS_MAX:,}: record fewer by --from and --to, or leave --test out and name the "
            "file of events in the test, as file: EVENTS.jsonl"
        )
        raise TooLong(msg)
    given = [_quoted(_line(record, line)) for record, line in zip(log, lines, strict=True)]
    text = ["tests:", f"  {_quoted(name)}:", *_listed("    given", given), "    expect:"]
    for one, expected in _expected(pipeline, log):
        if isinstance(expected, int):
            text.append(f"      {_quoted(one)}: {expected}")
        else:
            # A line of JSON is one of YAML, too: short, and as in OUT.jsonl.
            text += _listed(f"      {_quoted(one)}", [_json(line) for line in expected])
    return "\n".join([*text, ""])


def _listed(name: str, entries: list[str]) -> list[str]:
    if not entries:
        return [f"{name}: []"]
    margin = " " * (len(name) - len(name.lstrip()) + 2)
    return [f"{name}:", *(f"{margin}- {entry}" for entry in entries)]


def _quoted(text: str) -> str:
    """Return a text as YAML: a name as it is, any other in quotes."""
    if _PLAIN.fullmatch(text) and text.lower() not in _OTHER:
        return text
    return "'" + text.replace("'", "''") + "'" if text.isprintable() else _json(text)


def _json(value: object) -> str:
    """Return JSON that is YAML of the same meaning: characters that YAML folds are escaped."""
    text = json.dumps(value, ensure_ascii=False)
    return "".join(c if c.isprintable() else f"\\U{ord(c):08x}" for c in text)


def _line(record: LogRecord, event: bytes) -> str:
    """Return the shortest line that says a record."""
    place = f"{record.source}/{record.partition} {record.offset} "
    value = record.value or b""
    content = value if record.control is None else b"control " + record.control
    try:
        short = place + content.decode()
        if given_record(short) == record and short.isprintable():
            return _bounded(short, place)
    except ValueError:  # it is no text
        pass
    return _bounded(event.decode("utf-8", "replace"), place)


def _bounded(line: str, place: str) -> str:
    if len(line) > TEXT_MAX:
        msg = (
            f"{place.strip()}: its line has {len(line):,} characters, and one in a pipeline file "
            f"at most {TEXT_MAX:,}: leave --test out, and name the file of events in the test"
        )
        raise TooLong(msg)
    return line


def _expected(pipeline: Pipeline, log: list[LogRecord]) -> Iterator[tuple[str, Any]]:
    outcome = evaluate(pipeline, log)
    rows: dict[str, list[dict[str, Any]]] = {
        flow.name: [] for flow in pipeline.flows if not flow.by_wall_clock
    }
    for line in row_lines(outcome.rows):
        row = json.loads(line)
        rows.setdefault(row.pop("query"), []).append(row)
    yield from rows.items()
    yield LETTERS, [json.loads(line) for line in dead_letter_lines(outcome.dead)]
    some = next(iter(outcome.counts.values()))
    for name in counted_fates(pipeline):
        if some[name]:
            yield name, some[name]
