"""What drivers note of themselves, driver after driver."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from jobs.runs.attempts import (
    Attempt,
    Attempts,
    TooManyDeaths,
    forget_attempts,
    read_attempts,
)
from jobs.runs.life import DEATHS_MAX, SILENT_DEATHS_MAX, Deaths

ERROR = Deaths(error=1, last="ValueError: no")


def begun(folder: Path) -> Attempt:
    attempt = Attempt(folder)
    attempt.begin()
    return attempt


def noted(folder: Path) -> Attempts:
    found = read_attempts(folder)
    assert found is not None
    return found


def test_the_last_of_several_deaths_is_final(tmp_path: Path) -> None:
    forget_attempts(tmp_path)
    for number in range(1, DEATHS_MAX):
        assert begun(tmp_path).died(ERROR) is None
        assert noted(tmp_path).deaths == Deaths(error=number, last="ValueError: no")
    final = begun(tmp_path).died(ERROR)
    assert final == "died 3 times without a batch in between, the last time of: ValueError: no"
    assert noted(tmp_path).begun == DEATHS_MAX


def test_a_batch_in_between_begins_the_count_anew(tmp_path: Path) -> None:
    for _ in range(5 * DEATHS_MAX):
        attempt = begun(tmp_path)
        attempt.is_well()
        assert noted(tmp_path).deaths.number == 0
        assert attempt.died(ERROR) is None
    assert noted(tmp_path).deaths == ERROR
    assert not noted(tmp_path).well


def test_an_outage_is_worth_every_restart(tmp_path: Path) -> None:
    for _ in range(50):
        assert begun(tmp_path).died(Deaths(outage=1, last="BrokerError: away")) is None
    assert noted(tmp_path).deaths.outage == 50


def test_a_driver_that_left_no_word_is_missed_by_the_next(tmp_path: Path) -> None:
    for number in range(SILENT_DEATHS_MAX):
        begun(tmp_path)
        assert noted(tmp_path).deaths.silent == number
    with pytest.raises(TooManyDeaths, match="was killed 10 times"):
        begun(tmp_path)


def test_one_that_was_well_and_is_killed_has_died_once(tmp_path: Path) -> None:
    begun(tmp_path).is_well()
    begun(tmp_path)
    assert noted(tmp_path).deaths == Deaths(silent=1)
    assert not noted(tmp_path).well


def test_one_that_ends_well_has_not_died(tmp_path: Path) -> None:
    begun(tmp_path).ended()
    begun(tmp_path)
    assert noted(tmp_path).deaths.number == 0


def test_the_end_of_an_earlier_submission_is_no_part_of_this_one(tmp_path: Path) -> None:
    late = begun(tmp_path)
    forget_attempts(tmp_path)
    assert late.died(ERROR) is None
    late.is_well()
    late.ended()
    assert noted(tmp_path) == Attempts()


def test_a_full_disk_neither_ends_a_job_nor_hides_what_it_dies_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    attempt = begun(tmp_path)

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_text", full)
        attempt.is_well()
        assert attempt.died(ERROR) is None
    assert "attempts.json cannot be written: [Errno 28] No space left" in capsys.readouterr().err
    assert not noted(tmp_path).well
    attempt.is_well()
    assert noted(tmp_path).well, "it is tried again"
