"""Every command × every way in which a file that it is given may be none: exit 2, one sentence.

The commands run as a user runs them, in one process here: `run` gives the exit code that the real
command ends with. Those that need the stack are asked for files before they ask for the stack.
"""

import contextlib
import io
import os
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from slackwater.main import run
from tests.sampling import sampled
from tests.unit.slackwater.pipelines import written

ROOT = Path(__file__).resolve().parents[3]

# A command with what it is given; `{bad}` is the file that is none. What kinds of files it may be.
PIPELINE = {
    "run": "run {bad} --input events.jsonl --output out.jsonl",
    "verify": "verify {bad} --input events.jsonl --output rows.jsonl",
    "explain": "explain {bad}",
    "validate": "validate {bad}",
    "tune": "tune {bad} --input events.jsonl",
    "punctuate": "punctuate {bad} --input events.jsonl --output out.jsonl",
    "trace": "trace {bad} --input events.jsonl",
    "heartbeat": "heartbeat {bad} --once",
    "topics": "topics {bad}",
    "submit": "submit {bad} --run r",
    "progress": "progress {bad} --run r",
    "stop": "stop {bad}",
    "quality": "quality {bad} --run r",
    "plot": "plot {bad} --run r --png out.png",
    "state": "state {bad}",
    "replay": "replay {bad}",
    "replay --shadow": "replay p.yml --shadow {bad} --input events.jsonl",
    "replay of an old file": "replay {bad} --shadow p.yml --input events.jsonl",
    "simulate": "chaos simulate --runs 1 --pipeline {bad}",
    "chaos run": "chaos run {bad} --report reports --state-dir state",
}
LOG = {
    "run": "run p.yml --input {bad} --output out.jsonl",
    "verify": "verify p.yml --input {bad} --output rows.jsonl",
    "tune": "tune p.yml --input {bad}",
    "punctuate": "punctuate p.yml --input {bad} --output out.jsonl",
    "trace": "trace p.yml --input {bad}",
    "replay --shadow": "replay p.yml --shadow p.yml --input {bad}",
}
CASES = {
    "conform wid": "conform wid {bad}",
    "conform wid by definition": "conform wid {bad} --by definition",
    "conform samza": "conform samza {bad}",
    "simulate --replay": "chaos simulate --replay {bad}",
}
OUTPUT = {
    "verify --output": "verify p.yml --input events.jsonl --output {bad}",
    "verify --table": "verify p.yml --input events.jsonl --table {bad}",
}
KINDS = (
    "missing",
    "folder",
    "unreadable",
    "empty",
    "binary",
    "in no folder",
    "loop of links",
    "endless",
)


@dataclass
class Ended:
    code: int
    out: str
    said: str


@pytest.fixture
def end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Ended]:
    written(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SLACKWATER_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("COLUMNS", "1000")
    for name in ("rows.jsonl", "rows.dead.jsonl", "bad.dead.jsonl", "bad.dead"):
        (tmp_path / name).touch()

    def ended(line: str) -> Ended:
        monkeypatch.setattr(sys, "argv", ["slackwater", *line.split()])
        out, said = Stream(), Stream()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(said):
            try:
                code = run()
            except SystemExit as exit_:
                code = int(exit_.code or 0)
        return Ended(code, out.text(), said.text())

    return ended


class Stream(io.TextIOWrapper):
    """Standard output or error, kept."""

    def __init__(self) -> None:
        super().__init__(io.BytesIO(), "utf-8", write_through=True)

    def text(self) -> str:
        self.flush()
        return self.buffer.getvalue().decode()  # type: ignore[attr-defined]


def make(kind: str, folder: Path) -> Path:
    bad = folder / "bad"
    match kind:
        case "folder":
            bad.mkdir()
        case "unreadable":
            bad.write_text("name: x\n")
            bad.chmod(0)
            if os.access(bad, os.R_OK):  # root may read anything: a file that nobody can read
                bad.unlink()
                bad.symlink_to("/proc/self/mem")
        case "empty":
            bad.touch()
        case "binary":
            bad.write_bytes(bytes(range(256)) * 40)
        case "in no folder":
            bad = folder / "events.jsonl" / "bad"
        case "endless":
            bad.symlink_to("/dev/zero")
        case "loop of links":
            bad.symlink_to(bad)
    return bad


def inputs() -> list[tuple[str, str]]:
    """Every command with every kind of file; an empty log is a log, an empty output lost all.

    Of a file of cases each line is judged, so that a binary one has failures.
    """
    empty_is_fine = {*LOG.values(), OUTPUT["verify --output"]}
    commands = [*PIPELINE.values(), *LOG.values(), *CASES.values(), *OUTPUT.values()]
    return [
        (command, kind)
        for command in commands
        for kind in KINDS
        if not (kind == "empty" and command in empty_is_fine)
        and not (kind == "binary" and command.startswith("conform"))
    ]


@pytest.mark.parametrize(("command", "kind"), sampled(inputs(), every=7))
def test_what_is_no_file_of_its_kind_is_said_in_a_sentence(
    end: Callable[[str], Ended], tmp_path: Path, command: str, kind: str
) -> None:
    bad = make(kind, tmp_path)
    before = set(tmp_path.iterdir())
    ended = end(command.format(bad=bad.relative_to(tmp_path)))
    assert ended.code == 2, (ended.out, ended.said)
    assert "bad" in ended.said
    assert "error:" in ended.said
    assert "mistake of ours" not in ended.said
    assert "Traceback" not in ended.said
    assert len(ended.said) < 1000, ended.said
    made = set(tmp_path.iterdir()) - before
    assert not {path.name for path in made} & {"out.jsonl", "out.dead.jsonl", "out.png"}
    shutil.rmtree(tmp_path / "reports", ignore_errors=True)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("up nonsense", "'nonsense' is not a part of the stack: name some of kafka"),
        ("up kafka ''", "not a part of the stack"),
        ("progress p.yml --run r --until garbage", "--until garbage: give the offset"),
        ("progress p.yml --run r --until [1]", "--until [1]: give the offset"),
        ('progress p.yml --run r --until {"0":-1}', "give the offset of each partition"),
        ('progress p.yml --run r --until {"x":1}', "give the offset of each partition"),
        ("tune p.yml --input events.jsonl --png x.exe", "x.exe: a picture is written as .png or"),
        ("tune p.yml --input events.jsonl --png no/x.png", "there is no folder"),
        ("tune p.yml --input events.jsonl --late nonsense", "--late"),
        ("plot p.yml --run r --png x.gif", "x.gif: a picture is written as .png or .svg"),
        ("explain p.yml --picture x.exe", "x.exe: a picture is written as .png or .svg"),
        ("explain p.yml --picture .", "is a folder: name a file in it"),
        ("run p.yml --input events.jsonl --output no/out.jsonl", "there is no folder"),
        ("run p.yml --input events.jsonl --output .", "is a folder: name a file in it"),
        ("punctuate p.yml --input events.jsonl --output no/x", "there is no folder"),
        ("punctuate p.yml --input events.jsonl --output x --every never", "--every"),
        ("produce --output no/x", "there is no folder"),
        ('replay p.yml --shadow p.yml --input events.jsonl --from {"0":[]}', "neither offsets"),
        ("heartbeat p.yml --max-delay 1s --every nonsense", "--every"),
        ("chaos simulate --guilty nobody", "no engine is called 'nobody'"),
        ("chaos simulate --record no", "--record keeps what convicts a planted defect"),
        ("check-aggregate a:B --within inf", "--within"),
        ("state p.yml --run ../x", "--run: '../x' is not a name"),
        ("tune p.yml --topic --bootstrap nonsense", "not a Kafka broker's address"),
        ("tune p.yml --topic --bootstrap 127.0.0.1:99999", "not a Kafka broker's address"),
        ("tune p.yml --topic --bootstrap 127.0.0.1:0", "not a Kafka broker's address"),
        ("nonsense", "No such command 'nonsense'"),
        ("verify p.yml --topic --input a --output b", "give the log as"),
        ("verify p.yml --output a --table b --topic", "give the output as"),
    ],
)
def test_a_wrong_command_line_is_said_in_a_sentence(
    end: Callable[[str], Ended], line: str, said: str
) -> None:
    ended = end(line)
    assert ended.code == 2, ended.said
    assert said in ended.said
    assert "mistake of ours" not in ended.said
