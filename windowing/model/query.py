"""The flows of a pipeline: its queries or its join, all defaults applied."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Protocol

from pydantic import InstanceOf

from windowing.model.emission import Accumulation, Early, Late
from windowing.model.fields import Aggregate, ValueType, may_overflow, value_type
from windowing.model.flow import JoinFlow, StreamFlow
from windowing.model.having import Having
from windowing.model.join import PAIRS, PLACE, Comparison, Operand, Side, field_type, operands_in
from windowing.model.pair_values import PairExpression
from windowing.model.source import Source
from windowing.model.types import FieldType
from windowing.model.windows.sliding import begins_later
from windowing.model.windows.window import Window


class Flow(Protocol):
    """A flow of a pipeline: a query with windows, a join, a query of operators, or another kind.

    Code that asks a flow for what it needs still works when a kind is added. What each room
    does for a kind is registered there by the kind's name.
    """

    flow_kind: ClassVar[str]

    @property
    def name(self) -> str:
        """The name in every row, in the counts, and in messages."""

    @property
    def attribute(self) -> str:
        """What orders the records, and is asked whether one is late: a field, or `row_num`."""

    @property
    def key(self) -> tuple[str, ...]:
        """The fields that make up a row's key, in their order."""

    def record_key(self, topic: str) -> tuple[str, ...]:
        """Return the fields of a topic's records that are part of a row's key."""

    @property
    def window(self) -> Window | None:
        """The window whose extents have aggregates; None: rows are of another kind."""

    @property
    def extents_in(self) -> Window | None:
        """The windows whose extents rows show; None: records decide what a row spans."""

    @property
    def early(self) -> Early | None:
        """Provisional rows, if any."""

    @property
    def begins_later(self) -> bool:
        """Whether it joins the stream at some time, so that earlier records are nothing to it."""

    @property
    def waits(self) -> bool:
        """Whether a row is sent once the stream's progress has passed it."""

    @property
    def waits_for_topic(self) -> str | None:
        """The topic whose lanes alone make rows due by their progress; None: all lanes do."""

    @property
    def revised_by(self) -> tuple[str, ...] | None:
        """The fields of the key by which rows are revisions of each other; None: window and key."""

    @property
    def by_wall_clock(self) -> bool:
        """Whether rows depend on the machine's clock, and are no function of the log."""

    def key_types(self, fields: Mapping[str, FieldType]) -> dict[str, FieldType]:
        """Give the types of a row's key, in the order of its fields.

        Args:
            fields: of the pipeline's source.
        """

    @property
    def aggregates(self) -> tuple[Aggregate, ...]:
        """The aggregates that a row shows; none where it shows fields of records, or pairs."""

    @property
    def shows(self) -> tuple[str, ...]:
        """The names of a row's values, in the order of its columns."""

    @property
    def values(self) -> Mapping[str, object]:
        """What each value of a row is, by name: equal where two flows show the same."""

    @property
    def by_users(self) -> tuple[str, ...]:
        """The names of the values that classes of the user's compute."""

    def without_values(self) -> Flow:
        """Return the flow without what it shows, to compare all else."""

    def value_types(self, fields: Mapping[str, FieldType]) -> dict[str, ValueType]:
        """Give the types of a row's values.

        Args:
            fields: of the pipeline's source.
        """

    @property
    def marks(self) -> tuple[str, ...]:
        """The columns that tables have for marks which only some rows have."""

    def may_overflow(self, fields: Mapping[str, FieldType]) -> tuple[str, ...]:
        """Name the values that may be null in a row that names them in `overflow`.

        Args:
            fields: of the pipeline's source.
        """

    @property
    def late(self) -> Late:
        """What becomes of late records."""

    @property
    def retention_us(self) -> int | None:
        """How long late records are taken; None: forever, or none is."""

    @property
    def entries_max(self) -> int | None:
        """How many entries of state a shard may hold; None: any number."""

    @property
    def accumulation(self) -> Accumulation:
        """What later rows show."""

    @property
    def having(self) -> Having | None:
        """What a row has to fulfil to be sent; None: all are."""


class MostFlows:
    """What holds of a flow unless its kind says otherwise, as `Flow` describes it."""

    @property
    def begins_later(self) -> bool:
        """False: it is there from the log's first record."""
        return False

    @property
    def waits(self) -> bool:
        """True: rows are sent once progress has passed them."""
        return True

    @property
    def waits_for_topic(self) -> str | None:
        """None: rows are due by the progress of all lanes."""
        return None

    @property
    def revised_by(self) -> tuple[str, ...] | None:
        """None: a window of one key is revised."""
        return None

    @property
    def by_wall_clock(self) -> bool:
        """False: rows are a function of the log."""
        return False

    @property
    def extents_in(self: Flow) -> Window | None:
        """The window of a query."""
        return self.window

    def key_types(self: Flow, fields: Mapping[str, FieldType]) -> dict[str, FieldType]:
        """Give the types of a row's key, in the order of its fields."""
        return {name: fields[name] for name in self.key}

    @property
    def shows(self: Flow) -> tuple[str, ...]:
        """The names of the aggregates."""
        return tuple(aggregate.name for aggregate in self.aggregates)

    @property
    def marks(self) -> tuple[str, ...]:
        """None: all columns are filled by all rows."""
        return ()

    def may_overflow(self: Flow, fields: Mapping[str, FieldType]) -> tuple[str, ...]:
        """Name the sums, means of decimals, and what users' classes compute, which may fail."""
        return tuple(
            one.name for one in self.aggregates if one.user is not None or may_overflow(one, fields)
        )

    @property
    def values(self: Flow) -> Mapping[str, object]:
        """The aggregates, by name."""
        return {aggregate.name: aggregate for aggregate in self.aggregates}

    @property
    def by_users(self: Flow) -> tuple[str, ...]:
        """The names of the user's aggregates."""
        return tuple(one.name for one in self.aggregates if one.user is not None)


class Query(StreamFlow, MostFlows):
    """A query with windows of aggregates, all defaults applied.

    Attributes:
        name: the query's name in the file and in every row.
        having: what a row has to fulfil to be sent; None: all are.
    """

    flow_kind: ClassVar[str] = "windows"
    name: str
    having: InstanceOf[Having] | None = None

    def record_key(self, topic: str) -> tuple[str, ...]:
        """Return the fields of a record that are part of a row's key."""
        del topic
        return self.key

    @property
    def begins_later(self) -> bool:
        """Whether its windows begin at some time, so that earlier records are nothing to it."""
        return begins_later(self.window)

    def value_types(self, fields: Mapping[str, FieldType]) -> dict[str, ValueType]:
        """Give the types of a row's values; a class of the user's is imported for its own.

        Args:
            fields: of the pipeline's source.

        Raises:
            UserAggregateError: a class cannot be used.
        """
        return {aggregate.name: value_type(aggregate, fields) for aggregate in self.aggregates}

    def having_types(self, fields: Mapping[str, FieldType]) -> dict[str, FieldType]:
        """Give the types of the names in `having`; none without it.

        Args:
            fields: of the pipeline's source.

        Raises:
            ValueError: it does not fit them.
            UserAggregateError: a class cannot be used.
        """
        if (having := self.having) is None:
            return {}
        known = [one for one in self.aggregates if one.user is None or having.uses([one.name])]
        values = {one.name: value_type(one, fields) for one in known}
        return having.types(self.key_types(fields), values)

    def without_values(self) -> Query:
        """Return the query without its aggregates."""
        return self.model_copy(update={"aggregates": ()})

    @property
    def marks(self) -> tuple[str, ...]:
        """The extra columns of its tables, which only some rows fill."""
        retracts, judged = self.accumulation == "retracting", self.having is not None
        withdraws = ["op"] if retracts else ["tombstone"] if judged else []
        return (*withdraws, *(["absorbed_by"] if self.window.traits.merging else []))


class JoinQuery(JoinFlow, MostFlows):
    """A pipeline's join, all defaults applied. It has no window and no aggregates.

    Attributes:
        name: the join's name in every row.
        sources: of the left side and of the right one.
        where: what else must hold; a file has no conditions in Python.
        select: what a row shows: names, and fields of either record, or expressions over both.
    """

    flow_kind: ClassVar[str] = "join"
    name: str = PAIRS
    sources: tuple[Source, Source]
    where: tuple[Comparison, ...] = ()
    select: dict[str, InstanceOf[Operand] | InstanceOf[PairExpression]]

    @property
    def attribute(self) -> str:
        """The left side's event time, whose name stands for both sides'."""
        return self.sources[0].event_time.field

    @property
    def key(self) -> tuple[str, ...]:
        """What is equal, then the places of both records."""
        return (*self.on, *PLACE)

    def record_key(self, topic: str) -> tuple[str, ...]:
        """Return the fields of a side's records that are part of a row's key."""
        return self.key_fields(self.side_of(topic))

    @property
    def window(self) -> None:
        """None: its rows are pairs."""

    @property
    def early(self) -> None:
        """None: a pair is whole as soon as it is there."""

    @property
    def having(self) -> None:
        """None: what a pair has to fulfil is a condition of the join."""

    @property
    def aggregates(self) -> tuple[Aggregate, ...]:
        """None: it shows fields of both records."""
        return ()

    @property
    def shows(self) -> tuple[str, ...]:
        """The names of a row's values, in the order of its columns."""
        return tuple(self.select)

    @property
    def values(self) -> Mapping[str, object]:
        """What it shows, by name."""
        return self.select

    def without_values(self) -> JoinQuery:
        """Return the join without what it shows."""
        return self.model_copy(update={"select": {}})

    def value_types(self, fields: Mapping[str, FieldType]) -> dict[str, ValueType]:
        """Give the types of a row's values, which either side's source says."""
        del fields
        return {name: ValueType.of(self.type_of_shown(one)) for name, one in self.select.items()}

    def may_overflow(self, fields: Mapping[str, FieldType]) -> tuple[str, ...]:
        """Name the expressions: one that has no value for a pair is null in its row."""
        del fields
        return tuple(self.expressions)

    @property
    def expressions(self) -> dict[str, PairExpression]:
        """What it computes of both records, by the name of the value."""
        return {n: one for n, one in self.select.items() if isinstance(one, PairExpression)}

    @property
    def accumulation(self) -> Accumulation:
        """A late partner takes back that a record was alone; pairs are never sent again."""
        return "accumulating" if self.kind == "inner" else "retracting"

    @property
    def marks(self) -> tuple[str, ...]:
        """The columns that tables have for marks which only some rows have."""
        return ("op",) if self.accumulation == "retracting" else ()

    def source(self, side: Side) -> Source:
        """One side's log."""
        return self.sources[0 if side == "left" else 1]

    def side_of(self, topic: str) -> Side:
        """Whose records are in a topic."""
        return "left" if topic == self.sources[0].topic else "right"

    def type_of(self, operand: Operand) -> FieldType:
        """The type of a field of one of the records."""
        found = field_type(self.source(operand.side), operand.field)
        assert found is not None  # noqa: S101 - checked with the file
        return found

    def type_of_shown(self, one: Operand | PairExpression) -> FieldType:
        """The type of what a row shows."""
        if isinstance(one, Operand):
            return self.type_of(one)
        return one.type_in(self.types_in(one))

    def types_in(self, one: PairExpression) -> dict[str, FieldType]:
        """The types of the names in an expression."""
        return {each.name: self.type_of(each) for each in operands_in([one])}

    @property
    def sharded_by(self) -> dict[str, str]:
        """Pairs of a left and a right field whose equal values one shard has; none: one has all."""
        return self.on

    def shard_fields(self, side: Side) -> tuple[str, ...]:
        """The fields of a side whose values choose a record's shard."""
        pairs = self.sharded_by
        return tuple(pairs) if side == "left" else tuple(pairs.values())

    def needed(self, side: Side) -> tuple[str, ...]:
        """The fields of a side that a row or a condition needs beside the equal ones."""
        operands = [*operands_in(self.select.values())]
        for comparison in self.where:
            operands.append(comparison.first)
            if isinstance(comparison.second, Operand):
                operands.append(comparison.second)
        return tuple(dict.fromkeys(o.field for o in operands if o.side == side))
