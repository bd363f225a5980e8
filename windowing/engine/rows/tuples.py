"""The tuples of hosted operators: records, by their columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from windowing.engine.columns import field_of

PLACE: Final = "place"
"""The attribute by which a tuple names its record: its lane's partition and its offset."""

Place = tuple[int, int]
Scalar = int | float | str | None


class RecordTuple(Mapping[str, Any]):
    """A record of the log, as operators see it: immutable, and not a dict to encoders.

    Args:
        columns: its values by column, with `PLACE`.
    """

    __slots__ = ("_columns",)

    def __init__(self, columns: dict[str, Any]) -> None:
        self._columns = columns

    def __getitem__(self, column: str) -> Any:
        return self._columns[column]

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)


def shown(row: Mapping[str, Any]) -> dict[str, Scalar]:
    """Return a tuple's fields by name, as users' operators see them."""
    fields = ((field_of(column), value) for column, value in row.items())
    return {field: value for field, value in fields if field is not None}
