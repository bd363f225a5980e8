"""What reaches a terminal, a pipe, or nobody."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from rich.table import Table

from slackwater.console import plain, show
from tests.unit.slackwater.pipelines import event, written


@pytest.mark.parametrize("name", ["\x1b[31mred", "python:[/b]:b", "\udcff"])
@pytest.mark.parametrize("command", ["validate", "", "conform wid"])
def test_the_real_command_shows_names_of_files_as_they_are(command: str, name: str) -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "slackwater.main", *command.split(), os.fsencode(name)],
        capture_output=True,
        check=False,
        env={**os.environ, "COLUMNS": "200"},
    )
    assert ran.returncode == 2
    said = (ran.stdout + ran.stderr).decode()
    assert "\x1b" not in said
    assert "Traceback" not in said
    assert plain(name)[-4:] in said


def test_a_terminal_of_another_alphabet_loses_nothing() -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "slackwater.main", "validate", "ünïcode.yml"],
        capture_output=True,
        check=False,
        env={**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"},
    )
    assert ran.returncode == 2
    assert b"\\xfcn\\xefcode.yml" in ran.stderr


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("--help >&-", 0),
        ("validate p.yml >&-", 0),
        ("validate p.yml >&- 2>&- <&-", 0),
        ("validate none.yml 2>&-", 2),
        ("validate none.yml >&- 2>&- <&-", 2),
        ("run p.yml --input events.jsonl --output out.jsonl >&- 2>&- <&-", 0),
        ("explain p.yml > /dev/full", 1),
        ("validate none.yml 2> /dev/full", 1),
        ("trace p.yml --input events.jsonl | head -c 1", 1),
    ],
)
def test_whoever_listens_the_exit_code_is_the_same(tmp_path: Path, line: str, code: int) -> None:
    written(tmp_path, [event(0, at, {"ts": at, "k": "a", "v": 1}) for at in range(2000)])
    ran = subprocess.run(
        ["bash", "-o", "pipefail", "-c", f'"{sys.executable}" -m slackwater.main {line}'],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(Path.cwd())},
        capture_output=True,
        check=False,
    )
    assert ran.returncode == code, ran.stderr
    assert b"Traceback" not in ran.stderr
    assert b"mistake of ours" not in ran.stderr
    assert (tmp_path / "out.jsonl").exists() == line.startswith("run")


def called(*arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "slackwater.main", *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **environment},
    )


def test_it_says_its_version_and_completes_for_a_shell() -> None:
    assert re.fullmatch(r"slackwater \d+\.\d+\.\d+\n", called("--version").stdout)
    script = called("--show-completion", "bash")
    assert (script.returncode, script.stderr) == (0, "")
    assert "complete -o default" in script.stdout


def test_a_table_cuts_nothing_where_there_is_no_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    path = "/folder" * 40
    table = Table("run", "log")
    table.add_row("a run", path)
    show(table)
    (line,) = (one for one in capsys.readouterr().out.splitlines() if "folder" in one)
    assert "a run" in line
    assert path in line
