"""Reports of users, ways of reading, and windows, as cases: a folder each in `tests/data`.

`pipeline.yml`, `events.jsonl`, `need.md` (the need in a sentence); and of what is expected:
`OUT.jsonl` (the rows), `OUT.dead.jsonl`, `notes.txt` (a text in each line that stderr has),
`arguments.txt` (more arguments of `run`), `exit.txt` (its exit code, if it is not 0).
"""

from pathlib import Path

import pytest

from tests.unit.more_windows import cases as more_windows
from tests.unit.reading import cases as reading
from tests.unit.reading.plain_python import Case
from tests.unit.slackwater.test_run import command

DATA = Path("tests/data")
FOLDERS = (DATA / "reports", DATA / "reading", DATA / "more_windows")
COMPUTED = [
    *(("reading", case) for case in reading.cases()),
    *(("more_windows", case) for case in more_windows.cases()),
]
CASES = sorted(path for folder in FOLDERS for path in folder.iterdir())


def read(file: Path, default: str = "") -> str:
    return file.read_text() if file.exists() else default


@pytest.mark.parametrize("folder", CASES, ids=lambda folder: folder.name)
def test_the_need_is_met(tmp_path: Path, folder: Path) -> None:
    out = tmp_path / "OUT.jsonl"
    pipeline, events = folder / "pipeline.yml", folder / "events.jsonl"
    more = read(folder / "arguments.txt").split()
    ran = command("run", pipeline, "--input", events, "--output", out, *more)
    code = getattr(ran.exception, "exit_code", ran.exit_code)
    assert code == int(read(folder / "exit.txt", "0")), ran.output
    said = ran.stderr if ran.exception is None else f"{ran.stderr}{ran.exception}"
    for text in read(folder / "notes.txt").splitlines():
        assert text in said
    for name in ("OUT.jsonl", "OUT.dead.jsonl"):
        if (folder / name).exists():
            assert read(tmp_path / name) == read(folder / name)
    if ran.exit_code == 0:
        same = [argument for argument in more if argument != "--explain-dead"]
        proved = command("verify", pipeline, "--output", out, "--input", events, *same)
        assert proved.exit_code == 0, proved.output


@pytest.mark.parametrize("folder", CASES, ids=lambda folder: folder.name)
def test_each_says_what_it_needs_and_has_no_file_that_is_not_judged(folder: Path) -> None:
    judged = ["OUT.jsonl", "OUT.dead.jsonl", "notes.txt", "arguments.txt", "exit.txt"]
    assert (folder / "need.md").read_text().strip()
    names = {path.name for path in folder.iterdir()}
    assert names <= {"need.md", "pipeline.yml", "events.jsonl", *judged}


@pytest.mark.parametrize(("folder", "case"), COMPUTED, ids=lambda one: getattr(one, "name", one))
def test_plain_python_computes_what_is_recorded(folder: str, case: Case) -> None:
    recorded = {path.name: path.read_text() for path in (DATA / folder / case.name).iterdir()}
    assert case.files() == recorded


def test_each_folder_is_computed() -> None:
    computed = {DATA / folder / case.name for folder, case in COMPUTED}
    assert computed == {case for case in CASES if case.parent != DATA / "reports"}
