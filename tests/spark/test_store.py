"""State in Spark's store: bytes come back, whether they lie there as text or as bytes."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windowing.engine.state import MemoryStore
from windowing.spark.store import MapStateStore, as_bytes, as_text


class Map:
    """A map state as pyspark's: keys and values are rows of one column."""

    def __init__(self) -> None:
        self.held: dict[tuple[str], tuple[Any]] = {}

    def getMapState(self, *_: Any) -> Map:  # noqa: N802 - the names are pyspark's
        return self

    def getValue(self, key: tuple[str]) -> tuple[Any] | None:  # noqa: N802
        return self.held.get(key)

    def updateValue(self, key: tuple[str], value: tuple[Any]) -> None:  # noqa: N802
        self.held[key] = value

    def removeKey(self, key: tuple[str]) -> None:  # noqa: N802
        self.held.pop(key, None)

    def iterator(self) -> Any:
        return iter(self.held.items())


@given(st.binary(max_size=300))
def test_what_is_stored_as_text_is_ascii_and_comes_back(value: bytes) -> None:
    assert as_text(value).isascii()
    assert as_bytes(as_text(value)) == value


KEYS = st.sampled_from(["head", "partials/base", "partials/delta-000000", "keys/a"])


@pytest.mark.parametrize("text", [True, False])
@given(changes=st.lists(st.tuples(KEYS, st.none() | st.binary(max_size=9)), max_size=9))
def test_it_is_a_store_like_the_one_in_memory(
    changes: list[tuple[str, bytes | None]], *, text: bool
) -> None:
    held, expected = Map(), MemoryStore()
    store = MapStateStore(held, as_text=text)
    for key, value in changes:
        for one in (store, expected):
            if value is None:
                one.delete(key)
            else:
                one.put(key, value)
    for key, _ in changes:
        assert store.get(key) == expected.get(key)
    for prefix in ("", "partials/"):
        assert [*store.scan(prefix)] == [*expected.scan(prefix)]
    assert all(isinstance(value, str) == text for (value,) in held.held.values())
