"""Event files and outputs: accepted, or one of our errors; a changed output is never acquitted."""

import json
import shutil
import tempfile
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import click
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from chaos.readers.delta import read_tables
from chaos.readers.log import LogError
from chaos.readers.output import OutputError
from slackwater.main import app
from tests.unit.chaos.quality.test_expectations import OUTCOME, P
from tests.unit.chaos.verdict.test_verify import write_tables
from tests.unit.fuzz.corpus import every, try_one
from tests.unit.fuzz.mutations import Recorded, line_files, spoilt
from windowing.model import PipelineError
from windowing.model.run_errors import WindowingError
from windowing.semantics.log import BadLogError
from windowing.semantics.units import ArrivalOrderError
from windowing.semantics.windows.landmark import EndlessLandmarkError

RECORDED = sorted((Path(__file__).parents[3] / "tests" / "data" / "pipelines").glob("*/"))
OURS = (
    *(LogError, OutputError, PipelineError, WindowingError, BadLogError),
    *(EndlessLandmarkError, ArrivalOrderError, OSError, click.ClickException),
)
"""Errors that a command says in a sentence."""

FEWER = settings(max_examples=max(8, settings.default.max_examples // 2))


def answer(*arguments: object) -> int | None:
    """The exit code of a command; None: it ended with an error of ours."""
    found = CliRunner().invoke(app, [str(word) for word in arguments])
    if found.exception is None or isinstance(found.exception, SystemExit):
        assert found.exit_code in (0, 1, 2), found.output
        return found.exit_code
    if not (isinstance(found.exception, OURS) or hasattr(found.exception, "exit_code")):
        raise found.exception
    assert str(found.exception)
    return None


def lines_of(file: Path) -> list[Any]:
    return [json.loads(line) for line in file.read_text().splitlines()]


def spelled(line: Any) -> str:
    try:
        return json.dumps(line, ensure_ascii=False, separators=(",", ":"))
    except (ValueError, RecursionError):  # it was made to contain itself
        return "{" * 9


EVENTS = Recorded(lines_of(folder / "events.jsonl") for folder in RECORDED)


def run_events(contents: bytes) -> None:
    """Run and judge a log; the first byte says by which recorded pipeline."""
    pipeline = RECORDED[contents[0] % len(RECORDED)] / "pipeline.yml"
    with tempfile.TemporaryDirectory() as name:
        events, output = Path(name) / "events.jsonl", Path(name) / "out.jsonl"
        events.write_bytes(contents[1:])
        if answer("run", pipeline, "--input", events, "--output", output) != 0:
            return
        # What the engine takes, the definition judges, and finds right.
        assert answer("verify", pipeline, "--input", events, "--output", output) == 0


def judge_output(contents: bytes) -> None:
    """Judge an output; the first byte says of which recorded pipeline, and which of its files."""
    folder = RECORDED[(contents[0] >> 1) % len(RECORDED)]
    spoiled = "out.dead.jsonl" if contents[0] & 1 else "out.jsonl"
    with tempfile.TemporaryDirectory() as name:
        for file in ("out.jsonl", "out.dead.jsonl"):
            shutil.copy(folder / file, name)
        (Path(name) / spoiled).write_bytes(contents[1:])
        changed = (folder / spoiled).read_bytes() != contents[1:]
        judged = ("verify", folder / "pipeline.yml", "--input", folder / "events.jsonl")
        assert (answer(*judged, "--output", Path(name) / "out.jsonl") == 0) != changed


@cache
def tables() -> Path:
    """Right tables, written once."""
    folder = Path(tempfile.mkdtemp(prefix="slackwater-fuzz-")) / "tables"
    write_tables(folder, P, OUTCOME)
    return folder


@every("events")
def test_event_files_that_once_failed(entry: Path) -> None:
    run_events(entry.read_bytes())


@every("outputs")
def test_outputs_that_once_failed(entry: Path) -> None:
    judge_output(entry.read_bytes())


@FEWER
@given(st.binary(min_size=1, max_size=1), line_files(EVENTS, spelled))
def test_event_files(which: bytes, contents: bytes) -> None:
    try_one("events", run_events, which + contents)


@FEWER
@given(st.integers(0, 2 * len(RECORDED) - 1), st.data())
def test_outputs(which: int, data: st.DataObject) -> None:
    folder = RECORDED[which >> 1]
    file = folder / ("out.dead.jsonl" if which & 1 else "out.jsonl")
    lines = st.builds(file.read_bytes) | line_files(Recorded([lines_of(file) or [{}]]), spelled)
    contents = data.draw(spoilt(data.draw(lines)))
    try_one("outputs", judge_output, bytes([which]) + contents)


@FEWER
@given(st.data())
def test_tables(data: st.DataObject) -> None:
    """A table of which a file is damaged is read as it is, or an error of ours says so."""
    files = sorted(path for path in tables().rglob("*") if path.is_file())
    chosen = data.draw(st.sampled_from(files)).relative_to(tables())
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "tables"
        shutil.copytree(tables(), folder)
        contents = data.draw(spoilt((folder / chosen).read_bytes()))
        (folder / chosen).write_bytes(contents)
        with suppress(OutputError):
            read_tables(folder, P)


@pytest.fixture(scope="module", autouse=True)
def _no_tables_left() -> Any:
    yield
    if tables.cache_info().currsize:
        shutil.rmtree(tables().parent)
