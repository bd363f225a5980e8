"""Rounds of a benchmark: what counts, what there is time for, and what is continued."""

from __future__ import annotations

import subprocess
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchmarks import figures
from benchmarks.cases import CASES
from benchmarks.figures import OtherWorkError, Record, code
from benchmarks.runs import OURS, Progress, whole
from tests.unit.benchmarks.test_figures import run

COMMAND = {"events": None, "rounds": 3, "only": None}
MACHINE = {"cores": 2, "load_average": 0.5, "code": "0123"}


def progress(*paths: str) -> Progress:
    done = Progress(deadline=None)
    for path in paths:
        done.add(CASES[0], path, run(10), 1.0)
    return done


def test_a_round_that_not_all_paths_have_run_does_not_count() -> None:
    measured = whole(progress(OURS, "floor", OURS).measured)
    assert {path: len(runs) for path, runs in measured[CASES[0].name].items()} == {
        OURS: 1,
        "floor": 1,
    }


def test_no_run_begins_that_would_end_after_the_deadline() -> None:
    done = Progress(deadline=time.monotonic() + 60)
    assert done.has_time(CASES[0], OURS)
    done.add(CASES[0], OURS, run(10), took_s=3_600)
    assert not done.has_time(CASES[0], OURS)
    assert done.has_time(CASES[0], "floor")


def test_what_an_earlier_command_measured_is_gone_on_with(tmp_path: Path) -> None:
    earlier = Record(tmp_path / "a.json", COMMAND | {"rounds": 1}, MACHINE | {"load_average": 7})
    earlier.keep(progress(OURS, "floor", OURS).measured)
    again = Progress(None, whole(Record(tmp_path / "b", COMMAND, MACHINE).continued(earlier.file)))
    assert again.measured == whole(progress(OURS, "floor").measured)
    assert again.has(0, CASES[0], OURS)
    assert not again.has(1, CASES[0], OURS)
    assert not again.has(0, CASES[1], OURS)


@pytest.mark.parametrize(
    ("command", "machine", "said"),
    [
        ({"events": 5}, {}, "its events is None, now it would be 5"),
        ({}, {"cores": 4}, "its cores is 2, now it would be 4"),
        ({}, {"code": "4567"}, "its code is 0123, now it would be 4567"),
    ],
)
def test_other_work_is_refused(
    tmp_path: Path, command: dict[str, Any], machine: dict[str, Any], said: str
) -> None:
    earlier = Record(tmp_path / "a.json", COMMAND, MACHINE)
    earlier.keep({})
    now = replace(earlier, command=COMMAND | command, described=MACHINE | machine)
    with pytest.raises(OtherWorkError, match=said):
        now.continued(earlier.file)


def test_code_that_is_not_committed_is_refused(tmp_path: Path) -> None:
    changed = Record(tmp_path / "a.json", COMMAND, MACHINE | {"code": "0123, changed"})
    changed.keep({})
    with pytest.raises(OtherWorkError, match="commit what has changed"):
        changed.continued(changed.file)


def test_code_is_named_by_what_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(figures, "ROOT", tmp_path)
    assert code() == "not of a checkout, changed"
    (tmp_path / "jobs").mkdir()
    commit = [*("-c", "user.name=a", "-c", "user.email=b"), "commit", "--message", "m"]
    names = set[str]()
    for text in ("1", "2"):
        (tmp_path / "jobs" / "a.py").write_text(text)
        for command in (["init"], ["add", "."], commit):
            subprocess.run(["git", *command], cwd=tmp_path, check=True, capture_output=True)
        names.add(code())
    assert len(names) == 2
    assert not any("changed" in name for name in names)
    (tmp_path / "jobs" / "b.py").touch()
    assert code() in {f"{name}, changed" for name in names}
