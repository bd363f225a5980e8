"""A new checkpoint takes the old one's place whole, also if that is interrupted anywhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from jobs.checkpoints.checkpoint import Base, read_base, seed_of
from jobs.checkpoints.conversion import (
    ConversionError,
    _prepare,
    _take_place,
    check_whole,
    reshard_run,
)
from jobs.checkpoints.stages import is_fused
from jobs.runs import Run
from jobs.runs.folder import read_run, write_note
from jobs.state import ConvertedState
from windowing.engine.storage.state import MemoryStore
from windowing.model import Pipeline, parse_pipeline
from windowing.model.file.versions import with_shards
from windowing.model.run_errors import CheckpointMismatch
from windowing.spark.storage.seed import read_seed

PIPELINE = parse_pipeline("""
name: p
source: {topic: s, partitions: 1, format: json, event_time: {field: ts, unit: us},
  fields: {k: int}, disorder: ordered}
shards: 2
queries:
  a: {window: RANGE 10 us SLIDE 10 us WATTR ts, group_by: [k], aggregates: {n: count}}
""")
BASE = Base(1, {"s/0": 9}, (PIPELINE.fingerprint,), "checkpoint.before-1")


class Killed(BaseException):
    """The process ends here."""


@pytest.fixture(params=["notes", "data"])
def run(tmp_path: Path, request: pytest.FixtureRequest) -> Run:
    """A run with a checkpoint, in the folder of its notes or apart from it, as on HDFS."""
    folder, home = tmp_path / "notes" / "r1", tmp_path / request.param / "r1"
    folder.mkdir(parents=True)
    (home / "checkpoint" / "commits").mkdir(parents=True)
    (home / "checkpoint" / "commits" / "0").write_text("old")
    (home / "stages.json").write_text('{"fused": true}')
    (folder / "p.yml").write_text(PIPELINE.text)
    found = Run("p", "r1", "", folder, home / "checkpoint", tmp_path / "t", folder / "p.yml")
    write_note(found)
    return found


def state() -> ConvertedState:
    store = MemoryStore()
    store.put("head", b"1")
    return ConvertedState({("shard", 4): store}, with_shards(PIPELINE, 5), "digest", 1)


def check_new(run: Run, pipeline: Pipeline) -> None:
    """Everything is the new checkpoint's, and the old one is kept."""
    assert read_base(run.checkpoint) == BASE
    assert read_seed(seed_of(run.checkpoint))["shard", 4].get("head") == b"1"
    assert is_fused(run.checkpoint)
    assert run.own_pipeline().shards == 5
    assert read_run(run.folder).fingerprint == pipeline.fingerprint
    home = run.checkpoint.parent
    assert (home / "checkpoint.before-1" / "commits" / "0").read_text() == "old"
    check_whole(run.checkpoint)
    assert sorted(path.name for path in {*run.folder.iterdir(), *home.iterdir()}) == [
        "checkpoint",
        "checkpoint.before-1",
        "p.yml",
        "run.json",
        "stages.json",
    ]


@pytest.mark.parametrize("steps", range(8))
def test_an_interruption_is_made_good(
    run: Run, steps: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    new = state()
    _prepare(run, new, BASE)
    with pytest.raises(CheckpointMismatch, match="slackwater reshard"):
        check_whole(run.checkpoint)
    left = iter(range(steps))
    for name in ("rename", "replace", "rmdir"):
        done = getattr(Path, name)

        def step(self: Path, *target: Path, done: object = done) -> object:
            if next(left, None) is None:
                raise Killed
            return done(self, *target)  # type: ignore[operator]

        monkeypatch.setattr(Path, name, step)
    try:
        _take_place(run)
    except Killed:
        monkeypatch.undo()
        with pytest.raises(CheckpointMismatch):
            check_whole(run.checkpoint)
        _take_place(run)
    else:
        assert steps >= 6
    check_new(run, new.pipeline)


def test_a_folder_that_is_not_complete_is_made_anew(run: Run) -> None:
    (run.checkpoint.parent / ".converted.new" / "checkpoint").mkdir(parents=True)
    assert _take_place(run) is None
    _prepare(run, state(), BASE)
    _take_place(run)
    check_new(run, with_shards(PIPELINE, 5))


def test_what_cannot_be_resharded(run: Run) -> None:
    with pytest.raises(ConversionError, match="has 2 shards already"):
        reshard_run(run, 2)
    (run.checkpoint / "commits" / "0").unlink()
    with pytest.raises(ConversionError, match="no committed batch"):
        reshard_run(run, 3)
