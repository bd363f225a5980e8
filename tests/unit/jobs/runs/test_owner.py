"""One driver has a run: a second one finds out, and one that was silent for too long does, too."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from infra.process import identify
from jobs.runs.owner import OWNER_FILE, Owner
from windowing.model.run_errors import SecondDriver


def owner(folder: Path) -> Owner:
    return Owner(folder, beat_s=0.05, silent_s=0.5)


def noted(folder: Path, **changes: object) -> None:
    me = identify(os.getpid())
    assert me is not None
    claim = {"driver": "x", "host": "elsewhere", "pid": me.pid, "started": me.started, "beat": 0}
    (folder / OWNER_FILE).write_text(json.dumps({**claim, **changes}))


def test_a_second_driver_learns_who_has_the_run(tmp_path: Path) -> None:
    first = owner(tmp_path)
    first.claim()
    with pytest.raises(SecondDriver, match=rf"process {os.getpid()} on .*, which lives.*stop"):
        owner(tmp_path).claim()
    first.check()
    first.release()
    heir = owner(tmp_path)
    heir.claim()
    heir.release()


def test_a_dead_drivers_run_is_taken_at_once(tmp_path: Path) -> None:
    program = (
        "import pathlib, sys; from jobs.runs.owner import Owner; "
        "Owner(pathlib.Path(sys.argv[1])).claim()"
    )
    subprocess.run([sys.executable, "-c", program, str(tmp_path)], check=True)
    assert (tmp_path / OWNER_FILE).exists()
    heir = owner(tmp_path)
    heir.claim()
    heir.check()
    heir.release()


def test_another_machines_driver_lives_while_it_counts(tmp_path: Path) -> None:
    noted(tmp_path)
    heir = owner(tmp_path)
    heir.claim()  # nobody has counted
    heir.release()
    living = owner(tmp_path)
    living.claim()
    object.__setattr__(living._claim, "host", "elsewhere")
    time.sleep(0.15)
    with pytest.raises(SecondDriver, match="on elsewhere, which lives"):
        owner(tmp_path).claim()
    living.release()


def test_who_was_silent_finds_the_run_taken(tmp_path: Path) -> None:
    zombie = owner(tmp_path)
    zombie.claim()
    noted(tmp_path, driver="heir")
    with pytest.raises(SecondDriver, match=r"belongs to process .* on elsewhere now, taken over"):
        zombie.check()
    time.sleep(0.15)
    zombie.release()
    assert json.loads((tmp_path / OWNER_FILE).read_text())["driver"] == "heir"
    (tmp_path / OWNER_FILE).unlink()
    with pytest.raises(SecondDriver, match="belongs to nobody now"):
        zombie.check()


def test_a_run_that_was_released_stays_so(tmp_path: Path) -> None:
    for _ in range(300):  # a beat is being written in some of these moments
        first = Owner(tmp_path, beat_s=0.0001)
        first.claim()
        until(lambda: beat_of(tmp_path) > 0)
        first.release()
        time.sleep(0.001)
        assert not (tmp_path / OWNER_FILE).exists()


def beat_of(folder: Path) -> int:
    return int(json.loads((folder / OWNER_FILE).read_text())["beat"])


def until(true: Callable[[], bool]) -> None:
    give_up = time.monotonic() + 10
    while not true():
        assert time.monotonic() < give_up
        time.sleep(0.01)


def test_a_disk_that_is_full_for_a_while_silences_no_driver(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    living = owner(tmp_path)
    living.claim()
    until(lambda: beat_of(tmp_path) > 0)
    in_the_way = tmp_path / f".{OWNER_FILE}.{living._claim.driver}"
    until(lambda: made(in_the_way))
    stood = beat_of(tmp_path)
    until(lambda: "cannot be shown" in capfd.readouterr().err)
    in_the_way.rmdir()
    until(lambda: beat_of(tmp_path) > stood)
    living.release()


def made(folder: Path) -> bool:
    """Whether the folder could be made: just now a beat may be written under its name."""
    try:
        folder.mkdir()
    except FileExistsError:
        return False
    return True


@pytest.mark.parametrize("text", ["", "{", "[]", '{"driver": 1}', '{"x": 1}'])
def test_a_claim_that_cannot_be_read_is_none(tmp_path: Path, text: str) -> None:
    (tmp_path / OWNER_FILE).write_text(text)
    heir = owner(tmp_path)
    heir.claim()
    heir.release()
