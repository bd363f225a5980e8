"""The schema of partial states: each column's role, which decides how it is processed.

A query's schema is built once, from its aggregates. Merging, padding and reading results look
columns up in it by name; a column that it does not list is not part of a state, whatever its name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import cached_property
from typing import NamedTuple

import polars as pl

from windowing.engine.aggregates.bags import Bag
from windowing.engine.aggregates.holdings import UserState, bag_of, user_state_of
from windowing.engine.aggregates.sums import COUNTED, SumColumns, TruthColumns
from windowing.engine.columns import (
    FIRST_OFFSET,
    LAST_OFFSET,
    RECORDS,
    TIME,
    field_column,
    state_column,
)
from windowing.engine.reading.decoders.decoder import dtype_of
from windowing.model import Query
from windowing.model.fields import Aggregate
from windowing.model.file.pipeline import Source
from windowing.model.functions import TRUTHS
from windowing.model.types import FieldType

DataType = pl.DataType | type[pl.DataType]


class Role(Enum):
    """How a column merges."""

    SUM = "sum"
    MIN = "min"
    MAX = "max"
    BIN = "bin"
    """A sum that frames may omit; it is then zero."""
    BAG = "bag"
    """Entries, united by `windowing.engine.aggregates.bags.Bag`."""
    USER = "user"
    """States of a user's class, merged by the class."""


class StateColumn(NamedTuple):
    """One column of partial states.

    Attributes:
        dtype: of its values; for a bag, only that it is a list.
        aggregates: the names of those that read it; empty: all rows show it.
    """

    name: str
    role: Role
    dtype: DataType
    aggregates: tuple[str, ...] = ()


_EXTREMES = {"min": Role.MIN, "max": Role.MAX}
_OF_ALL = (
    StateColumn(RECORDS, Role.SUM, pl.Int64),
    StateColumn(FIRST_OFFSET, Role.MIN, pl.Int64),
    StateColumn(LAST_OFFSET, Role.MAX, pl.Int64),
)


@dataclass(frozen=True)
class StateSchema:
    """The columns of one query's partial states.

    Attributes:
        columns: by name, in the order of a new state.
        sums: by field, the columns of its number of values, and of its exact sum.
        truths: by aggregate, the columns of how many values are true, false and null.
        bags: by aggregate, the bag that it reads.
        users: by aggregate, the user's state that it reads.
    """

    columns: Mapping[str, StateColumn]
    sums: Mapping[str, SumColumns]
    truths: Mapping[str, TruthColumns]
    bags: Mapping[str, Bag]
    users: Mapping[str, UserState]

    @classmethod
    def of_records(cls) -> StateSchema:
        """The schema of a flow that keeps records, and no partial states."""
        return cls({}, {}, {}, {}, {})

    @classmethod
    def of(cls, query: Query, source: Source) -> StateSchema:
        """The schema of a query over a source."""
        attribute = query.window.attribute
        # The event time may be among `fields` too, with its raw value.
        plain = attribute in source.fields and attribute != source.event_time.field
        order = field_column(attribute) if plain else TIME
        return cls.over(query.aggregates, source.fields, order)

    @classmethod
    def over(
        cls, aggregates: Sequence[Aggregate], fields: Mapping[str, FieldType], order: str
    ) -> StateSchema:
        """Return the schema of some aggregates.

        Args:
            order: the records' column of the windowing attribute; with partition and offset it
                gives the canonical order.
        """
        summed: dict[str, set[str]] = {}
        for a in aggregates:
            if a.field is not None and a.function in COUNTED:
                summed.setdefault(a.field, set()).add(a.function)
        schema = cls(
            {},
            {field: SumColumns.of(field, fields[field], summed[field]) for field in summed},
            {a.name: TruthColumns.of(a) for a in aggregates if a.function in TRUTHS},
            {a.name: bag for a in aggregates if (bag := bag_of(a, order)) is not None},
            {a.name: user_state_of(a) for a in aggregates if a.user is not None},
        )
        columns = (*_OF_ALL, *schema._read(aggregates, fields))
        return replace(schema, columns={column.name: column for column in columns})

    def _read(
        self, aggregates: Sequence[Aggregate], fields: Mapping[str, FieldType]
    ) -> Iterator[StateColumn]:
        for field in dict.fromkeys(field for a in aggregates for field in a.fields):
            over = [a for a in aggregates if a.field == field]
            dtype = dtype_of(fields[field])
            for function, role in _EXTREMES.items():
                if readers := tuple(a.name for a in over if a.function == function):
                    yield StateColumn(state_column(field, function), role, dtype, readers)
            if field in self.sums:
                sums, readers = (
                    self.sums[field],
                    tuple(a.name for a in over if a.function in COUNTED),
                )
                role = Role.BIN if sums.binned else Role.SUM
                yield StateColumn(sums.count, Role.SUM, pl.Int64, readers)
                for name in (*sums.total, *sums.squares):
                    yield StateColumn(name, role, pl.Int64, readers)
        for truths in dict.fromkeys(self.truths.values()):
            readers = tuple(name for name, own in self.truths.items() if own == truths)
            for name in truths.names:
                yield StateColumn(name, Role.SUM, pl.Int64, readers)
        for column in dict.fromkeys(bag.column for bag in self.bags.values()):
            readers = tuple(name for name, bag in self.bags.items() if bag.column == column)
            yield StateColumn(column, Role.BAG, pl.List, readers)
        for column in dict.fromkeys(user.column for user in self.users.values()):
            readers = tuple(name for name, user in self.users.items() if user.column == column)
            yield StateColumn(column, Role.USER, pl.Binary, readers)

    @cached_property
    def held(self) -> dict[str, Bag | UserState]:
        """The bags and users' states, by column."""
        states: list[Bag | UserState] = [*self.bags.values(), *self.users.values()]
        return {state.column: state for state in states}

    def among(self, frame: pl.DataFrame, *roles: Role) -> list[StateColumn]:
        """Return the columns of a frame that are part of a state, in its order.

        Args:
            frame: partial states, possibly with other columns.
            roles: restrict to these roles.
        """
        found = (self.columns.get(name) for name in frame.columns)
        return [column for column in found if column is not None and column.role in roles]

    def concat(self, frames: Sequence[pl.DataFrame]) -> pl.DataFrame:
        """Concatenate partial states; bins that a frame lacks are zero."""
        # In one piece: what follows takes half as long as over several, and this next to nothing.
        (first, *more) = frames
        joined = pl.concat(frames, how="diagonal", rechunk=True) if more else first.rechunk()
        bins = [column.name for column in self.among(joined, Role.BIN)]
        return joined.with_columns(pl.col(bins).fill_null(0)) if bins else joined

    def canonical(self, partials: pl.DataFrame) -> pl.DataFrame:
        """Return the partial states in the order of what identifies them, trimmed."""
        kept = self.trimmed(partials)
        return kept.sort(name for name in kept.columns if name not in self.columns)

    def trimmed(self, partials: pl.DataFrame) -> pl.DataFrame:
        """Return the partial states without bins that are zero in all of them."""
        bins = [column.name for column in self.among(partials, Role.BIN)]
        return partials.drop(name for name in bins if not (partials[name] != 0).any())
