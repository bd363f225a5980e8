"""The rules for valid values of one source."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

from windowing.engine.reading.control import Gate
from windowing.engine.reading.objects import BadValue
from windowing.engine.reading.paths import Tree, reach, tree_of
from windowing.model.computed import BUILT_IN, Computation
from windowing.model.file.pipeline import EventTime, Pipeline
from windowing.model.limits import EARLIEST, LATEST
from windowing.model.paths import Path, member_name, parse_path
from windowing.model.progress import Delays, Heartbeat
from windowing.model.query import Query
from windowing.model.reading import JSON, PartSpec
from windowing.model.source import Source
from windowing.model.types import FieldType, Kind

_NAMED_MAX: Final = 2
"""The most users of an expression that a message names."""


@dataclass(frozen=True, eq=False)
class ValueRules:
    """The rules for valid values of one source, compared by identity.

    Attributes:
        event_time: the field of the time, and the legal instants.
        fields: the fields of values, with their types.
        key_fields: the fields that some query groups by.
        ignore_unknown: undeclared fields are ignored instead of refused.
        earliest: the earliest time, or value of another attribute, that the sink can hold.
        delays: of the lanes about which heartbeats are used.
        progress_attr: the field whose values have their own progress, or None.
        steps: what else is done to them, in this order.
        withholds: whether a step may keep records from windows.
        computations: the expressions that are evaluated behind the steps, in their order.
        known_fields: all fields, and those that are computed, with their types.
        metadata: the names of what is used of a record besides its value.
        lane: topic and partition; partition 0 stands for all unless it is used.
        time: the expression of the event time; None: it is a field.
        used_by: by arguments of aggregates that are computed, whose they are, in words.
    """

    event_time: EventTime
    fields: dict[str, FieldType]
    key_fields: frozenset[str]
    ignore_unknown: bool
    earliest: int = EARLIEST
    placed_by: frozenset[str] = frozenset()
    delays: dict[str, Delays] = field(default_factory=dict)
    progress_attr: str | None = None
    gate: Gate = field(default_factory=Gate)
    format: PartSpec = JSON
    steps: tuple[PartSpec, ...] = ()
    withholds: bool = False
    computations: tuple[Computation, ...] = ()
    known_fields: Mapping[str, FieldType] = field(default_factory=dict)
    metadata: tuple[str, ...] = ()
    lane: tuple[str, int] = ("", 0)
    time: Computation | None = None
    used_by: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, pipeline: Pipeline, number: int = 0) -> ValueRules:
        """Return a pipeline's rules for a lane; they differ only between the sides of a join."""
        source, partition = pipeline.source.place(number)
        declared = source.declared
        return cls(
            event_time=source.event_time,
            fields=dict(declared),
            key_fields=pipeline.key_fields(number) & declared.keys(),
            ignore_unknown=source.unknown_fields == "ignore",
            earliest=pipeline.earliest,
            placed_by=pipeline.placed_by,
            delays=_believed(source),
            progress_attr=source.disorder.progress_attr,
            gate=Gate.of(pipeline, number),
            format=source.format,
            steps=tuple(step for step in source.steps if step.name not in BUILT_IN),
            withholds=any(step.withholds is not None for step in source.steps),
            computations=source.computations,
            known_fields=source.fields,
            metadata=source.metadata,
            lane=(source.topic, partition),
            time=source.time,
            used_by=_used_by(pipeline, source),
        )

    @property
    def first_us(self) -> int:
        """The earliest legal event time."""
        return max(self.event_time.first_us, self.earliest)

    def places(self, name: str, value: Any) -> Any:
        """Check that windows over a field can hold its value, and return it.

        Raises:
            BadValue: `bad_type`.
        """
        if name in self.placed_by and not self.earliest <= value < LATEST:
            raise BadValue("bad_type")
        return value

    @cached_property
    def paths(self) -> dict[str, Path]:
        """Where the event time and the declared fields are in a value."""
        timed = () if self.time is not None else (self.event_time.field,)
        return {name: parse_path(name) for name in (*timed, *self.fields)}

    @cached_property
    def tree(self) -> Tree:
        """The event time and the declared fields as a tree."""
        return tree_of(self.paths)

    @cached_property
    def _members(self) -> frozenset[str | int]:
        return frozenset(path[0] for path in self.paths.values())

    def known(self, name: str) -> bool:
        """Return whether a value may have a member of this name."""
        return name in self._members

    def found(self, members: Mapping[str, Any], name: str) -> Any:
        """Return what a value has for a field or the event time, as `reach` does."""
        return reach(members, self.paths[name])

    @property
    def wanted(self) -> dict[str, Kind]:
        """The members that a decoder looks for: the event time's and the declared fields.

        Those inside of others have their paths as names.
        """
        kinds = {name: type_.kind for name, type_ in self.fields.items()}
        if self.time is None:
            kinds[self.event_time.field] = self.event_time.spelling.kind
        return {member_name(name): kind for name, kind in kinds.items()}


def _used_by(pipeline: Pipeline, source: Source) -> dict[str, str]:
    found = {one.name: list[str]() for one in source.computations if one.role == "argument"}
    if not found:
        return {}
    for query in pipeline.of(Query):
        for aggregate in query.aggregates:
            for name in found.keys() & {*aggregate.fields}:
                found[name].append(f"{query.name}.{aggregate.name}")
    return {name: _some(users) for name, users in found.items() if users}


def _some(names: list[str]) -> str:
    """Return some names in words, which begin with their number if they are many."""
    few = " and ".join(names[:_NAMED_MAX])
    return few if len(names) <= _NAMED_MAX else f"{len(names)} aggregates, such as {few}"


def may_be_null(tree: Tree, rules: ValueRules) -> bool:
    """Whether all that is declared inside may be null."""
    return all(
        may_be_null(part, rules)
        if not isinstance(part, str)
        else part in rules.fields and rules.fields[part].nullable
        for part in tree.values()
    )


def _believed(source: Source) -> dict[str, Delays]:
    """Return the delays of the lanes about which heartbeats are used.

    Lanes that joined are excluded: otherwise earlier heartbeats in other lanes would count or not,
        depending on when the job learned of the lane.
    """
    if not isinstance(source.disorder, Heartbeat):
        return {}
    joined = {lane.name for lane in source.joined}
    return {name: delays for name, delays in source.disorder.sources if name not in joined}
