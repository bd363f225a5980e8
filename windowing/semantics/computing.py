"""What a source computes of a record, and what is known of it besides its value."""

from __future__ import annotations

from dataclasses import dataclass

from windowing.model.fates import FILTERED
from windowing.model.limits import LATEST
from windowing.model.metadata import (
    APPEND,
    NO_METADATA,
    OFFSET,
    PARTITION,
    TIMESTAMP,
    TOPIC,
    Metadata,
    header_of,
)
from windowing.model.rows import Scalar
from windowing.model.source import Source
from windowing.semantics.expressions import ExpressionFailure, value_of


@dataclass(frozen=True, slots=True)
class EntryPlace:
    """Where an entry stands, and what it has besides its value.

    Attributes:
        topic: without a place, the metadata of one is not asked for.
    """

    topic: str = ""
    partition: int = 0
    offset: int = 0
    append_us: int | None = None
    metadata: Metadata = NO_METADATA

    def value_of(self, name: str) -> Scalar:
        """Return what `$…` names."""
        if name == APPEND:
            return self.append_us
        if name == TIMESTAMP:
            return self.metadata.timestamp_us
        if name == OFFSET:
            return self.offset
        if name == PARTITION:
            return self.partition
        if name == TOPIC:
            return self.topic
        header = header_of(name)
        found = self.metadata.key
        if header is not None:
            own = [value for one, value in self.metadata.headers if one == header]
            found = own[-1] if own else None
        try:
            return None if found is None else found.decode("utf-8")
        except UnicodeDecodeError:
            return None


@dataclass(frozen=True, slots=True)
class Computed:
    """What became of a record.

    Attributes:
        letter: the reason of its dead letter; None: it is none.
        fate: the name of what withholds it from windows; None: nothing.
        warned: the names of the rules that only warn, and that it breaks.
    """

    letter: str | None = None
    fate: str | None = None
    warned: tuple[str, ...] = ()


class Computing:
    """What a source computes.

    Args:
        placed: the fields that windows lie over, whose values are `earliest` at least.
    """

    def __init__(self, source: Source, placed: frozenset[str], earliest: int) -> None:
        self._source, self._placed, self._earliest = source, placed, earliest

    def of(self, fields: dict[str, Scalar], place: EntryPlace, *, withheld: bool) -> Computed:
        """Add to a record's fields what is computed, and return what becomes of it.

        Args:
            withheld: a step withholds it from windows, so that no filter judges it.
        """
        fields |= {name: place.value_of(name) for name in self._source.metadata}
        fate, warned = None, list[str]()
        for one in self._source.computations:
            if one.role == "where" and withheld:
                continue
            if one.role == "argument" and (withheld or fate is not None):
                fields[one.name] = None
                continue
            try:
                value = value_of(one.expression, self._source.fields, fields)
            except ExpressionFailure:
                return Computed("bad_expression")
            if one.is_field:
                if self._is_misplaced(one.name, value):
                    return Computed("bad_expression")
                fields[one.name] = value
            elif value is not True:
                if one.role == "rule":
                    return Computed(f"rule:{one.name}")
                if one.role == "where":
                    fate = FILTERED.name
                else:
                    warned.append(one.name)
        return Computed(None, fate, tuple(warned))

    def _is_misplaced(self, name: str, value: Scalar) -> bool:
        if name not in self._placed or value is None:
            return False
        assert isinstance(value, int)  # noqa: S101 - windows are over ints alone
        return not self._earliest <= value < LATEST
