"""The rules for valid values of one source."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from windowing.engine.reading.control import Gate
from windowing.engine.reading.objects import BadValue
from windowing.engine.reading.paths import Tree, reach, tree_of
from windowing.model.file.pipeline import EventTime, Pipeline
from windowing.model.limits import EARLIEST, LATEST
from windowing.model.paths import Path, member_name, parse_path
from windowing.model.progress import Delays, Heartbeat
from windowing.model.reading import JSON, PartSpec
from windowing.model.source import Source
from windowing.model.types import FieldType, Kind


@dataclass(frozen=True, eq=False)
class ValueRules:
    """The rules for valid values of one source, compared by identity.

    Attributes:
        event_time: the field of the time, and the legal instants.
        fields: the declared fields, with their types.
        key_fields: the fields that some query groups by.
        ignore_unknown: undeclared fields are ignored instead of refused.
        earliest: the earliest time, or value of another attribute, that the sink can hold.
        delays: of the lanes about which heartbeats are used.
        progress_attr: the field whose values have their own progress, or None.
        steps: what else is done to them, in this order.
        withholds: whether a step may keep records from windows.
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

    @classmethod
    def of(cls, pipeline: Pipeline, number: int = 0) -> ValueRules:
        """Return a pipeline's rules for a lane; they differ only between the sides of a join."""
        source, _ = pipeline.source.place(number)
        return cls(
            event_time=source.event_time,
            fields=dict(source.fields),
            key_fields=pipeline.key_fields(number),
            ignore_unknown=source.unknown_fields == "ignore",
            earliest=pipeline.earliest,
            placed_by=pipeline.placed_by,
            delays=_believed(source),
            progress_attr=source.disorder.progress_attr,
            gate=Gate.of(pipeline, number),
            format=source.format,
            steps=source.steps,
            withholds=any(step.withholds is not None for step in source.steps),
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
        return {name: parse_path(name) for name in (self.event_time.field, *self.fields)}

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
        kinds[self.event_time.field] = self.event_time.spelling.kind
        return {member_name(name): kind for name, kind in kinds.items()}


def may_be_null(tree: Tree, rules: ValueRules) -> bool:
    """Whether all that is declared inside may be null."""
    return all(
        may_be_null(part, rules)
        if not isinstance(part, str)
        else part != rules.event_time.field and rules.fields[part].nullable
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
