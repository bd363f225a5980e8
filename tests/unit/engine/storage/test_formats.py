"""What is stored says how it is written: no field is ever read as another."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from windowing import LaneStart, Record, Sliding, StreamFlow, WindowedAggregator
from windowing.engine import lane
from windowing.engine.progress.reached import LaneProgress
from windowing.engine.storage import tables
from windowing.engine.storage.formats import Format, number_of, stamped
from windowing.engine.storage.parcel import PARCELS, Parcel
from windowing.engine.storage.state import MemoryStore
from windowing.model.run_errors import CheckpointMismatch, OtherVersion
from windowing.runtime.standalone import lanes


class Before(msgspec.Struct, array_like=True):
    """A struct."""

    name: str
    last: int


class After(msgspec.Struct, array_like=True):
    """The same struct with a field in the middle, of the same type as its neighbour."""

    name: str
    seen: int
    last: int = 0


@pytest.mark.parametrize(("older", "newer"), [(1, 2), (2, 1)])
def test_another_number_is_refused_and_never_misread(older: int, newer: int) -> None:
    data = Format("a thing", older, Before).encode(Before("x", 7))
    # Without a number it would be: the very same bytes.
    assert msgspec.msgpack.decode(bytes(number_of(data)[1]), type=After) == After("x", 7)
    said = f"a thing was written in format {older}, and this version of Slackwater reads format "
    with pytest.raises(CheckpointMismatch, match=f"^{said}{newer}: run the version"):
        Format("a thing", newer, After).decode(data)


@pytest.mark.parametrize("format_", [lane.STATE, tables.STATE])
def test_heads_of_states_bear_their_number(format_: Format[Any]) -> None:
    head = format_.type_("1:0123456789abcdef", {})
    data = format_.encode(head)
    assert number_of(data)[0] == format_.number
    assert format_.decode(data) == head
    body = msgspec.msgpack.encode(head)
    for other in (body, stamped(format_.number + 1, body)):
        with pytest.raises(CheckpointMismatch, match=f"^{format_.what} was written in format"):
            format_.decode(other)


def test_a_parcel_of_another_version_is_refused() -> None:
    parcel = Parcel(1, {"ts": LaneProgress(3)})
    data = PARCELS.encode(parcel)
    assert PARCELS.decode(data) == parcel
    body = bytes(number_of(data)[1])
    for other in (body, stamped(PARCELS.number + 1, body), stamped(99, body)):
        with pytest.raises(OtherVersion, match=r"in format \d+, .*the same version"):
            PARCELS.decode(other)


def test_an_operator_refuses_a_store_of_another_format() -> None:
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
    store.put("lanes", stamped(number + 1, bytes(body)))
    with pytest.raises(CheckpointMismatch, match="an operator's state was written in format"):
        WindowedAggregator(flow, starts, store=store)
