"""The rules for valid values of one source."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from windowing.engine.reading.control import Gate
from windowing.engine.reading.objects import BadValue
from windowing.model.file.pipeline import EventTime, Pipeline
from windowing.model.limits import EARLIEST, LATEST
from windowing.model.progress import Delays, Heartbeat
from windowing.model.reading import JSON, PartSpec
from windowing.model.source import Source
from windowing.model.types import Kind


@dataclass(frozen=True, eq=False)
class ValueRules:
    """The rules for valid values of one source, compared by identity.

    Attributes:
        event_time: the field of the time, and the legal instants.
        fields: per declared field, its kind and whether null is allowed.
        key_fields: the fields that some query groups by.
        ignore_unknown: undeclared fields are ignored instead of refused.
        earliest: the earliest time, or value of another attribute, that the sink can hold.
        delays: of the lanes about which heartbeats are used.
        progress_attr: the field whose values have their own progress, or None.
        steps: what else is done to them, in this order.
        withholds: whether a step may keep records from windows.
    """

    event_time: EventTime
    fields: dict[str, tuple[Kind, bool]]
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
            fields={name: (kind.kind, kind.nullable) for name, kind in source.fields.items()},
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

    def known(self, name: str) -> bool:
        """Return whether a value may have a field of this name."""
        return name in self.fields or name == self.event_time.field

    @property
    def wanted(self) -> dict[str, Kind]:
        """The members that a decoder looks for: the event time's and the declared fields."""
        time = self.event_time.spelling.kind
        return {self.event_time.field: time, **{n: kind for n, (kind, _) in self.fields.items()}}


def _believed(source: Source) -> dict[str, Delays]:
    """Return the delays of the lanes about which heartbeats are used.

    Lanes that joined are excluded: otherwise earlier heartbeats in other lanes would count or not,
        depending on when the job learned of the lane.
    """
    if not isinstance(source.disorder, Heartbeat):
        return {}
    joined = {lane.name for lane in source.joined}
    return {name: delays for name, delays in source.disorder.sources if name not in joined}
