"""No command does more for a log than `source.control` says, or imports what a record names."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.unit.slackwater.pipelines import EVENTS, PIPELINE
from windowing.model.control import COUNTER_HEADER, SIGNATURE_HEADER, signature

# Importing it leaves a trace; so does a plug-in that the file does not use.
MODULE = """
from pathlib import Path
from windowing.model.windows.registry import window
Path(__file__).with_name("imported").touch()
class Class:
    returns = "int"
    def init(self): return 0
    def update(self, state, value): return state + 1
    def merge(self, left, right): return left + right
    def result(self, state): return state
@window("named_by_a_log")
class Window:
    pass
"""
WINDOW = "RANGE 10 us SLIDE 10 us WATTR ts"


def added(**more: Any) -> dict[str, Any]:
    query = {"window": WINDOW, "aggregates": {"n": "count"}, "from": 50, **more}
    return {"queries": {"add": {f"new{abs(hash(str(more))) % 10_000}": query}}}


HOSTILE = [
    added(aggregates={"n": "python:named_by_a_log:Class(v)"}),
    added(aggregates={"n": "named_by_a_log(v)"}),
    added(window={"named_by_a_log": {"a": 1}, "wattr": "ts"}),
    {"queries": {"add": {"op": {"from": 50, "operator": "python:named_by_a_log:Class"}}}},
    {"queries": {"add": {"op": {"from": 50, "window": WINDOW, "sink": "named_by_a_log"}}}},
    added(window="RANGE 1000000 us SLIDE 1 us WATTR ts"),
    {"queries": {"add": {f"q{n}": added()["queries"]["add"].popitem()[1] for n in range(2_000)}}},
    {"queries": {"add": {"x": {"from": "y" * 300_000}}}},
    {"queries": [[[[]]]]},
]
PLUGINS = {
    "windows": {"named_by_a_log": "named_by_a_log:Window"},
    "aggregates": {"named_by_a_log": "named_by_a_log:Class"},
}
COMMANDS = {
    "run": ["run", "{p}", "--input", "{e}", "--output", "{o}"],
    "run in batches": ["run", "{p}", "--input", "{e}", "--output", "{o}", "--batch-rows", "1"],
    "verify": ["verify", "{p}", "--input", "{e}", "--output", "{o}"],
    "dead": ["dead", "{p}", "--input", "{e}", "--output", "{o}"],
    "quality": ["quality", "{p}", "--input", "{e}", "--output", "{o}"],
    "why": ["why", "{p}", "--input", "{e}", "--query", "lost", "--window", "0"],
    "trace": ["trace", "{p}", "--input", "{e}"],
    "tune": ["tune", "{p}", "--input", "{e}"],
    "punctuate": ["punctuate", "{p}", "--input", "{e}", "--output", "{n}"],
}


@pytest.fixture
def case(tmp_path: Path) -> dict[str, Path]:
    files = {
        name: tmp_path / file
        for name, file in (("p", "p.yml"), ("e", "e.jsonl"), ("o", "o.jsonl"), ("n", "n.jsonl"))
    }
    (tmp_path / "named_by_a_log.py").write_text(MODULE)
    return files


def slackwater(folder: Path, *arguments: str) -> tuple[int, str]:
    ran = python(folder, "-m", "slackwater.main", *arguments)
    return ran.returncode, ran.stdout + ran.stderr


def one_by_one(folder: Path, commands: list[list[str]]) -> list[tuple[int, str]]:
    """Run some commands in one process, up to one that leaves a trace of an import."""
    code = f"""
import json
from pathlib import Path
from typer.testing import CliRunner
from slackwater.main import app
for words in {commands}:
    done = CliRunner().invoke(app, words)
    assert not Path({str(folder)!r}, "imported").exists(), words
    print(json.dumps([done.exit_code, done.output]))
"""
    ran = python(folder, "-c", code)
    assert ran.returncode == 0, ran.stderr[-2000:]
    return [(code, said) for code, said in map(json.loads, ran.stdout.splitlines())]


def python(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run Python with the module that a log names on its path, and as a plug-in."""
    plugins = {"SLACKWATER_PLUGINS": json.dumps(PLUGINS)}
    path = os.pathsep.join([str(folder), str(Path.cwd())])
    return subprocess.run(
        [sys.executable, *words],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **plugins, "PYTHONPATH": path},
    )


def lines_of(file: Path) -> list[Any]:
    return [json.loads(line) for line in file.read_text().splitlines()]


def write(case: dict[str, Path], rule: str) -> None:
    text = PIPELINE.replace("disorder:", f"control: {rule}\n  disorder:")
    case["p"].write_text(text)
    lines = [json.loads(line) for line in EVENTS]
    for offset, control in enumerate(HOSTILE, 10):
        lines += [
            {"source": "t", "partition": lane, "offset": offset, "control": control}
            for lane in (0, 1)
        ]
    case["e"].write_text("".join(json.dumps(line) + "\n" for line in lines))


@pytest.mark.parametrize("rule", ["bounds", "all"])
def test_no_command_imports_what_a_log_names(case: dict[str, Path], rule: str) -> None:
    write(case, rule)
    names = ["run", "verify"] if rule == "bounds" else [*COMMANDS]
    filled = [[word.format(**case) for word in COMMANDS[name]] for name in names]
    for name, (code, said) in zip(names, one_by_one(case["p"].parent, filled), strict=True):
        assert code in (0, 1), (name, said[-2000:])
        assert "Traceback" not in said, (name, said[-2000:])
        if name.startswith("run") or name == "verify":
            assert code == 0, (name, said[-2000:])
    letters = lines_of(case["p"].with_name("o.dead.jsonl"))
    refused = [one for one in letters if one["offset"] >= 10]
    assert len(refused) == 2 * len(HOSTILE)
    assert {one["reason"] for one in refused} <= {"not_allowed", "malformed"}


def test_a_signed_log_is_run_and_verified_with_its_secret(
    case: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    signed_log_is_run_and_verified(case, monkeypatch)


def signed_log_is_run_and_verified(case: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    rule = "{believe: all, key: TEST_CONTROL_KEY}"
    case["p"].write_text(PIPELINE.replace("disorder:", f"control: {rule}\n  disorder:"))
    lines = [json.loads(line) for line in EVENTS[:-1]]
    for lane, offset in ((0, 10), (1, 10)):
        control = json.dumps({"bound": 90})
        digits = signature(b"of a test", f"t/{lane}", 1, control.encode()).decode()
        headers = json.dumps({SIGNATURE_HEADER: digits, COUNTER_HEADER: "1"})
        head = f'{{"source":"t","partition":{lane},"offset":{offset}'
        lines.append(f'{head},"headers":{headers},"control":{control}}}')
        lines.append(f'{head[:-2]}11,"control":{{"end":true}}}}')
    text = "".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines)
    case["e"].write_text(text)
    words = ["run", str(case["p"]), "--input", str(case["e"]), "--output", str(case["o"])]
    monkeypatch.delenv("TEST_CONTROL_KEY", raising=False)
    code, said = slackwater(case["p"].parent, *words)
    assert code == 2
    assert "the environment variable TEST_CONTROL_KEY is not set" in said
    monkeypatch.setenv("TEST_CONTROL_KEY", "of a test")
    code, said = slackwater(case["p"].parent, *words)
    assert code == 0, said
    letters = lines_of(case["p"].with_name("o.dead.jsonl"))
    assert [one["offset"] for one in letters if one["reason"] == "not_allowed"] == [11, 11]
    rows = lines_of(case["o"])
    assert max(row["window_end"] for row in rows) == 40
    words[0] = "verify"
    code, said = slackwater(case["p"].parent, *words)
    assert code == 0, said


def test_a_log_of_many_changes_is_read_again_once(case: dict[str, Path]) -> None:
    case["p"].write_text(PIPELINE.replace("disorder:", "control: all\n  disorder:"))
    lines = [json.loads(line) for line in EVENTS]
    for offset in range(10, 14):
        query = {"window": WINDOW, "aggregates": {"n": "count"}, "from": 50 + offset}
        control = {"queries": {"add": {f"new{offset}": query}}}
        lines += [
            {"source": "t", "partition": lane, "offset": offset, "control": control}
            for lane in (0, 1)
        ]
    case["e"].write_text("".join(json.dumps(line) + "\n" for line in lines))
    asked = [str(case["p"]), "--input", str(case["e"]), "--output", str(case["o"])]
    code, said = slackwater(case["p"].parent, "run", *asked)
    assert code == 0, said
    code, said = slackwater(case["p"].parent, "verify", *asked)
    assert code == 0, said
    assert said.count("is read again") == 1
    assert said.count("new1") == 4  # each is accounted for
