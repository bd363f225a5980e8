"""Spark's map state of one key, in memory; `tests/spark/test_map_state.py` compares it with it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any


class SimulatedMap:
    """A map state with Spark's methods; `snapshot` is what its task commits.

    Args:
        values: its content by key.
    """

    def __init__(self, values: dict[str, bytes]) -> None:
        self._values = dict(values)

    def exists(self) -> bool:
        """Return whether there is any value."""
        return bool(self._values)

    def getValue(self, key: tuple[str]) -> tuple[bytes] | None:  # noqa: N802 - the name is Spark's
        """Return the value of a key, or None."""
        found = self._values.get(*key)
        return None if found is None else (found,)

    def containsKey(self, key: tuple[str]) -> bool:  # noqa: N802 - the name is Spark's
        """Return whether a key has a value."""
        return key[0] in self._values

    def updateValue(self, key: tuple[str], value: tuple[bytes]) -> None:  # noqa: N802
        """Set the value of a key."""
        [self._values[key[0]]] = value

    def removeKey(self, key: tuple[str]) -> None:  # noqa: N802 - the name is Spark's
        """Remove a key; a missing one is ignored."""
        self._values.pop(*key, None)

    def iterator(self) -> Iterator[tuple[tuple[str], tuple[bytes]]]:
        """Return all keys with their values, in any order."""
        return iter([((key,), (value,)) for key, value in self._values.items()])

    def keys(self) -> Iterator[tuple[str]]:
        """Return all keys, in any order."""
        return iter([(key,) for key in self._values])

    def values(self) -> Iterator[tuple[bytes]]:
        """Return all values, in any order."""
        return iter([(value,) for value in self._values.values()])

    def clear(self) -> None:
        """Remove all keys."""
        self._values.clear()

    def snapshot(self) -> dict[str, bytes]:
        """Return the content."""
        return dict(self._values)


@dataclass(frozen=True)
class Handle:
    """What Spark gives to a stateful operator.

    Attributes:
        state: the only map state of its current key.
    """

    state: SimulatedMap

    def getMapState(self, name: str, *schemas: Any) -> SimulatedMap:  # noqa: N802
        """Return the map state."""
        del name, schemas
        return self.state
