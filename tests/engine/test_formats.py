"""What is stored says how it is written: no field is ever read as another."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from windowing import Bound, LaneStart, Record, Sliding, StreamFlow, WindowedAggregator
from windowing.engine import lane, shard_head
from windowing.engine.formats import Format, as_it_is, number_of, stamped
from windowing.engine.parcel import PARCELS, Parcel
from windowing.engine.progress.reached import Reached
from windowing.engine.state import MemoryStore, StateStore
from windowing.model.run_errors import CheckpointMismatch, OtherVersion
from windowing.runtime.standalone import lanes


class Before(msgspec.Struct, array_like=True):
    """A struct of today."""

    name: str
    last: int
    reached: int = 0


class After(msgspec.Struct, array_like=True):
    """The same struct with a field in the middle, of the same type as its neighbours."""

    name: str
    seen: int
    last: int
    reached: int = 0


def _count_them(parts: list[Any], store: StateStore) -> list[Any]:
    """The way over: the new field is counted from what stands beside, which is renamed."""
    for key, value in [*store.scan("old/")]:
        store.put(key.replace("old/", "new/"), value)
        store.delete(key)
    name, *rest = parts
    return [name, len([*store.scan("new/")]), *rest]


BEFORE = Format("a thing", 2, Before, {1: as_it_is})
AFTER = Format("a thing", 3, After, {1: as_it_is, 2: _count_them})


def test_an_inserted_field_misreads_nothing_that_is_older() -> None:
    store = MemoryStore()
    store.put("old/a", b"1")
    old = Before("x", last=7, reached=9)
    for data in (msgspec.msgpack.encode(old), BEFORE.encode(old)):
        assert AFTER.decode(data, store) == After("x", seen=1, last=7, reached=9)
        assert store.snapshot() == {"new/a": b"1"}
    # Without a number, and without the way, it would have been: the very same bytes.
    wrong = msgspec.msgpack.decode(msgspec.msgpack.encode(old), type=After)
    assert (wrong.seen, wrong.last) == (7, 9)


def test_what_cannot_be_brought_up_is_refused() -> None:
    no_way = Format("a thing", 3, After)
    with pytest.raises(
        CheckpointMismatch, match=r"a thing was written in format 2, .*\(format 3\)"
    ):
        no_way.decode(BEFORE.encode(Before("x", 7)), MemoryStore())
    half_way = Format("a thing", 3, After, {2: _count_them})
    with pytest.raises(CheckpointMismatch, match="written in format 1"):
        half_way.decode(msgspec.msgpack.encode(Before("x", 7)), MemoryStore())


def test_what_is_newer_is_refused_with_both_numbers() -> None:
    data = AFTER.encode(After("x", 1, 2))
    with pytest.raises(CheckpointMismatch, match=r"written in format 3, .* reads up to 2: run"):
        BEFORE.decode(data, MemoryStore())


@pytest.mark.parametrize("format_", [lane.STATE, shard_head.STATE])
def test_heads_of_states_bear_their_number(format_: Format[Any]) -> None:
    head = format_.head("2:0123456789abcdef", {})
    data = format_.encode(head)
    assert number_of(data)[0] == format_.number
    assert format_.decode(data, MemoryStore()) == head
    # As it was stored before there were numbers.
    assert format_.decode(msgspec.msgpack.encode(head), MemoryStore()) == head
    newer = stamped(format_.number + 1, msgspec.msgpack.encode(head))
    with pytest.raises(CheckpointMismatch, match=f"^{format_.what} was written in format"):
        format_.decode(newer, MemoryStore())


def test_a_parcel_of_another_version_is_refused() -> None:
    parcel = Parcel(1, {"ts": Reached(3)})
    data = PARCELS.encode(parcel)
    assert PARCELS.decode(data) == parcel
    body = bytes(number_of(data)[1])
    for other in (body, stamped(1, body), stamped(99, body)):
        with pytest.raises(OtherVersion, match=r"in format \d+, .*the same version"):
            PARCELS.decode(other)


def test_an_operator_goes_on_over_a_store_of_before_there_were_numbers() -> None:
    flow = StreamFlow(
        window=Sliding(10, 10, "ts", align="start"),
        group_by=("key",),
        aggregates={"all": "collect(value)"},
    )
    starts = [LaneStart("s", 0)]
    store = MemoryStore()
    before = WindowedAggregator(flow, starts, store=store)
    before.add([Record("s/0", 0, 3, "a", 7), Record("s/0", 1, 12, "a", 8)], wall=0)
    before.flush()
    now = store.get("lanes")
    assert now is not None
    number, body = number_of(now)
    assert number == lanes.STATE.number
    store.put("lanes", bytes(body))
    after = WindowedAggregator(flow, starts, store=store)
    after.add([Bound("s/0", 2, 20)], wall=0)
    assert [row.value for row in after.get_result()] == [[8]]
    store.put("lanes", stamped(number + 1, bytes(body)))
    with pytest.raises(CheckpointMismatch, match="an operator's state was written in format"):
        WindowedAggregator(flow, starts, store=store)
