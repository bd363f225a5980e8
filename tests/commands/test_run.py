"""Users' classes that end the process, raise, hang or never end: a sentence and our exit code."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from slackwater import limited
from tests.unit.chaos.test_order_freedom import HERE
from tests.unit.slackwater.pipelines import written
from tests.unit.slackwater.test_run import FAILING, command, with_class


def ran_for_real(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "slackwater.main", *arguments],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), str(Path.cwd())])},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("code", [0, 5])
@pytest.mark.parametrize("command_", ["validate", "run"])
def test_a_module_that_ends_the_process_does_not_say_how_we_end(
    tmp_path: Path, command_: str, code: int
) -> None:
    pipeline, events = with_class(tmp_path, f"import os; os._exit({code})")
    more = ["--input", str(events), "--output", str(tmp_path / "o")] if command_ == "run" else []
    ran = ran_for_real(tmp_path, command_, str(pipeline), *more)
    assert ran.returncode == 2
    assert f"importing its classes ended its process with exit code {code}" in ran.stderr


@pytest.mark.parametrize("code", [0, 2])
def test_a_class_that_ends_the_process_does_not_say_how_we_end(tmp_path: Path, code: int) -> None:
    pipeline, events = with_class(
        tmp_path, FAILING.replace("BODY", f"__import__('os')._exit({code})")
    )
    out = tmp_path / "out.jsonl"
    ran = ran_for_real(tmp_path, "run", str(pipeline), "--input", str(events), "--output", str(out))
    assert ran.returncode == 1
    assert ran.stderr.startswith(f"error: the command was ended with exit code {code} by code")
    assert not out.exists()


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("class Z(BaseException): pass\nraise Z('its words')", "Z: its words"),
        ("raise type('E', (Exception,), {'__reduce__': lambda self: 1 / 0})('own')", "E: own"),
    ],
)
def test_whatever_a_module_raises_is_a_sentence(tmp_path: Path, source: str, said: str) -> None:
    pipeline, _ = with_class(tmp_path, source)
    ran = ran_for_real(tmp_path, "validate", str(pipeline))
    assert ran.returncode == 2
    assert "Traceback" not in ran.stderr
    assert said in ran.stderr


def test_a_module_that_never_ends_has_a_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(limited, "WITHIN_S", 5.0)
    pipeline, _ = with_class(tmp_path, "while True: pass")
    ran = command("validate", pipeline)
    assert ran.exit_code == 2
    assert "importing its classes has not ended after 5 s" in ran.output
    assert "import_seconds: 25" in ran.output
    monkeypatch.setenv("SLACKWATER_IMPORT_SECONDS", "2")
    assert "has not ended after 2 s" in command("validate", pipeline).output
    monkeypatch.setenv("SLACKWATER_IMPORT_SECONDS", "soon")
    said = command("validate", pipeline).output.replace("│", " ").split()
    assert "'soon', and must be a number of seconds" in " ".join(said)


def test_what_a_users_class_does_is_its_own_sentence(tmp_path: Path) -> None:
    what_a_users_class_does_is_its_own_sentence(tmp_path, "local")


def what_a_users_class_does_is_its_own_sentence(tmp_path: Path, engine: str) -> None:
    (tmp_path / "breaking.py").write_text(FAILING.replace("BODY", "import sys; sys.exit(7)"))
    pipeline, events = written(tmp_path)
    text = pipeline.read_text().replace("all: sum(v)", "all: 'python:breaking:Breaks(v)'")
    pipeline.write_text(text)
    out = tmp_path / "out.jsonl"
    options = ["--input", str(events), "--output", str(out), "--engine", engine]
    # A separate process: the modules that Spark's workers find are settled when it starts.
    ran = ran_for_real(tmp_path, "run", str(pipeline), *options)
    assert ran.returncode == 0, ran.stderr
    assert re.search(r"dead letters, \d+ by refused_by:all: .*SystemExit: 7", ran.stderr), (
        ran.stderr
    )
    assert "Traceback" not in ran.stderr or engine == "spark"
    letters = map(json.loads, (tmp_path / "out.dead.jsonl").read_text().splitlines())
    assert "refused_by:all" in {letter["reason"] for letter in letters}


def test_what_a_users_class_refuses_is_a_dead_letter(tmp_path: Path) -> None:
    what_a_users_class_refuses_is_a_dead_letter(tmp_path, "local")


def what_a_users_class_refuses_is_a_dead_letter(tmp_path: Path, engine: str) -> None:
    check = "    @staticmethod\n    def check(value):\n        if value != 1: 1 / 0\n"
    (tmp_path / "picky.py").write_text(FAILING.replace("BODY", "return state + value") + check)
    pipeline, events = written(tmp_path)
    text = pipeline.read_text().replace("all: sum(v)", "all: 'python:picky:Breaks(v)'")
    pipeline.write_text(text)
    out = tmp_path / "out.jsonl"
    words = ["run", str(pipeline), "--input", str(events), "--output", str(out)]
    ran = ran_for_real(tmp_path, *words, "--engine", engine)
    assert ran.returncode == 0, ran.stderr
    dead = (tmp_path / "out.dead.jsonl").read_text()
    assert '"reason":"refused_by:all"' in dead
    assert '"query":null,"reason":"refused_by' not in dead
    judged = ["verify", str(pipeline), "--input", str(events), "--output", str(out)]
    ran = ran_for_real(tmp_path, *judged)
    assert ran.returncode == 0, ran.stdout + ran.stderr


@pytest.mark.parametrize(
    ("name", "arguments", "code", "said"),
    [
        ("Endless", ["--within", "8"], 1, "has not ended after 8 s: does it loop forever?"),
        ("Quitting", [], 1, "Quitting ended its process with exit code 7"),
        ("Leaving", [], 1, "failed: SystemExit: 7"),
        ("Misspelt", [], 2, "the annotations of update cannot be read"),
        ("InOrder", ["--takes", "number"], 2, "--takes 'number' is not a type"),
    ],
)
def test_no_class_can_hang_or_end_the_command(
    name: str, arguments: list[str], code: int, said: str
) -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "slackwater.main", "check-aggregate", f"{HERE}:{name}", *arguments],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == code, ran.stderr
    assert said in ran.stdout + ran.stderr
    assert "Traceback" not in ran.stderr
