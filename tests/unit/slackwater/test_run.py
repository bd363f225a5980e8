"""`slackwater run`: both files or none, nothing overwritten that it reads, no record forgotten."""

import os
import re
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner, Result

from slackwater.main import app
from tests.sampling import sampled
from tests.unit.slackwater.pipelines import written
from windowing.engine.tally import Tally
from windowing.model.fates import Counts
from windowing.model.rows import DeadLetter
from windowing.runtime.output import RecordsUnaccounted, check_counts


def command(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(one) for one in arguments])


def test_a_run_without_a_record_says_so(tmp_path: Path) -> None:
    pipeline, events = written(tmp_path, [])
    ran = command("run", pipeline, "--input", events, "--output", tmp_path / "out.jsonl")
    assert ran.exit_code == 0
    assert "tens: read 0 = applied 0 + outside 0 + dropped 0 + dead 0" in ran.stdout


def test_a_run_that_lost_a_record_fails_and_writes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    take = Tally.take

    def forgetful(self: Tally, offsets: pl.Series, records: int, bad: pl.DataFrame) -> None:
        take(self, offsets, records + 1, bad)

    monkeypatch.setattr(Tally, "take", forgetful)
    pipeline, events = written(tmp_path)
    ran = command("run", pipeline, "--input", events, "--output", tmp_path / "out.jsonl")
    assert isinstance(ran.exception, RecordsUnaccounted)
    assert ran.exception.exit_code == 1
    assert not (tmp_path / "out.jsonl").exists()


def test_counts_must_fit_the_dead_letters() -> None:
    letters = [DeadLetter("t", 0, 1, None, "malformed"), DeadLetter("t", 0, 2, "other", "late")]
    check_counts("q", Counts.of(read=2, applied=1, dead=1), letters)
    with pytest.raises(RecordsUnaccounted, match="0 dead letters were written"):
        check_counts("q", Counts.of(read=2, applied=1, dead=1), letters[1:])


@pytest.mark.parametrize(
    "way", ["itself", "another spelling", "a symlink", "a hard link", "a link to a folder"]
)
@pytest.mark.parametrize("victim", ["input", "pipeline", "input by the dead letters' name"])
def test_it_never_writes_over_what_it_reads(tmp_path: Path, way: str, victim: str) -> None:
    pipeline, events = written(tmp_path)
    if victim.startswith("input by"):
        events = events.rename(tmp_path / "log.dead.jsonl")
    target = pipeline if victim == "pipeline" else events
    given = tmp_path / "given.dead.jsonl"
    match way:
        case "itself":
            given = target
        case "another spelling":
            given = tmp_path / "." / ".." / tmp_path.name / target.name
        case "a symlink":
            given.symlink_to(target)
        case "a hard link":
            os.link(target, given)
        case "a link to a folder":
            (tmp_path / "here").symlink_to(tmp_path)
            given = tmp_path / "here" / target.name
    if victim.startswith("input by"):
        given = given.with_name(given.name.replace(".dead.jsonl", ".jsonl"))
    before = {path: path.read_bytes() for path in tmp_path.glob("*.*")}
    ran = command("run", pipeline, "--input", events, "--output", given)
    assert ran.exit_code == 2, ran.output
    assert "it would be lost" in re.sub(r"[\s│]+", " ", ran.output)
    assert {path: path.read_bytes() for path in tmp_path.glob("*.*")} == before


@pytest.mark.parametrize("victim", ["p.yml", "events.jsonl"])
@pytest.mark.parametrize(
    "arguments",
    [
        ["punctuate", "--input", "events.jsonl", "--output"],
        ["trace", "--input", "events.jsonl", "--output"],
        ["tune", "--input", "events.jsonl", "--png"],
        ["explain", "--picture"],
    ],
    ids=lambda arguments: arguments[0],
)
def test_no_command_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], victim: str
) -> None:
    written(tmp_path)
    monkeypatch.chdir(tmp_path)
    if "--input" not in arguments:
        victim = "p.yml"
    (tmp_path / "link.png").symlink_to(victim)
    before = (tmp_path / victim).read_bytes()
    ran = command(arguments[0], "p.yml", *arguments[1:], "link.png")
    assert ran.exit_code == 2, ran.output
    assert (tmp_path / victim).read_bytes() == before


def test_two_outputs_are_two_files(tmp_path: Path) -> None:
    pipeline, events = written(tmp_path)
    (tmp_path / "out.dead.jsonl").touch()
    (tmp_path / "out.jsonl").symlink_to("out.dead.jsonl")
    ran = command("run", pipeline, "--input", events, "--output", tmp_path / "out.jsonl")
    assert ran.exit_code == 2


def test_no_room_leaves_the_old_files_and_says_so(tmp_path: Path) -> None:
    pipeline, events = written(tmp_path)
    out = tmp_path / "out.jsonl"
    out.write_text("old\n")
    (tmp_path / "out.dead.jsonl").symlink_to("/dev/full")
    ran = command("run", pipeline, "--input", events, "--output", out)
    assert isinstance(ran.exception, OSError)
    assert "No space left on device" in str(ran.exception)
    assert out.read_text() == "old\n"


FAILING = """
import functools
class Breaks:
    returns = "int"
    def init(self): return 0
    def update(self, state, value: int): BODY
    def merge(self, left, right): return left + right
    def result(self, state): return state
"""


def with_class(folder: Path, source: str) -> tuple[Path, Path]:
    """A pipeline that names its own class, and its log."""
    (folder / "breaking.py").write_text(source)
    pipeline, events = written(folder)
    text = pipeline.read_text().replace("all: sum(v)", "all: 'python:breaking:Breaks(v)'")
    pipeline.write_text(text)
    return pipeline, events


ODD = {
    "words": "raise type('E', (Exception,), {'__str__': lambda self: 1 / 0})",
    "long": "raise ValueError('x' * 100_000)",
    "no error": "raise GeneratorExit",
    "digits": "return 10 ** 6000",
    "deep": "return functools.reduce(lambda inner, _: [inner], range(100_000), 0)",
    "ring": "ring = []; ring.append(ring); return ring",
    "huge": "return 'x' * 5_000_000",
    "many": "return [0] * 1_000_001",
    "no text": "return '\\udcff'",
    "repr": "return type('S', (), {'__repr__': lambda self: 1 / 0})()",
}


def test_a_result_that_is_no_text_is_null_and_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    pipeline, events = with_class(tmp_path, "")
    source = FAILING.replace("BODY", "return 0").replace('"int"', '"string"')
    (tmp_path / "no_text.py").write_text(source.replace("return state", "return '\\ud800'"))
    pipeline.write_text(pipeline.read_text().replace("python:breaking", "python:no_text"))
    said = said_and_proved(tmp_path, pipeline, events)
    assert re.search(r"gaps: all is null in \d+ rows?, for which its class fails", said)


def said_and_proved(folder: Path, pipeline: Path, events: Path) -> str:
    """What a run says, which must be what is defined."""
    out = folder / "out.jsonl"
    ran = command("run", pipeline, "--input", events, "--output", out, "--end")
    assert ran.exit_code == 0, ran.output
    judged = command("verify", pipeline, "--input", events, "--output", out, "--end")
    assert judged.exit_code == 0, judged.output
    return ran.stderr


@pytest.mark.parametrize("name", ["o" * 250, "o" * 250 + ".jsonl"])
def test_a_name_that_no_file_can_have_is_said_at_once(tmp_path: Path, name: str) -> None:
    pipeline, events = written(tmp_path)
    ran = command("run", pipeline, "--input", events, "--output", tmp_path / name)
    assert ran.exit_code == 2
    assert "a file's name has at most 255 bytes" in " ".join(ran.output.split())


def test_check_aggregate_leaves_nothing_where_its_user_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "fine.py").write_text(FAILING.replace("BODY", "return state + 1"))
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    before = {path.name for path in tmp_path.iterdir()}
    command("check-aggregate", "fine:Breaks", "--attempts", 50)
    assert {path.name for path in tmp_path.iterdir()} - before <= {"__pycache__"}


@pytest.mark.parametrize("kind", [*sampled(ODD, every=3), "digits"])
def test_whatever_a_users_class_raises_stops_nothing_and_is_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    name = f"odd_{kind.replace(' ', '_')}"
    monkeypatch.syspath_prepend(tmp_path)
    pipeline, events = with_class(tmp_path, "")
    (tmp_path / f"{name}.py").write_text(FAILING.replace("BODY", ODD[kind]))
    pipeline.write_text(pipeline.read_text().replace("python:breaking", f"python:{name}"))
    lines = said_and_proved(tmp_path, pipeline, events).splitlines()
    word = "its class fails" if kind == "digits" else "refused_by:all"
    (said,) = [line for line in lines if word in line]
    assert len(said) < 600


SUMS = """\
tens: read 6 = applied 4 + outside 0 + dropped 0 + dead 2
gaps: read 6 = applied 2 + outside 3 + dropped 0 + dead 1
lost: read 6 = applied 4 + outside 0 + dropped 1 + dead 1
"""


def test_it_says_what_became_of_every_record(tmp_path: Path) -> None:
    says_what_became_of_every_record(tmp_path, "local")


def says_what_became_of_every_record(tmp_path: Path, engine: str) -> None:
    pipeline, events = written(tmp_path)
    out = tmp_path / "out.jsonl"
    ran = command("run", pipeline, "--input", events, "--output", out, "--engine", engine)
    assert ran.exit_code == 0, ran.output
    assert ran.stdout == SUMS
    judged = command("verify", pipeline, "--input", events, "--output", out)
    assert judged.exit_code == 0, judged.output
    assert judged.stdout.startswith(SUMS)
