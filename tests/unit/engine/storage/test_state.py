"""A step's store behaves like the store itself, and makes its changes at the end, and few calls."""

from __future__ import annotations

from collections.abc import Iterator

from hypothesis import given
from hypothesis import strategies as st

from tests.unit.engine.test_fused import PIPELINE, rows
from windowing.engine.lane import Lane
from windowing.engine.plan import plan_of
from windowing.engine.reading.pack import pack
from windowing.engine.reading.rules import ValueRules
from windowing.engine.shard import Shard
from windowing.engine.storage.state import MemoryStore, StepStore
from windowing.model import parse_pipeline

KEYS = st.sampled_from(["a/1", "a/2", "b/1", ""])
CALLS = st.one_of(
    st.tuples(st.just("put"), KEYS, st.binary(max_size=2)),
    st.tuples(st.just("get"), KEYS),
    st.tuples(st.just("delete"), KEYS),
    st.tuples(st.just("scan"), st.sampled_from(["", "a/", "b/1", "c"])),
)


class CountingStore(MemoryStore):
    """Counts calls, and the bytes that they carry."""

    def __init__(self) -> None:
        super().__init__()
        self.calls = self.carried = 0

    def get(self, key: str) -> bytes | None:
        """Return a value."""
        value = super().get(key)
        self._count(value or b"")
        return value

    def put(self, key: str, value: bytes) -> None:
        """Set a value."""
        self._count(value)
        super().put(key, value)

    def delete(self, key: str) -> None:
        """Delete a value."""
        self._count(b"")
        super().delete(key)

    def scan(self, prefix: str) -> Iterator[tuple[str, bytes]]:
        """Yield values."""
        found = list(super().scan(prefix))
        self._count(b"".join(value for _, value in found))
        return iter(found)

    def _count(self, value: bytes) -> None:
        self.calls += 1
        self.carried += len(value)


@given(held=st.dictionaries(KEYS, st.binary(max_size=2)), steps=st.lists(st.lists(CALLS)))
def test_a_step_sees_its_own_changes_and_others_see_them_afterwards(
    held: dict[str, bytes], steps: list[list[tuple[str, ...]]]
) -> None:
    plain, store = MemoryStore(), MemoryStore()
    plain.restore(held)
    store.restore(held)
    for calls in steps:
        before, step = store.snapshot(), StepStore(store)
        for name, *arguments in calls:
            found, wanted = (getattr(one, name)(*arguments) for one in (step, plain))
            assert (list(found) if name == "scan" else found) == (
                list(wanted) if name == "scan" else wanted
            )
        assert store.snapshot() == before
        step.commit()
        assert store.snapshot() == plain.snapshot()


def test_windows_that_close_with_their_batch_are_not_stored() -> None:
    pipeline = parse_pipeline(PIPELINE.replace("partitions: 2", "partitions: 1"))
    plan = plan_of(pipeline)
    lane, shard, rules = Lane(plan, 0), Shard(plan), ValueRules.of(pipeline, 0)
    lane_store, stores = MemoryStore(), [CountingStore() for _ in range(plan.shards)]
    carried = []
    for batch in range(20):
        chunk = pack(rows(*range(batch * 1_000, (batch + 1) * 1_000)), rules)
        for store, parcel in zip(stores, lane.step(lane_store, [chunk]), strict=True):
            store.calls = store.carried = 0
            shard.step(store, [parcel])
            assert store.calls <= 7
        carried.append(sum(store.carried for store in stores))
    # The batch's additions alone are some 200 slices, which close at once.
    assert max(carried[2:]) < 8_000
    assert max(carried[2:]) - min(carried[2:]) < 500
