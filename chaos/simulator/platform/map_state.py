"""Spark's map state of one key, in memory, as far as the store asks it.

`tests/spark/test_map_state.py` compares both.
"""

from __future__ import annotations

from collections.abc import Iterator


class SimulatedMap:
    """A map state with Spark's methods; `snapshot` is what its task commits.

    Args:
        values: its content by key.
    """

    def __init__(self, values: dict[str, bytes]) -> None:
        self._values = dict(values)

    def getValue(self, key: tuple[str]) -> tuple[bytes] | None:  # noqa: N802 - the name is Spark's
        """Return the value of a key, or None."""
        found = self._values.get(*key)
        return None if found is None else (found,)

    def updateValue(self, key: tuple[str], value: tuple[bytes]) -> None:  # noqa: N802
        """Set the value of a key."""
        [self._values[key[0]]] = value

    def removeKey(self, key: tuple[str]) -> None:  # noqa: N802 - the name is Spark's
        """Remove a key; a missing one is ignored."""
        self._values.pop(*key, None)

    def iterator(self) -> Iterator[tuple[tuple[str], tuple[bytes]]]:
        """Return all keys with their values, in any order."""
        return iter([((key,), (value,)) for key, value in self._values.items()])

    def snapshot(self) -> dict[str, bytes]:
        """Return the content."""
        return dict(self._values)
