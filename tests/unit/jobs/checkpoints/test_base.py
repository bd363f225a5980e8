"""A checkpoint that continues another one counts its batches, and begins, where that ends."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from jobs.checkpoints.checkpoint import (
    Base,
    committed_offsets,
    planned_offsets,
    read_base,
    write_base,
)
from jobs.checkpoints.plans import lanes_of, read_checkpoint, rewrite
from windowing.runtime.token import Stretch, Token

HEAD = 'v1\n{"batchWatermarkMs":0,"conf":{}}'
BASE = Base(7, {"t/0": 5, "t/1": 3}, ("before",), "checkpoint.before-7")


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    """A checkpoint of after batch 6, without its own batches."""
    for name in ("offsets", "commits", "sources/0"):
        (tmp_path / name).mkdir(parents=True)
    write_base(tmp_path, BASE)
    return tmp_path


def plan(checkpoint: Path, number: int, zero: int, one: int) -> None:
    (checkpoint / "sources/0/0").write_text('\x00v1\n{"t":{"0":5,"1":3}}')
    text = f'{HEAD}\n{{"t":{{"0":{zero},"1":{one}}}}}'
    (checkpoint / "offsets" / str(number)).write_text(text)


def test_without_batches_it_is_where_the_old_one_was(checkpoint: Path) -> None:
    assert read_base(checkpoint) == BASE
    found = read_checkpoint(checkpoint)
    assert (found.begins, found.committed, found.planned) == (7, 6, 6)
    assert found.ends == {6: {"t/0": 5, "t/1": 3}}
    assert committed_offsets(checkpoint) == (7, {0: 5, 1: 3})
    assert planned_offsets(checkpoint) == {0: 5, 1: 3}


def test_its_batches_are_counted_on(checkpoint: Path) -> None:
    plan(checkpoint, 0, 6, 4)
    plan(checkpoint, 1, 9, 4)
    (checkpoint / "commits" / "0").write_text("v1\n{}")
    found = read_checkpoint(checkpoint)
    assert (found.committed, found.planned) == (7, 8)
    assert found.lanes(7) == lanes_of(checkpoint, 7) == {"t/0": Stretch(5, 5), "t/1": Stretch(3, 3)}
    assert lanes_of(checkpoint, 8) == {"t/0": Stretch(6, 8), "t/1": Stretch(4, 3)}
    assert committed_offsets(checkpoint) == (8, {0: 6, 1: 4})
    assert planned_offsets(checkpoint) == {0: 9, 1: 4}


def test_batches_that_the_tables_have_are_planned_under_its_own_numbers(checkpoint: Path) -> None:
    plan(checkpoint, 0, 99, 99)
    plan(checkpoint, 1, 99, 99)
    rewrite(checkpoint, [Token(7, {"t/0": Stretch(5, 5), "t/1": Stretch(3, 8)})])
    assert sorted(path.name for path in (checkpoint / "offsets").iterdir()) == ["0"]
    ends = (checkpoint / "offsets" / "0").read_text().splitlines()[-1]
    assert json.loads(ends) == {"t": {"0": 6, "1": 9}}


def test_a_first_checkpoint_has_no_base(tmp_path: Path) -> None:
    assert read_base(tmp_path / "none") == Base(0, {}, ())
