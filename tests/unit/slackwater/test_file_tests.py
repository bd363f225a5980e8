"""`slackwater test`: what it runs, what it says, and how it ends."""

import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from jobs.runs.difference import differences
from slackwater.main import app
from tests.unit.slackwater.pipelines import PIPELINE
from windowing.runtime.local import LocalEngine

GOOD = """
  one record:
    given:
      - 't/0 0 {"ts": 3, "k": "a", "v": 1}'
      - 't/0 1 control {"end": true}'
      - 't/1 0 control {"end": true}'
    expect:
      tens: [{window_id: 0, key: [a], values: {n: 1}}]
      dead_letters: []
"""
WRONG = """
  two records:
    given: ['t/0 0 {"ts": 3, "k": "a", "v": 1}', 't/0 1 {"ts": 4}', 't/0 2 control {"bound": 9}']
    expect:
      tens: [{window_id: 0, key: [a]}]
      dead_letters: [{offset: 1, reason: null_key}]
"""


def command(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(one) for one in arguments])


def file(folder: Path, *tests: str, name: str = "p.yml") -> Path:
    path = folder / name
    path.write_text(PIPELINE + ("tests:\n" + "".join(tests) if tests else ""))
    return path


def test_one_that_passes_says_so(tmp_path: Path) -> None:
    found = command("test", file(tmp_path, GOOD))
    assert found.exit_code == 0, found.output
    passed, last = found.stdout.splitlines()
    assert re.fullmatch(r"passed  one record  \(.*p\.yml:\d+\)", passed)
    assert last == "1 passed, 0 failed"


def test_one_that_fails_says_what_differs_and_why_rows_are_missing(tmp_path: Path) -> None:
    found = command("test", file(tmp_path, GOOD, WRONG))
    assert found.exit_code == 1
    lines = found.stdout.splitlines()
    assert lines[-1] == "1 passed, 1 failed"
    assert "  tens: 1 expected, 0 found, 0 as expected" in lines
    assert "dead_letters" not in found.stdout
    (why,) = (line for line in lines if "no end of a test is implied" in line)
    assert "1 window is open" in why
    assert "t/0 at 1970-01-01T00:00:00.000009Z" in why
    assert "t/1 at its beginning" in why
    assert "implausible" not in found.output


def test_folders_and_names_choose(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file(tmp_path, GOOD)
    file(tmp_path, WRONG, name="q.yaml")
    (tmp_path / "notes.txt").write_text("none")
    assert command("test", tmp_path).stdout.splitlines()[-1] == "1 passed, 1 failed"
    assert (
        command("test", tmp_path, "--only", "one").stdout.splitlines()[-1] == "1 passed, 0 failed"
    )
    monkeypatch.setenv("SLACKWATER_PIPELINES", str(tmp_path))
    assert command("test").stdout.splitlines()[-1] == "1 passed, 1 failed"
    nobody = command("test", tmp_path, "--only", "three")
    assert nobody.exit_code == 2
    assert "there are: one record, two records" in " ".join(nobody.output.split())


@pytest.mark.parametrize(
    ("tests", "said"),
    [
        ([], "no test: add one under tests:"),
        (["  it: {given: [], expect: {tans: []}}\n"], "did you mean 'tens'?"),
        (["  it: {given: [], expect: {}}\n"], "expect is empty"),
        (["  it: {file: e.jsonl, expect: {tens: []}}\n"], "e.jsonl:1: "),
    ],
)
def test_what_is_wrong_with_the_file_ends_with_2(
    tmp_path: Path, tests: list[str], said: str
) -> None:
    (tmp_path / "e.jsonl").write_text('{"ts": 1}\n')
    found = command("test", file(tmp_path, *tests))
    code = found.exit_code if found.exit_code == 2 else getattr(found.exception, "exit_code", None)
    assert code == 2
    assert said in f"{found.output}{found.exception}"


def test_validate_reads_them_too(tmp_path: Path) -> None:
    assert command("validate", file(tmp_path, GOOD)).exit_code == 0
    found = command("validate", file(tmp_path, "  it: {given: ['t/9 0 x'], expect: {tens: []}}\n"))
    assert re.search(r"p\.yml:\d+: tests\.it\.given\.0: .*t/9", str(found.exception))


def test_an_engine_that_is_not_the_definition_fails_a_test_that_does_not_look(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    collect = LocalEngine._collect

    def forgetful(self: LocalEngine, emission: object) -> None:
        collect(self, emission)  # type: ignore[arg-type]
        self.output.rows[:] = [row for row in self.output.rows if row.query != "lost"]

    monkeypatch.setattr(LocalEngine, "_collect", forgetful)
    found = command("test", file(tmp_path, GOOD))
    assert found.exit_code == 1
    assert "engine and definition differ, which is a mistake of ours" in found.stdout
    assert "lost 1, duplicated 0, differing 0" in found.stdout


def test_servers_read_the_outcome_of_each(tmp_path: Path) -> None:
    out = tmp_path / "junit.xml"
    bad = WRONG.replace("two records", "'a < & \" name'")
    found = command("test", file(tmp_path, GOOD, bad), "--junit", out)
    assert found.exit_code == 1
    root = ET.parse(out).getroot()  # noqa: S314 - our own file
    (suite,) = root
    assert root.tag == "testsuites"
    assert [suite.get(one) for one in ("tests", "failures", "errors")] == ["2", "1", "0"]
    good, failed = suite
    assert (good.get("classname"), good.get("name"), len(good)) == ("small", "one record", 0)
    assert failed.get("name") == 'a < & " name'
    assert failed[0].tag == "failure"
    assert "1 window is open" in (failed[0].text or "")


def test_what_is_read_is_not_written_over(tmp_path: Path) -> None:
    path = file(tmp_path, GOOD)
    before = path.read_text()
    assert command("test", path, "--junit", path).exit_code == 2
    assert path.read_text() == before


def test_a_run_does_not_differ_from_a_file_by_its_tests() -> None:
    assert not [*differences(PIPELINE, PIPELINE + "tests:" + GOOD)]
    assert [*differences(PIPELINE, PIPELINE + "shards: 3")]
