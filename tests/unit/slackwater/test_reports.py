"""Reports of users as cases: a folder each in `tests/data/reports`.

`pipeline.yml`, `events.jsonl`, `need.md` (the need in a sentence); and of what is expected:
`OUT.jsonl` (the rows), `OUT.dead.jsonl`, `notes.txt` (a text in each line that stderr has),
`arguments.txt` (more arguments of `run`), `exit.txt` (its exit code, if it is not 0).
"""

from pathlib import Path

import pytest

from tests.unit.slackwater.test_run import command

REPORTS = Path("tests/data/reports")
CASES = sorted(path.name for path in REPORTS.iterdir())


def read(file: Path, default: str = "") -> str:
    return file.read_text() if file.exists() else default


@pytest.mark.parametrize("case", CASES)
def test_the_need_of_a_report_is_met(tmp_path: Path, case: str) -> None:
    folder, out = REPORTS / case, tmp_path / "OUT.jsonl"
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
        ends = ["--end"] if "--end" in more else []
        proved = command("verify", pipeline, "--output", out, "--input", events, *ends)
        assert proved.exit_code == 0, proved.output


@pytest.mark.parametrize("case", CASES)
def test_each_report_says_what_it_needs_and_has_no_file_that_is_not_judged(case: str) -> None:
    judged = ["OUT.jsonl", "OUT.dead.jsonl", "notes.txt", "arguments.txt", "exit.txt"]
    assert (REPORTS / case / "need.md").read_text().strip()
    names = {path.name for path in (REPORTS / case).iterdir()}
    assert names <= {"need.md", "pipeline.yml", "events.jsonl", *judged}
