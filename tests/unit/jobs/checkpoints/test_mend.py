from pathlib import Path

import pytest

from jobs.checkpoints.mend import mend, newest


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
