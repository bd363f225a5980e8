"""`slackwater why` on a log from a file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from slackwater.main import app

PIPELINE = """
name: p
source: {topic: s, partitions: 2, format: json, event_time: {field: ts, unit: s},
  fields: {k: string, n: int}, disorder: {slack: 5 s}}
queries:
  q:
    window: RANGE 10 s SLIDE 10 s WATTR ts
    group_by: [k]
    aggregates: {n: count}
    late: {policy: update, every: 20 s}
    retention: 100 s
  r: {window: RANGE 2 rows SLIDE 2 rows WATTR row_num PATTR n, aggregates: {c: count}}
"""
RECORDS = [(0, 0, 3), (1, 0, 5), (0, 1, 30), (1, 1, 12), (0, 2, 4), (0, 3, 200), (0, 4, 6)]


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    pipeline, events = tmp_path / "p.yml", tmp_path / "e.jsonl"
    pipeline.write_text(PIPELINE)
    with events.open("w") as file:
        for lane, offset, ts in RECORDS:
            value = {"ts": ts, "k": "a" if lane == 0 else "b", "n": lane}
            line = {"source": "s", "partition": lane, "offset": offset, "value": value}
            file.write(json.dumps(line) + "\n")
    return str(pipeline), str(events)


def said(files: tuple[str, str], *words: str, code: int = 0) -> str:
    done = CliRunner().invoke(app, ["why", files[0], "--input", files[1], *words])
    found = getattr(done.exception, "exit_code", done.exit_code)
    assert (found or done.exit_code) == code, done.output
    return f"{done.output}{done.exception or ''}"


def test_an_open_window_says_who_holds_it_back(files: tuple[str, str]) -> None:
    assert said(files, "--query", "q", "--window", "1970-01-01", "--key", "a").splitlines() == [
        "query q, window 0, k a: 1970-01-01T00:00:00Z to 1970-01-01T00:00:10Z",
        "open: it closes once all lanes have passed 1970-01-01T00:00:10Z; they are at "
        "1970-01-01T00:00:07Z",
        "  s/1 holds it back: at 1970-01-01T00:00:07Z since offset 1; a record of "
        "1970-01-01T00:00:15Z, or a bound of 1970-01-01T00:00:10Z, releases it",
        "it holds 2 records:",
        "  s/0 offset 0, 1970-01-01T00:00:03Z (its lane was at its beginning): revision 0, due at "
        "1970-01-01T00:00:10Z",
        "  s/0 offset 2, 1970-01-01T00:00:04Z (its lane was at 1970-01-01T00:00:25Z): revision 1, "
        "due at 1970-01-01T00:00:40Z",
        "1 record came too late for it:",
        "  s/0 offset 4, 1970-01-01T00:00:06Z (its lane was at 1970-01-01T00:03:15Z): "
        "out_of_retention",
    ]
    found = json.loads(said(files, "--query", "q", "--window", "0", "--key", "a", "--json"))
    assert [lane["holds_back"] for lane in found["lanes"]] == [False, True]
    assert [record["sent"] for record in found["records"]] == [False, False]


def test_windows_over_rows_count(files: tuple[str, str]) -> None:
    closed = said(files, "--query", "r", "--window", "0", "--key", "0")
    assert "closed: 2 records" in closed
    waits = said(files, "--query", "r", "--window", "2", "--key", "0")
    assert "open: its rows are counted" in waits


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("--window", "0", "--key", "a"), "several queries, q, r"),
        (("--query", "x", "--window", "0"), "the queries with windows are: q, r"),
        (("--query", "q", "--window", "0"), "has the key k: give one --key for each"),
        (("--query", "r", "--window", "0", "--key", "a"), "--key a: not of type int"),
        (("--query", "q", "--window", "soon", "--key", "a"), "or the window's id"),
        (("--query", "q", "--window", "1970-01-01T01", "--key", "a"), "no window that begins"),
    ],
)
def test_what_is_not_a_window_is_said(
    files: tuple[str, str], words: tuple[str, ...], why: str
) -> None:
    assert why in " ".join(said(files, *words, code=2).replace("│", " ").split())
