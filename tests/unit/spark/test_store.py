"""The store on Spark: what it gives is what was put, whatever becomes of copies of large values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from jobs.checkpoints.stages import decide_fused, is_fused, note_fused
from tests.spark.test_storage import CASE
from tests.unit.engine.test_fused import PIPELINE
from windowing.engine.storage.state import MemoryStore
from windowing.engine.tuning import Tuning
from windowing.model import load_pipeline
from windowing.spark.plan import Processor
from windowing.spark.stages import FusedShardStage
from windowing.spark.storage.slots import PERIOD, number_of, slot_of, spark_hash
from windowing.spark.storage.store import Copies, MapStateStore, may_copy, whole_values


class SparksMap:
    """A map state for one key, in memory, with Spark's methods; the test below has the real one."""

    def __init__(self) -> None:
        self.stored: dict[str, bytes] = {}
        self.fetched = 0

    def getValue(self, key: tuple[str]) -> tuple[bytes] | None:  # noqa: N802
        found = self.stored.get(key[0])
        self.fetched += len(found or b"")
        return None if found is None else (found,)

    def updateValue(self, key: tuple[str], value: tuple[bytes]) -> None:  # noqa: N802
        self.stored[key[0]] = value[0]

    def removeKey(self, key: tuple[str]) -> None:  # noqa: N802
        self.stored.pop(key[0], None)

    def iterator(self) -> Iterator[tuple[tuple[str], tuple[bytes]]]:
        return iter([((key,), (value,)) for key, value in self.stored.items()])


LARGE_BYTES = Tuning().copied_from_bytes
SIZES = st.sampled_from([0, 1, LARGE_BYTES - 1, LARGE_BYTES, LARGE_BYTES + 1])
NAMES = st.sampled_from(["head", "lanes", "keys/t", "partials/base", "partials/delta-000000"])
CALLS = st.one_of(
    st.tuples(st.just("put"), NAMES, SIZES, st.integers(0, 2)),
    st.tuples(st.sampled_from(["get", "delete"]), NAMES),
    st.tuples(st.sampled_from(["step", "lose", "tear"])),
    st.tuples(st.just("step without copies")),
)


@given(st.lists(CALLS, max_size=25))
@example([("put", "head", LARGE_BYTES, 1), ("step",), ("delete", "head")])
@example([("put", "head", LARGE_BYTES, 1), ("step",), ("put", "head", 1, 2), ("step",)])
def test_a_store_is_a_store(calls: list[tuple[Any, ...]]) -> None:
    with TemporaryDirectory() as folder:
        copies = Copies(Path(folder))
        state, model = SparksMap(), MemoryStore()
        store = MapStateStore(state, copies)
        for what, *rest in calls:
            match what, rest:
                case "put", [key, size, byte]:
                    for one in (store, model):
                        one.put(key, bytes([byte]) * size)
                case "get", [key]:
                    assert store.get(key) == model.get(key)
                case "delete", [key]:
                    for one in (store, model):
                        one.delete(key)
                    assert key not in state.stored
                case "lose", _:
                    for file in Path(folder).iterdir():
                        file.unlink()
                case "tear", _:
                    for file in Path(folder).iterdir():
                        file.write_bytes(file.read_bytes()[:-1])
                case _:
                    assert sorted(whole_values(state.stored).items()) == [*model.scan("")]
                    store = MapStateStore(state, None if "without" in what else copies)
            assert [*store.scan("")] == [*model.scan("")]
            assert [*store.scan("partials/d")] == [*model.scan("partials/d")]


def test_what_has_a_copy_is_not_fetched(tmp_path: Path) -> None:
    state, copies = SparksMap(), Copies(tmp_path)
    large = bytes(3 * LARGE_BYTES)
    put(state, copies, "partials/base", large)
    store = MapStateStore(state, copies)
    assert store.get("partials/base") == large
    assert state.fetched < 100
    store.put("partials/base", large[1:])
    assert len([*tmp_path.iterdir()]) == 1, "that of the value before is gone"
    store.delete("partials/base")
    assert not [*tmp_path.iterdir()]
    assert not state.stored


def put(state: Any, copies: Copies, key: str, value: bytes) -> None:
    """Put a value, in its own step."""
    MapStateStore(state, copies).put(key, value)


def test_what_a_scan_has_found_is_deleted_whole(tmp_path: Path) -> None:
    """As the state of operators is, whose additions get new keys in every batch."""
    state, copies = SparksMap(), Copies(tmp_path)
    for number in range(3):
        put(state, copies, f"rows/q/{number}", bytes([number]) * LARGE_BYTES)
    store = MapStateStore(state, copies)
    for key, value in store.scan("rows/q/"):
        assert len(value) == LARGE_BYTES
        store.delete(key)
    assert not state.stored
    assert not [*tmp_path.iterdir()]


def test_a_disk_that_takes_no_copies_does_not_stop_a_job(tmp_path: Path) -> None:
    store = MapStateStore(SparksMap(), Copies(tmp_path / "gone"))
    store.put("head", bytes(LARGE_BYTES))
    assert store.get("head") == bytes(LARGE_BYTES)


@pytest.mark.parametrize("encrypted", [False, True])
def test_no_state_lies_open_where_spark_encrypts_its_files(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, *, encrypted: bool
) -> None:
    monkeypatch.setenv("SPARK_LOCAL_DIRS", f"{tmp_path},/elsewhere")
    settings: Any = {"spark.io.encryption.enabled": "true"} if encrypted else {}
    state: Any = SparksMap()
    handle: Any = SimpleNamespace(getMapState=lambda *_: state)
    stage = FusedShardStage(PIPELINE, copies=may_copy(settings))
    Processor(stage).init(handle)
    stage._store().put("head", bytes(LARGE_BYTES))
    assert bool([*tmp_path.iterdir()]) != encrypted
    assert stage._store().get("head") == bytes(LARGE_BYTES)


DIVISORS = [tasks for tasks in range(1, 65) if PERIOD % tasks == 0]


@given(st.integers(0, 41_000_000))
def test_a_slot_names_its_number(number: int) -> None:
    assert number_of(slot_of(number)) == number
    assert 0 <= slot_of(number) < 2**31


@given(st.integers(1, 500), st.sampled_from(DIVISORS))
def test_every_task_gets_as_many_as_any_other(count: int, tasks: int) -> None:
    slots = np.array([slot_of(number) for number in range(count)])
    found = Counter((spark_hash(slots) % tasks).tolist())
    assert max(found.values()) - min(found[task] for task in range(tasks)) <= 1


def test_slots_stay_what_they_are() -> None:
    """They stand in checkpoints."""
    slots = [slot_of(number) for number in (0, 1, 2, 7, PERIOD)]
    assert slots == [
        22362,
        53720,
        6234,
        50280,
        1052440,
    ]


def test_a_run_keeps_the_layout_that_it_began_with(tmp_path: Path) -> None:
    pipeline = load_pipeline(CASE / "pipeline.yml")
    fresh, begun = tmp_path / "fresh" / "checkpoint", tmp_path / "begun" / "checkpoint"
    for folder in (fresh, begun):
        folder.mkdir(parents=True)
    assert decide_fused(fresh, pipeline)
    assert is_fused(fresh)
    note_fused(begun, fused=False)
    assert not decide_fused(begun, pipeline)
