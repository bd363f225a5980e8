"""A query that is a chain of operators over policy windows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar, Literal

from windowing.model.emission import Accumulation, Late
from windowing.model.event_time import SpecModel
from windowing.model.fields import Aggregate, ValueType, value_type
from windowing.model.operators.steps import (
    AggregateStep,
    Punctuate,
    Step,
    UserStep,
    WindowStep,
)
from windowing.model.query import MostFlows
from windowing.model.types import FieldType

LANE = "lane"
"""The first field of a row's key in lane order: the name of the lane, `topic/partition`."""

Order = Literal["canonical", "lane"]
Clock = Literal["record", "wall"]


class OperatorQuery(SpecModel, MostFlows):
    """A flow of a pipeline whose rows its operators send; all defaults applied.

    Attributes:
        name: the query's name in the file and in every row.
        steps: the operators, in order; the last one has a window.
        attribute: the event time, by which records are ordered and judged late.
        fields: the source's fields, in order; what Sort and Dedup show.
        order: the order in which records reach the first operator.
        clock: what time policies follow.
        late: the policy for late records; never `update`.
    """

    flow_kind: ClassVar[str] = "operators"
    name: str
    steps: tuple[Step, ...]
    attribute: str
    fields: tuple[str, ...]
    order: Order = "canonical"
    clock: Clock = "record"
    late: Late = Late()

    @property
    def windows(self) -> tuple[WindowStep, ...]:
        """The steps that have a window."""
        return tuple(step for step in self.steps if not isinstance(step, Punctuate))

    @property
    def last(self) -> WindowStep:
        """The step whose output is the query's rows."""
        return self.windows[-1]

    @property
    def unit(self) -> tuple[str, ...]:
        """The fields whose values have independent windows, without the lane."""
        clauses = [step.window for step in self.windows]
        if any(clause.partition_eviction is not None for clause in clauses):
            return ()
        first, *others = (clause.partition_by for clause in clauses)
        return tuple(name for name in first if all(name in by for by in others))

    @property
    def key(self) -> tuple[str, ...]:
        """The fields that make up a row's key, in their order."""
        return (LANE, *self.key_fields) if self.order == "lane" else self.key_fields

    @property
    def key_fields(self) -> tuple[str, ...]:
        """The fields of a record that are part of a row's key."""
        groups = self.last.group_by if isinstance(self.last, AggregateStep) else ()
        return tuple(dict.fromkeys((*self.last.window.partition_by, *groups)))

    def record_key(self, topic: str) -> tuple[str, ...]:
        """Return the fields of a record that are part of a row's key."""
        del topic
        return self.key_fields

    @property
    def window(self) -> None:
        """None: each step has its own window."""

    @property
    def early(self) -> None:
        """None: reports follow triggers."""

    @property
    def having(self) -> None:
        """None: all reports are sent."""

    @property
    def waits(self) -> bool:
        """Whether a row waits for progress: not in lane order."""
        return self.order == "canonical"

    @property
    def by_wall_clock(self) -> bool:
        """Whether time policies follow the machine's clock."""
        return self.clock == "wall"

    def key_types(self, fields: Mapping[str, FieldType]) -> dict[str, FieldType]:
        """Give the types of a row's key, in the order of its fields; the lane is its name.

        Args:
            fields: of the pipeline's source.
        """
        lane = {LANE: FieldType("string")} if self.order == "lane" else {}
        return {**lane, **{name: fields[name] for name in self.key_fields}}

    @property
    def aggregates(self) -> tuple[Aggregate, ...]:
        """The aggregates of the last step; none of operators that send records or rows of users."""
        return self.last.aggregates if isinstance(self.last, AggregateStep) else ()

    @property
    def shows(self) -> tuple[str, ...]:
        """The names of a row's values, in the order of its columns."""
        if isinstance(self.last, UserStep):
            return tuple(name for name, _ in self.last.outputs)
        return super().shows if isinstance(self.last, AggregateStep) else self.fields

    def value_types(self, fields: Mapping[str, FieldType]) -> dict[str, ValueType]:
        """Give the types of a row's values; a user's aggregate is imported for its own.

        Args:
            fields: of the pipeline's source.

        Raises:
            UserAggregateError: a class cannot be used.
        """
        if isinstance(self.last, AggregateStep):
            return {one.name: value_type(one, fields) for one in self.last.aggregates}
        if isinstance(self.last, UserStep):
            return {name: ValueType(kind) for name, kind in self.last.outputs}
        return {name: ValueType.of(fields[name]) for name in self.fields}

    @property
    def values(self) -> Mapping[str, object]:
        """What each value is: an aggregate, or by its name alone."""
        return super().values or {name: name for name in self.shows}

    @property
    def by_users(self) -> tuple[str, ...]:
        """The names of the user's aggregates; all values, if a user's operator sends the rows."""
        return self.shows if isinstance(self.last, UserStep) else super().by_users

    def may_overflow(self, fields: Mapping[str, FieldType]) -> tuple[str, ...]:
        """Return the names of values that a row may lack; all, where a user's handler may fail."""
        return self.shows if isinstance(self.last, UserStep) else super().may_overflow(fields)

    def without_values(self) -> OperatorQuery:
        """Return the query without the aggregates of its last step."""
        if not isinstance(self.last, AggregateStep):
            return self
        last = replace(self.last, aggregates=())
        return self.model_copy(update={"steps": (*self.steps[:-1], last)})

    @property
    def retention_us(self) -> int | None:
        """None: no late record is taken."""
        return None

    @property
    def entries_max(self) -> int | None:
        """None: policies bound what windows hold."""
        return None

    @property
    def accumulation(self) -> Accumulation:
        """Every row is sent once."""
        return "accumulating"
