"""`slackwater conform spl`: what it says of scenarios that differ, and refuses to read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from slackwater.main import app

ROW: dict[str, Any] = {
    "id": "x",
    "profile": "both",
    "window": "tumbling",
    "partitioned": False,
    "eviction": {"kind": "count", "size": 1},
    "trigger": None,
    "partition_eviction": None,
    "input": [],
    "expected": [],
}
INSERT = {"op": "insert", "partition": None, "value": 1}
PORT: dict[str, Any] = {"type": "tumbling", "eviction": {"kind": "count", "size": 2}}
OPERATOR: dict[str, Any] = {
    "id": "y",
    "profile": "both",
    "operator": "Sort",
    "windows": [PORT],
    "params": {"sortBy": ["n"]},
    "input": [],
    "expected": [],
}


def judged(path: Path, *rows: dict[str, Any] | str, kind: str = "spl") -> Result:
    lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
    path.write_text("\n".join(lines), encoding="utf-8")
    return CliRunner().invoke(app, ["conform", kind, str(path)])


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ("{", "no WindowCase"),
        (ROW | {"eviction": {"kind": "weight"}}, "eviction.kind"),
        (ROW | {"eviction": {"kind": "count", "sise": 1}}, "sise"),
        (ROW | {"input": [{"op": "insrt"}]}, "insrt"),
        (ROW | {"input": [INSERT | {"valeu": 1}]}, "valeu"),
        (ROW | {"interval": {"intervalDuration": 1, "notes": ""}}, "interval.notes"),
        (ROW | {"profile": "papers"}, "profile"),
        (
            ROW | {"partition_eviction": {"kind": "tupleCount", "selection": {"mark": "newest"}}},
            "partition_eviction.selection",
        ),
    ],
)
def test_what_is_no_scenario_is_named_with_its_line(
    tmp_path: Path, row: dict[str, Any] | str, says: str
) -> None:
    result = judged(tmp_path / "f.jsonl", ROW, row)
    assert result.exit_code == 1
    assert "f.jsonl:2: FAIL: no WindowCase" in result.stdout
    assert says in result.stdout
    assert result.stdout.splitlines()[-1] == "1 passed, 1 failed"


def test_an_unknown_annotation_of_a_row_is_ignored(tmp_path: Path) -> None:
    noted = ROW | {"notes": "by hand", "seen": {"by": ["two"]}}
    assert judged(tmp_path / "f.jsonl", noted, ROW).exit_code == 0


@pytest.mark.parametrize(
    ("inner", "says"),
    [
        ({"windows": [PORT | {"notes": ""}]}, "windows.0.notes"),
        ({"windows": [PORT | {"eviction": {"kind": "punct", "notes": ""}}]}, "eviction.notes"),
        ({"params": {"sortBy": ["n"], "notes": ""}}, "params.notes"),
        ({"input": [{"op": "advance", "to": 1, "notes": ""}]}, "advance.notes"),
    ],
)
def test_an_unknown_field_within_an_operators_row_is_an_error(
    tmp_path: Path, inner: dict[str, Any], says: str
) -> None:
    row = OPERATOR | {"notes": "by hand"}
    assert judged(tmp_path / "f.jsonl", row, kind="spl-operators").exit_code == 0
    result = judged(tmp_path / "f.jsonl", row | inner, kind="spl-operators")
    assert result.exit_code == 1
    assert says in result.stdout


def test_the_first_event_that_differs_is_shown(tmp_path: Path) -> None:
    result = judged(tmp_path / "f.jsonl", ROW | {"input": [INSERT]})
    assert result.exit_code == 1
    assert 'step 0: expected null, got {"event":"beforeInsert"' in result.output


SLIDING = ROW | {"window": "sliding", "trigger": {"kind": "count", "size": 1}}


@pytest.mark.parametrize(
    ("row", "code"),
    [
        (SLIDING | {"eviction": {"kind": "punct"}, "construct_error": True}, 0),
        (SLIDING | {"eviction": {"kind": "punct"}}, 1),
        (SLIDING | {"construct_error": True}, 1),
        (SLIDING | {"trigger": None, "profile": "paper", "construct_error": True}, 0),
        (SLIDING | {"trigger": None, "profile": "osstreams"}, 0),
    ],
)
def test_windows_that_are_to_be_refused(tmp_path: Path, row: dict[str, Any], code: int) -> None:
    assert judged(tmp_path / "f.jsonl", row).exit_code == code


def test_a_call_that_is_to_be_refused(tmp_path: Path) -> None:
    row = ROW | {"input": [{"op": "punct", "punct": "window"}]}
    refused = {"step": 0, "event": "exception", "what": "the library's words"}
    assert judged(tmp_path / "f.jsonl", row | {"expected": [refused]}).exit_code == 0
    assert judged(tmp_path / "f.jsonl", row).exit_code == 1
