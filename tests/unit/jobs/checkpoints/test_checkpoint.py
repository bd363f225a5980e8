"""Checkpoints as files: what is read of them, and the plans that they hold."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from jobs.checkpoints.checkpoint import examine, mend, newest
from jobs.checkpoints.plans import lanes_of, read_checkpoint, rewrite
from jobs.driver.failures import final_reason, windowing_error
from windowing.model.run_errors import CheckpointDamaged
from windowing.model.user.user_aggregate import UserAggregateError
from windowing.runtime.token import Stretch, Token


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    for name, count in (("offsets", 3), ("commits", 2)):
        (tmp_path / name).mkdir()
        for batch in range(count):
            (tmp_path / name / str(batch)).write_text('v1\n{}\n{"t":{"0":1}}')
    return tmp_path


def test_a_whole_checkpoint_and_a_new_one_are_good(checkpoint: Path) -> None:
    examine(checkpoint)
    examine(checkpoint / "none")


def test_a_lost_plan_of_a_committed_batch_is_named(checkpoint: Path) -> None:
    (checkpoint / "offsets" / "1").unlink()
    with pytest.raises(CheckpointDamaged, match=r"offsets/1 of a committed batch is missing: put"):
        examine(checkpoint)


def test_commits_beyond_all_plans_are_named(checkpoint: Path) -> None:
    for batch in (1, 2):
        (checkpoint / "offsets" / str(batch)).unlink()
    with pytest.raises(CheckpointDamaged, match=r"offsets/1 of a committed batch is missing"):
        examine(checkpoint)


@pytest.mark.parametrize("data", [b"", b"v1", b"v1\n{}\n{", b"\xff\xfe", b"v9\n{}\n{}"])
@pytest.mark.parametrize("batch", [1, 2])
def test_a_plan_that_cannot_be_read_is_named(checkpoint: Path, batch: int, data: bytes) -> None:
    (checkpoint / "offsets" / str(batch)).write_bytes(data)
    with pytest.raises(CheckpointDamaged, match=rf"offsets/{batch} cannot be read"):
        examine(checkpoint)


def test_records_that_are_gone_are_named_with_their_place() -> None:
    said = final_reason(
        "Job aborted\nKafkaIllegalStateException: Some data may have been lost. Could not read "
        "records in offset [100, 200) for topic partition t-1 with consumer group g"
    )
    assert said is not None
    assert "t-1 from offset 100 on" in said
    assert "start a new run" in said


@pytest.mark.parametrize("why", ["File file:{0} does not exist", "Checksum error: file:{0} at 0"])
def test_a_state_file_is_named(why: str) -> None:
    file = "/c/checkpoint/state/0/1/7_ab-1.changelog"
    said = final_reason(f"stage failed\n{why.format(file)}")
    assert said is not None
    assert file in said
    assert "put it back" in said
    assert final_reason("a broker was not available") is None


def test_a_full_disk_is_said_with_the_places_that_may_be_full(tmp_path: Path) -> None:
    said = final_reason(
        "Caused by: FSError: java.io.IOException: No space left on device", [tmp_path]
    )
    assert said is not None
    assert re.fullmatch(
        rf"No space left on device; {tmp_path} has \d+ bytes left: make room, then submit .*", said
    )


def test_what_a_users_class_does_is_final_and_said_in_its_words() -> None:
    said = "python:mine:Aggregate: update(0, 7) failed: ZeroDivisionError: division by zero"
    text = f"""[STREAM_FAILED] Query [id = 1] terminated with exception: Job aborted:
org.apache.spark.api.python.PythonException: Traceback (most recent call last):
  File "windowing/model/user/user_aggregate.py", line 106, in call
ZeroDivisionError: division by zero

The above exception was the direct cause of the following exception:

windowing.model.user.user_aggregate.UserAggregateError: {said}

\tat org.apache.spark.api.python.BasePythonRunner"""
    assert final_reason(text) == said
    assert isinstance(windowing_error(text), UserAggregateError)


class Job:
    """Does what Spark does when it starts: runs the newest planned batch."""

    def __init__(self, checkpoint: Path, planned: int, committed: list[int]) -> None:
        self.checkpoint = checkpoint
        self.ran: list[int] = []
        for name, numbers in (("offsets", range(planned + 1)), ("commits", committed)):
            (checkpoint / name).mkdir()
            for number in numbers:
                (checkpoint / name / str(number)).write_text(f"plan {number}")
        (checkpoint / "offsets" / ".1.crc").touch()

    def run_one(self) -> None:
        batch = newest(self.checkpoint / "offsets")
        (self.checkpoint / "commits" / str(batch)).touch()
        self.ran.append(batch)


def plans(checkpoint: Path) -> list[str]:
    found = [path for path in (checkpoint / "offsets").iterdir() if path.name.isdigit()]
    assert all(path.read_text() == f"plan {path.name}" for path in found)
    return sorted(path.name for path in found)


@pytest.mark.parametrize(
    ("planned", "committed", "again"),
    [
        (2, [0, 1, 2], []),  # stopped between two batches
        (3, [0, 1, 2], []),  # stopped within one
        (2, [0, 1], []),  # its commit was lost: Spark itself runs it again
        (3, [0, 1], [2]),
        (3, [0], [1, 2]),
        (1, [], [0]),
        (-1, [], []),
    ],
)
def test_what_is_lost_is_run_again_and_no_plan_is_forgotten(
    tmp_path: Path, planned: int, committed: list[int], again: list[int]
) -> None:
    job = Job(tmp_path, planned, committed)
    assert mend(tmp_path, job.run_one) == job.ran == again
    assert plans(tmp_path) == [str(number) for number in range(planned + 1)]


def test_a_new_checkpoint_needs_no_mending(tmp_path: Path) -> None:
    assert mend(tmp_path / "none", lambda: pytest.fail("nothing to run")) == []


def test_an_interrupted_mending_is_continued(tmp_path: Path) -> None:
    job = Job(tmp_path, 3, [0, 1])

    def dies() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        mend(tmp_path, dies)
    assert plans(tmp_path) == ["0", "1", "2"]
    assert mend(tmp_path, job.run_one) == [2]
    assert plans(tmp_path) == ["0", "1", "2", "3"]


def test_a_batch_that_does_not_come_is_an_error(tmp_path: Path) -> None:
    Job(tmp_path, 3, [0, 1])
    with pytest.raises(RuntimeError, match=r"batch 2 of .* could not be run again"):
        mend(tmp_path, lambda: None)


HEAD = 'v1\n{"batchWatermarkMs":0,"conf":{"spark.sql.shuffle.partitions":"2"}}'


@pytest.fixture
def planned(tmp_path: Path) -> Path:
    """Three planned batches, of which two are committed."""
    for name in ("offsets", "commits", "sources/0"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "sources/0/0").write_text('\x00v1\n{"t":{"0":5,"1":0}}')
    for batch, (zero, one) in enumerate([(7, 0), (9, 4), (9, 6)]):
        text = f'{HEAD}\n{{"t":{{"0":{zero},"1":{one}}}}}'
        (tmp_path / "offsets" / str(batch)).write_text(text)
        (tmp_path / "offsets" / f".{batch}.crc").write_text("sum")
    for batch in (0, 1):
        (tmp_path / "commits" / str(batch)).write_text("v1\n{}")
    return tmp_path


def test_what_a_checkpoint_says(planned: Path) -> None:
    found = read_checkpoint(planned)
    assert (found.committed, found.planned) == (1, 2)
    assert found.lanes(0) == {"t/0": Stretch(5, 6), "t/1": Stretch(0, -1)}
    assert found.lanes(2) == {"t/0": Stretch(9, 8), "t/1": Stretch(4, 5)}
    assert found.lanes(3) is None
    for batch in range(3):
        assert lanes_of(planned, batch) == found.lanes(batch)
    nothing = read_checkpoint(planned / "none")
    assert (nothing.committed, nothing.planned, nothing.ends) == (-1, -1, {})


def test_a_partition_that_is_new_begins_at_its_beginning(planned: Path) -> None:
    (planned / "offsets" / "2").write_text(f'{HEAD}\n{{"t":{{"0":9,"1":6,"2":3}}}}')
    assert lanes_of(planned, 2)["t/2"] == Stretch(0, 2)


def test_batches_are_planned_as_tokens_say_and_no_others(planned: Path) -> None:
    (planned / "offsets" / "3").write_text(f'{HEAD}\n{{"t":{{"0":99,"1":99}}}}')
    token = Token(2, {"t/0": Stretch(9, 11), "t/1": Stretch(4, 3)})
    rewrite(planned, [token])
    head, ends = (planned / "offsets" / "2").read_text().rsplit("\n", 1)
    assert head == HEAD
    assert json.loads(ends) == {"t": {"0": 12, "1": 4}}
    assert sorted(path.name for path in (planned / "offsets").iterdir()) == sorted(
        ["0", "1", "2", ".0.crc", ".1.crc"]
    )
    assert lanes_of(planned, 2) == token.lanes


@pytest.mark.parametrize(
    "text", ["", "v1", "v1\n{}\n[1]", 'v1\n{}\n{"t":5}', 'v1\n{}\n{"t":{"0":null}}']
)
def test_a_plan_that_is_none_is_named(planned: Path, text: str) -> None:
    (planned / "offsets" / "1").write_text(text)
    with pytest.raises(CheckpointDamaged, match=r"offsets/1 cannot be read"):
        read_checkpoint(planned)


def test_a_plan_that_is_gone_is_named(planned: Path) -> None:
    (planned / "offsets" / "1").unlink()
    with pytest.raises(CheckpointDamaged, match=r"offsets/1 is missing"):
        lanes_of(planned, 2)
