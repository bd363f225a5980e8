"""The store on Spark: what it gives is what was put, whatever becomes of copies of large values."""

from __future__ import annotations

from collections.abc import Iterator
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
from windowing.engine.state import MemoryStore
from windowing.engine.tuning import Tuning
from windowing.model import parse_pipeline
from windowing.model.file.width import with_shards
from windowing.model.rows import row_lines
from windowing.runtime.local import LocalEngine
from windowing.spark.copies import Copies, may_copy
from windowing.spark.processor import Processor
from windowing.spark.stages import FusedShardStage
from windowing.spark.store import MapStateStore, whole_values

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
    """Put a value, in a step of its own."""
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
