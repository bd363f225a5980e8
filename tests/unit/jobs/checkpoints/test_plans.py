"""Spark's plans, read as offsets of lanes, and written again as tokens have them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from jobs.checkpoints.plans import lanes_of, read_checkpoint, rewrite
from windowing.model.run_errors import CheckpointDamaged
from windowing.runtime.token import Stretch, Token

HEAD = 'v1\n{"batchWatermarkMs":0,"conf":{"spark.sql.shuffle.partitions":"2"}}'


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
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


def test_what_a_checkpoint_says(checkpoint: Path) -> None:
    found = read_checkpoint(checkpoint)
    assert (found.committed, found.planned) == (1, 2)
    assert found.lanes(0) == {"t/0": Stretch(5, 6), "t/1": Stretch(0, -1)}
    assert found.lanes(2) == {"t/0": Stretch(9, 8), "t/1": Stretch(4, 5)}
    assert found.lanes(3) is None
    for batch in range(3):
        assert lanes_of(checkpoint, batch) == found.lanes(batch)
    nothing = read_checkpoint(checkpoint / "none")
    assert (nothing.committed, nothing.planned, nothing.ends) == (-1, -1, {})


def test_a_partition_that_is_new_begins_at_its_beginning(checkpoint: Path) -> None:
    (checkpoint / "offsets" / "2").write_text(f'{HEAD}\n{{"t":{{"0":9,"1":6,"2":3}}}}')
    assert lanes_of(checkpoint, 2)["t/2"] == Stretch(0, 2)


def test_batches_are_planned_as_tokens_say_and_no_others(checkpoint: Path) -> None:
    (checkpoint / "offsets" / "3").write_text(f'{HEAD}\n{{"t":{{"0":99,"1":99}}}}')
    token = Token(2, {"t/0": Stretch(9, 11), "t/1": Stretch(4, 3)})
    rewrite(checkpoint, [token])
    head, ends = (checkpoint / "offsets" / "2").read_text().rsplit("\n", 1)
    assert head == HEAD
    assert json.loads(ends) == {"t": {"0": 12, "1": 4}}
    assert sorted(path.name for path in (checkpoint / "offsets").iterdir()) == sorted(
        ["0", "1", "2", ".0.crc", ".1.crc"]
    )
    assert lanes_of(checkpoint, 2) == token.lanes


@pytest.mark.parametrize(
    "text", ["", "v1", "v1\n{}\n[1]", 'v1\n{}\n{"t":5}', 'v1\n{}\n{"t":{"0":null}}']
)
def test_a_plan_that_is_none_is_named(checkpoint: Path, text: str) -> None:
    (checkpoint / "offsets" / "1").write_text(text)
    with pytest.raises(CheckpointDamaged, match=r"offsets/1 cannot be read"):
        read_checkpoint(checkpoint)


def test_a_plan_that_is_gone_is_named(checkpoint: Path) -> None:
    (checkpoint / "offsets" / "1").unlink()
    with pytest.raises(CheckpointDamaged, match=r"offsets/1 is missing"):
        lanes_of(checkpoint, 2)
