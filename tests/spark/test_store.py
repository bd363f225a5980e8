"""The store on Spark: what it gives is what was put, whatever becomes of copies of large values."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.engine.fused.test_fused import PIPELINE
from tests.strategies import entry
from windowing.engine.input.batches import batches
from windowing.engine.shard_head import STATE, ShardState
from windowing.engine.state import MemoryStore
from windowing.engine.tuning import Tuning
from windowing.model import parse_pipeline
from windowing.model.file.width import with_shards
from windowing.model.rows import row_lines
from windowing.model.run_errors import CheckpointMismatch
from windowing.runtime.local import LocalEngine
from windowing.spark.copies import Copies, may_copy
from windowing.spark.stages import FusedShardStage
from windowing.spark.store import (
    INDEX_KEY,
    MapStateStore,
    store_of_key,
    value_key,
    whole_values,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

KEYS = 6_000
# Every key in each of four batches, which are two microseconds long: windows close and state stays.
LOG = [
    entry(
        {
            "source": "s",
            "partition": n % 2,
            "offset": n // 2,
            "value": {
                "ts": 2 * (n // KEYS) + n % 2,
                "k": sha256(b"%d" % (n % KEYS)).hexdigest()[:24],
                "v": n * 7_919 % 10_007,
            },
        }
    )
    for n in range(4 * KEYS)
]


class SparksMap:
    """A map state for one key, in memory, with Spark's methods; the test below has the real one."""

    def __init__(self) -> None:
        self.stored: dict[str, bytes] = {}
        self.fetched = self.calls = 0

    def getValue(self, key: tuple[str]) -> tuple[bytes] | None:  # noqa: N802
        self.calls += 1
        found = self.stored.get(key[0])
        self.fetched += len(found or b"")
        return None if found is None else (found,)

    def updateValue(self, key: tuple[str], value: tuple[bytes]) -> None:  # noqa: N802
        self.calls += 1
        self.stored[key[0]] = value[0]

    def removeKey(self, key: tuple[str]) -> None:  # noqa: N802
        self.calls += 1
        self.stored.pop(key[0], None)

    def iterator(self) -> Iterator[tuple[tuple[str], tuple[bytes]]]:
        self.calls += 1
        return iter([((key,), (value,)) for key, value in self.stored.items()])


LARGE_BYTES = Tuning().copied_from_bytes
# Of those that lie in the index, four fill it.
SIZES = st.sampled_from([0, 1, 4_000, 5_000, LARGE_BYTES - 1, LARGE_BYTES, LARGE_BYTES + 1])
NAMES = st.sampled_from(["head", "lanes", "keys/t", "partials/base", "partials/delta-000000"])
CALLS = st.one_of(
    st.tuples(st.just("put"), NAMES, SIZES, st.integers(0, 2)),
    st.tuples(st.sampled_from(["get", "delete"]), NAMES),
    st.tuples(st.sampled_from(["step", "lose", "tear"])),
    st.tuples(st.just("step without copies")),
)


@given(st.lists(st.tuples(NAMES, SIZES)), st.lists(CALLS, max_size=25))
@example([], [("put", "head", LARGE_BYTES, 1), ("step",), ("delete", "head")])
@example([("head", 1), ("lanes", LARGE_BYTES)], [("step",), ("put", "head", 1, 2), ("step",)])
def test_a_store_is_a_store(earlier: list[tuple[str, int]], calls: list[tuple[Any, ...]]) -> None:
    with TemporaryDirectory() as folder:
        copies = Copies(Path(folder))
        state, model = of_an_older_version(dict(earlier), copies)
        store = MapStateStore(state, copies)
        assert [*store.scan("")] == [*model.scan("")]
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
                    assert not [name for name in state.stored if name.startswith(key)]
                case "lose", _:
                    for file in Path(folder).iterdir():
                        file.unlink()
                case "tear", _:
                    for file in Path(folder).iterdir():
                        file.write_bytes(file.read_bytes()[:-1])
                case _:
                    store.write_index()
                    assert sorted(whole_values(state.stored).items()) == [*model.scan("")]
                    store = MapStateStore(state, None if "without" in what else copies)
            assert [*store.scan("")] == [*model.scan("")]
            assert [*store.scan("partials/d")] == [*model.scan("partials/d")]


def of_an_older_version(
    sizes: dict[str, int], copies: Copies | None
) -> tuple[SparksMap, MemoryStore]:
    """State without an index, and what it holds; large values have digests if there are copies."""
    state, model = SparksMap(), MemoryStore()
    for key, size in sizes.items():
        value = bytes(size)
        model.put(key, value)
        if copies is not None and size >= LARGE_BYTES:
            state.stored[value_key(key)] = value
            value = b"\xc1\x00sha256:" + copies.write(value)
        state.stored[key] = value
    return state, model


def test_a_step_reads_and_writes_the_index_once() -> None:
    state = SparksMap()
    with for_a_step(state) as store:
        for key in ("lanes", "head"):
            assert store.get(key) is None
            store.put(key, b"\xc1\x01")
    state.calls = 0
    with for_a_step(state) as store:
        for key in ("lanes", "head"):
            assert store.get(key) == b"\xc1\x01"
            store.put(key, b"\xc1\x02")
    assert state.calls == 2
    with for_a_step(state) as store:
        store.put("head", b"\xc1\x02")
    assert state.calls == 3, "nothing has changed"


def test_a_step_that_fails_leaves_the_index_alone() -> None:
    state = SparksMap()
    step = for_a_step(state)
    step.__enter__().put("head", b"1")
    assert not step.__exit__(ZeroDivisionError, ZeroDivisionError(), None)
    assert INDEX_KEY not in state.stored


def test_an_older_version_does_not_begin_anew() -> None:
    """It would look for the head where it always lay, and take its absence for a new run."""
    state = SparksMap()
    with for_a_step(state) as store:
        store.put("head", STATE.encode(ShardState("f", {})))
    with pytest.raises(CheckpointMismatch, match="in format 0"):
        STATE.decode(state.stored["head"])


def test_an_index_that_lacks_a_value_is_refused() -> None:
    state = SparksMap()
    with for_a_step(state) as store:
        store.put("head", b"1")
    del state.stored[INDEX_KEY]
    with pytest.raises(CheckpointMismatch, match=r"'head'.*damaged"):
        MapStateStore(state, None).get("head")
    with pytest.raises(CheckpointMismatch, match=r"'head'.*damaged"):
        whole_values(state.stored)
    assert not whole_values(state.stored, lambda key: key != "head")


def for_a_step(state: Any) -> AbstractContextManager[MapStateStore]:
    """The store of a step, as stages get it."""
    handle: Any = SimpleNamespace(getMapState=lambda *_: state)
    return store_of_key(handle)()


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
    assert [*state.stored] == [INDEX_KEY]


def put(state: Any, copies: Copies, key: str, value: bytes) -> None:
    """Put a value, in a step of its own."""
    store = MapStateStore(state, copies)
    store.put(key, value)
    store.write_index()


def test_what_a_scan_has_found_is_deleted_whole(tmp_path: Path) -> None:
    """As the state of operators is, whose additions get new keys in every batch."""
    state, copies = SparksMap(), Copies(tmp_path)
    for number in range(3):
        put(state, copies, f"rows/q/{number}", bytes([number]) * LARGE_BYTES)
    store = MapStateStore(state, copies)
    for key, value in store.scan("rows/q/"):
        assert len(value) == LARGE_BYTES
        store.delete(key)
    assert [*state.stored] == [INDEX_KEY]
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
    stage.init(handle)
    with stage._store() as store:
        store.put("head", bytes(LARGE_BYTES))
    assert bool([*tmp_path.iterdir()]) != encrypted
    with stage._store() as store:
        assert store.get("head") == bytes(LARGE_BYTES)


def temporary_folders(spark: SparkSession) -> list[Path]:
    """The folders that Spark gives to its workers."""
    environment = spark.sparkContext._jvm.org.apache.spark.SparkEnv.get()
    folders = environment.blockManager().diskBlockManager().localDirsString()
    return [Path(folder) for folder in folders]


@pytest.mark.slow
@pytest.mark.spark
def test_windows_on_spark_do_not_depend_on_copies(spark: SparkSession, tmp_path: Path) -> None:
    from jobs.file_run import finish, one_file_a_batch
    from jobs.state import read_state
    from windowing.spark.plan import emissions
    from windowing.spark.sinks import MemorySink

    pipeline = with_shards(parse_pipeline(PIPELINE), 1)
    local, sink, copies = LocalEngine(pipeline), MemorySink(pipeline), list[int]()
    cut = [*batches(LOG, KEYS)]

    def write(batch: DataFrame, number: int) -> None:
        sink.write(batch, number)
        found = [file for place in temporary_folders(spark) for file in place.glob("state-*")]
        copies.append(len(found))
        # The second batch finds those of the first, the third one none that is whole.
        for file in found if number else ():
            file.write_bytes(b"torn")

    raw = one_file_a_batch(spark, cut, tmp_path)
    finish(emissions(raw, pipeline, fused=True), write, tmp_path)
    assert len(copies) == len(cut)
    assert copies[0] > 0, "there is large state"
    for batch in cut:
        local.feed(batch)
    assert sorted(row_lines(sink.output.rows)) == sorted(row_lines(local.output.rows))
    lines = read_state(spark, tmp_path / "checkpoint", pipeline)
    [held] = [line["rows"] for line in lines if line["table"] == "q/partials"]
    assert held == local.shard.held(local._shards[0][1])["q"]["partials"].to_dicts()
