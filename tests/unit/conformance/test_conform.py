"""`slackwater conform`: a line that a reader cannot take fails alone, for all kinds of cases."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from slackwater.main import app

DATA = Path(__file__).parents[2] / "data"
FILES = {
    "wid": DATA / "wid" / "windows.jsonl",
    "samza": DATA / "samza" / "scenarios.jsonl",
    "spl": DATA / "spl" / "windows.jsonl",
    "spl-operators": DATA / "spl" / "operators.jsonl",
    "spl-validation": DATA / "spl" / "operator_validation.jsonl",
    "secret": DATA / "secret" / "experiments.jsonl",
    "gsn-graphs": DATA / "gsn" / "graphs.jsonl",
    "gsn-firings": DATA / "gsn" / "firings.jsonl",
}


def conform(kind: str, file: Path, *lines: bytes) -> Result:
    file.write_bytes(b"\n".join(lines))
    return CliRunner().invoke(app, ["conform", kind, str(file)])


def first(kind: str) -> bytes:
    with FILES[kind].open("rb") as opened:
        return opened.readline().rstrip()


@pytest.mark.parametrize("kind", FILES)
def test_a_line_that_cannot_be_read_fails_and_the_rest_is_judged(kind: str, tmp_path: Path) -> None:
    case = first(kind)
    deep = b"[" * 100_000
    lines = [case, b"{", b"", b"[]", b'{"id": "x", "note": "\xff"}', deep, case]
    result = conform(kind, tmp_path / "cases.jsonl", *lines)
    assert result.exit_code == 1, result.output
    said = result.stdout.splitlines()
    assert said[-1] == "2 passed, 4 failed"
    failed = [line for line in said if "FAIL" in line]
    places = [line.partition("cases.jsonl:")[2].partition(":")[0] for line in failed]
    assert places == ["2", "4", "5", "6"]


@pytest.mark.parametrize("kind", FILES)
def test_a_file_without_cases_and_one_that_cannot_be_opened_are_wrong_usage(
    kind: str, tmp_path: Path
) -> None:
    assert conform(kind, tmp_path / "cases.jsonl", b"", b" ").exit_code == 2
    result = CliRunner().invoke(app, ["conform", kind, str(tmp_path / "nowhere.jsonl")])
    assert getattr(result.exception, "exit_code", result.exit_code) == 2


def _without_lanes(case: dict[str, Any]) -> None:
    del case["config"]["lanes"]


def _window_is_a_list(case: dict[str, Any]) -> None:
    case["config"]["window"] = []


def _one_step_too_few(case: dict[str, Any]) -> None:
    case["expected"]["steps"].pop()


def _strange_step(case: dict[str, Any]) -> None:
    case["steps"][0] = {"op": "jump"}


def _session_in_windows(case: dict[str, Any]) -> None:
    case["operator"] = "session"
    case["config"] |= {"window": {"unit": "time", "gap": 3}, "retention": {"windows": 2}}


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (_without_lanes, "lacks 'lanes'"),
        (_window_is_a_list, "list indices must be integers"),
        (_one_step_too_few, "give one for each"),
        (_strange_step, "it cannot be run: ValueError: step 'jump' is not known"),
        (_session_in_windows, "needs a SLIDE in time or rows"),
    ],
)
def test_a_scenario_that_cannot_be_run_fails_with_the_reason(
    spoil: Callable[[dict[str, Any]], None], says: str, tmp_path: Path
) -> None:
    case = json.loads(first("samza"))
    spoil(case)
    result = conform("samza", tmp_path / "cases.jsonl", json.dumps(case).encode(), first("samza"))
    assert result.exit_code == 1, result.output
    assert says in result.output
    assert result.stdout.splitlines()[-1] == "1 passed, 1 failed"


def test_two_scenarios_of_one_id_are_both_judged(tmp_path: Path) -> None:
    result = conform("samza", tmp_path / "cases.jsonl", first("samza"), first("samza"))
    assert result.stdout.splitlines()[-1] == "2 passed, 0 failed"


UNFILLED: dict[str, Any] = {
    "profile": "both",
    "window": "sliding",
    "partitioned": False,
    "eviction": {"kind": "count", "size": 2},
    "trigger": {"kind": "time", "size": 2},
    "partition_eviction": None,
    "input": [{"op": "checkpoint", "name": "c"}, {"op": "advance", "to": 3}],
    "expected": [{"step": 1, "event": "trigger", "partition": None, "window": []}],
    "final": {},
}
INSERT = {"op": "insert", "partition": None, "value": 1}
EVICTED = [
    {"step": 0, "event": "initialFull", "partition": None, "window": []},
    {"step": 0, "event": "beforeInsert", "partition": None, "tuple": 1, "window": []},
    {"step": 0, "event": "afterInsert", "partition": None, "tuple": 1, "window": [1]},
    {"step": 1, "event": "beforeEvict", "partition": None, "tuple": 1, "window": [1]},
    {"step": 1, "event": "afterEvict", "partition": None, "tuple": 1, "window": []},
    {"step": 1, "event": "trigger", "partition": None, "window": None},
]


def test_a_tick_over_a_window_that_was_never_filled_shows_an_empty_one(tmp_path: Path) -> None:
    default = UNFILLED["expected"][0] | {"partition": "__default__"}
    by_time = {"eviction": {"kind": "time", "size": 1}}
    rows = [
        UNFILLED | {"id": "count"},
        UNFILLED | {"id": "time", **by_time},
        UNFILLED
        | {"id": "default", "profile": "osstreams", "partitioned": True, "expected": [default]},
        # Here it was filled, and the library has removed it with its last tuple (D3).
        UNFILLED
        | {"id": "gone", "profile": "osstreams", **by_time}
        | {"input": [INSERT, {"op": "advance", "to": 3}], "expected": EVICTED},
    ]
    lines = [json.dumps(row).encode() for row in rows]
    result = conform("spl", tmp_path / "cases.jsonl", *lines)
    assert result.stdout.splitlines()[-1] == "4 passed, 0 failed", result.output
