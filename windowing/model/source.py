"""The source of a pipeline: a topic, its records, and the progress of its lanes.

The names are those of the file; times are integer microseconds, with the unit in the name.
"""

from __future__ import annotations

from functools import cached_property
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from windowing.model.added_lanes import AddedLane, parse_added_lanes
from windowing.model.control import ControlRule, parse_control_rule
from windowing.model.duplicates import DuplicatesRule
from windowing.model.emission import PositiveDuration
from windowing.model.errors import meant
from windowing.model.fates import BY_WINDOWS, DUPLICATE, FILTERED, Fates
from windowing.model.lengths import INT64_MAX, INT64_MIN, duration_us, instant_us
from windowing.model.limits import EARLIEST, LATEST, PLAUSIBLE_US
from windowing.model.names import FieldName, TimeName, TopicName
from windowing.model.progress import Disorder, parse_disorder, parse_disorder_of
from windowing.model.reading import PartSpec, parse_format, with_steps
from windowing.model.times import FRACTIONAL, Spelling, TextTimes, Unit, parse_unit
from windowing.model.types import FieldType, parse_field_type
from windowing.model.windows.language import AttributeType
from windowing.model.windows.window import ROW_NUM

PARTITIONS_MAX = 1_000
"""The most lanes tested, on both engines; each costs milliseconds per batch."""

_ATTRIBUTE_TYPES: dict[str, AttributeType] = {"int": "number", "float": "text", "string": "text"}


Instant = Annotated[int, BeforeValidator(instant_us)]
Duration = Annotated[int, BeforeValidator(duration_us)]
Type = Annotated[FieldType, BeforeValidator(parse_field_type)]


def _only_named(value: object) -> object:
    """Refuse `steps` as a key of the file: each step is one itself."""
    if not isinstance(value, tuple):
        msg = "unknown key 'steps': correct its spelling or take it out"
        raise ValueError(msg)
    return value


class SpecModel(BaseModel):
    """The base of a pipeline file's models: frozen, unknown keys rejected."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        arbitrary_types_allowed=True,
        ignored_types=(cached_property,),
        defer_build=True,  # a file has few of them, and what they validate takes long to prepare
    )


class EventTime(SpecModel):
    """The field of the event time, and the legal instants.

    Attributes:
        field: name of the field; it need not be in `fields`.
        unit: `us`, `ms`, `s`, `ns` (a JSON integer), `iso` (text), or how texts are written.
        fraction: times in `us`, `ms` or `s` may have a fraction.
        min_us, max_us: legal is `min_us <= ts_us < max_us`.
        max_ahead_us: legal is `ts_us <= append time + max_ahead_us`; None: not checked.
    """

    field: TimeName
    unit: Annotated[Unit | TextTimes, BeforeValidator(parse_unit)]
    fraction: bool = Field(default=False, strict=True)
    min_us: Instant = Field(default=INT64_MIN, alias="min")
    max_us: Instant = Field(default=INT64_MAX + 1, alias="max")
    max_ahead_us: Duration | None = Field(default=None, alias="max_ahead")

    @cached_property
    def spelling(self) -> Spelling:
        """How it is spelled in values; fields of type `timestamp` are spelled alike."""
        return Spelling(self.unit, self.fraction)

    @property
    def first_us(self) -> int:
        """The earliest legal time."""
        return max(self.min_us, EARLIEST)

    @property
    def end_us(self) -> int:
        """The end of the legal range, exclusive."""
        return min(self.max_us, LATEST)

    @property
    def plausible_us(self) -> tuple[int, int]:
        """Where times are plausible, the end exclusive: wider where `min` or `max` is."""
        first = self.min_us if self.min_us > INT64_MIN else PLAUSIBLE_US[0]
        end = self.max_us if self.max_us <= INT64_MAX else PLAUSIBLE_US[1]
        return min(first, PLAUSIBLE_US[0]), max(end, PLAUSIBLE_US[1])

    @property
    def is_judged(self) -> bool:
        """Whether plausibility is judged: the file's own limits are not all that counts."""
        first, end = self.plausible_us
        return (first, end) == PLAUSIBLE_US or self.first_us < first or self.end_us > end

    @model_validator(mode="after")
    def _ordered(self) -> EventTime:
        if self.min_us >= self.max_us:
            msg = "min must lie before max, as min: '1970-01-01', max: '2100-01-01'"
            raise ValueError(msg)
        if self.fraction and self.unit not in FRACTIONAL:
            msg = f"fraction: true is for numbers in {', '.join(FRACTIONAL)}: take it out"
            raise ValueError(msg)
        return self


class Source(SpecModel):
    """The log that a pipeline reads.

    Attributes:
        topic: name of the topic; lanes are named `topic/partition`.
        partitions: how many lanes there are, including added ones.
        fields: the fields of a record besides the event time, and their types.
        disorder: the generator that turns a lane's records into progress.
        disorder_of: the generators of other windowing attributes, by field.
        idle_timeout_us: a lane silent for this long by the wall clock does not hold back early
            rows.
        unknown_fields: what to do with a record that has an undeclared field.
        dense: offsets are contiguous; a gap is an error.
        joined: those partitions, the last ones, that were added while a run was reading.
        compacted: the topic may drop a record once a newer one has its key. Not part of the
            fingerprint: it permits something, and changes no result.
        steps: what else is done to a value, in this order.
        duplicates: which records that were read are left out because an earlier one was kept; None:
            none.
    """

    topic: TopicName
    partitions: Annotated[int, Field(strict=True, ge=1, le=PARTITIONS_MAX)]
    format: Annotated[PartSpec, BeforeValidator(parse_format)]
    event_time: EventTime
    fields: dict[FieldName, Type]
    disorder: Annotated[Disorder, BeforeValidator(parse_disorder)]
    disorder_of: dict[str, Annotated[Disorder, BeforeValidator(parse_disorder_of)]] = {}
    idle_timeout_us: PositiveDuration | None = Field(default=None, alias="idle_timeout")
    unknown_fields: Literal["dead_letter", "ignore"] = "dead_letter"
    dense: bool = False
    joined: Annotated[tuple[AddedLane, ...], BeforeValidator(parse_added_lanes)] = ()
    control: Annotated[ControlRule, BeforeValidator(parse_control_rule)] = ControlRule()
    compacted: bool = False
    steps: Annotated[tuple[PartSpec, ...], BeforeValidator(_only_named)] = ()
    duplicates: DuplicatesRule = None

    @model_validator(mode="before")
    @classmethod
    def _steps_apart(cls, source: object) -> object:
        return with_steps(source)

    @model_validator(mode="after")
    def _known_names(self) -> Source:
        for part in self.parts:
            part._check_added()
        for field in self.disorder_of:
            if field not in self.fields or self.attributes[field] != "number":
                msg = f"E_DISORDER: disorder_of {field!r} is not an int under source.fields"
                raise ValueError(msg)
        if self.duplicates is not None:
            self.duplicates.check(self.fields)
        for generator in (self.disorder, *self.disorder_of.values()):
            self._check_names(generator)
        return self

    def _check_added(self) -> None:
        named = sorted(lane.name for lane in self.joined)
        last = sorted(f"{self.topic}/{p}" for p in range(self.founding, self.partitions))
        if self.founding < 1 or named != last:
            msg = (
                f"E_JOINED: {', '.join(named)} joined, and of {self.partitions} partitions of "
                f"{self.topic} that can only be the last ones, but not all: correct joined, or "
                "partitions"
            )
            raise ValueError(msg)
        for lane in self.joined:
            for field, _ in lane.at:
                if field != self.event_time.field and self.attributes.get(field) != "number":
                    msg = (
                        f"E_JOINED: {lane.name}: {field!r} is neither the event time "
                        f"({self.event_time.field}) nor an int under source.fields"
                    )
                    raise ValueError(msg)

    def _check_names(self, generator: Disorder) -> None:
        attr = generator.looks_at
        if attr is not None and attr not in self.fields:
            msg = (
                f"E_DISORDER: attr {attr!r} is not under source.fields "
                f"({known_fields(self)}){meant(attr, self.fields)}"
            )
            raise ValueError(msg)
        if misfit := generator.misfit(self.fields):
            msg = f"E_DISORDER: {misfit}"
            raise ValueError(msg)
        named = generator.named_lanes
        lanes = {self.lane(partition) for partition in range(self.partitions)}
        if named is not None and set(named) != lanes:
            odd = sorted(set(named) ^ lanes)[0]
            wrong = f"{odd} is missing" if odd in lanes else f"there is no lane {odd}"
            msg = f"E_DISORDER: {wrong}: name {self.lane(0)} to {self.lane(self.partitions - 1)}"
            raise ValueError(msg)

    @property
    def fates(self) -> Fates:
        """What can become of its records.

        Raises:
            PluginError: a step's plug-in cannot be imported.
        """
        steps = (step for part in self.parts for step in part.steps)
        withheld = dict.fromkeys(fate for step in steps if (fate := step.withholds) is not None)
        if FILTERED in withheld or any(part.duplicates is not None for part in self.parts):
            # Whoever reads a sum knows that nothing else was left out.
            withheld |= dict.fromkeys((FILTERED, DUPLICATE))
        return (*BY_WINDOWS[:2], *withheld, *BY_WINDOWS[2:])

    def ordered_by(self, attribute: str) -> str:
        """Return the field that orders records under an attribute; for rows, the event time."""
        return self.event_time.field if attribute == ROW_NUM else attribute

    def generator_of(self, attribute: str) -> Disorder:
        """Return the generator of progress by an attribute.

        Raises:
            ValueError: E_DISORDER: the source's is a duration, but the attribute is a plain number.
        """
        if attribute == self.event_time.field:
            return self.disorder
        if attribute in self.disorder_of:
            return self.disorder_of[attribute]
        if self.disorder.unitless:
            return self.disorder
        msg = (
            f"E_DISORDER: the source's generator speaks of {self.event_time.field}; say what holds "
            f"for {attribute}, as source.disorder_of: {{{attribute}: ordered}} (or {{slack: 50}})"
        )
        raise ValueError(msg)

    @property
    def attributes(self) -> dict[str, AttributeType]:
        """The fields that a window may refer to, with their types in the window language."""
        known = {name: _ATTRIBUTE_TYPES[type_.kind] for name, type_ in self.fields.items()}
        return {**known, self.event_time.field: "time"}

    @property
    def parts(self) -> tuple[Source, ...]:
        """The single-topic sources in it: itself, or both sides of a join."""
        return (self,)

    @property
    def secrets(self) -> dict[str, str]:
        """The variables that have the secrets of signed control records.

        Raises:
            ControlKeyError: one is not set.
        """
        rules = [part.control for part in self.parts]
        return {
            rule.key: rule.secret.decode()
            for rule in rules
            if rule.key is not None and rule.secret is not None
        }

    @property
    def founding(self) -> int:
        """How many lanes the pipeline started with."""
        return self.partitions - len(self.joined)

    @property
    def added_lanes(self) -> tuple[AddedLane, ...]:
        """The added lanes of all topics, in the order of their numbers."""
        added = (lane for part in self.parts for lane in part.joined)
        return tuple(sorted(added, key=lambda lane: lane.number))

    def place(self, number: int) -> tuple[Source, int]:
        """Return the source and the partition of a lane."""
        return self, number

    def lane(self, number: int) -> str:
        """Return the name of a lane, `topic/partition`; also of a foreign one."""
        if number < 0:
            partition, index = divmod(-1 - number, len(self.parts))
            return f"{self.parts[index].topic}/{partition}"
        source, partition = self.place(number)
        return f"{source.topic}/{partition}"

    def number(self, topic: str, partition: int) -> int | None:
        """Return the number of a partition's lane; None: it is not read."""
        before = 0
        for part in self.parts:
            if part.topic == topic:
                if 0 <= partition < part.founding:
                    return before + partition
                return next((j.number for j in part.joined if j.partition == partition), None)
            before += part.founding
        return None

    def foreign(self, topic: str) -> tuple[int, int]:
        """Return `a, b`: an undeclared partition of a topic has the number `a * partition + b`.

        The number is negative, and encodes both.
        """
        names = [part.topic for part in self.parts]
        return -len(names), -1 - names.index(topic)

    def begins_at(self, number: int, attribute: str) -> int | None:
        """Return a lane's initial progress by an attribute; None: it has none.

        Args:
            attribute: a field; in a join, the left side's event time represents both sides'.
        """
        own, partition = self.place(number)
        field = own.event_time.field if attribute == self.event_time.field else attribute
        at = (dict(lane.at).get(field) for lane in own.joined if lane.partition == partition)
        return next(at, None)

    def as_of(self, lanes: int) -> Source:
        """Return the source as it was before lanes from this number on were added."""
        gone = {lane.name for lane in self.joined if lane.number >= lanes}
        of = {name: disorder.without_lanes(gone) for name, disorder in self.disorder_of.items()}
        earlier = {
            "partitions": self.partitions - len(gone),
            "joined": tuple(lane for lane in self.joined if lane.name not in gone),
            "disorder": self.disorder.without_lanes(gone),
            "disorder_of": of,
        }
        return self.model_copy(update=earlier)

    @property
    def lanes(self) -> str:
        """A phrase that names the lanes, for messages."""
        return ", ".join(f"{p.topic}/0 to {p.topic}/{p.partitions - 1}" for p in self.parts)

    def refusal(self, topic: str, partition: int) -> str:
        """Return the message about a record of a foreign lane."""
        if any(part.topic == topic for part in self.parts):
            return self.undeclared(f"{topic}/{partition}")
        return f"source {topic!r}, partition {partition}: the pipeline reads {self.lanes}"

    def undeclared(self, lane: str) -> str:
        """Return the message about a partition that is not declared."""
        return (
            f"{lane} is a partition that the pipeline does not declare (it reads {self.lanes}): "
            "the set of partitions is fixed, because how a topic is partitioned decides which "
            "records are late; let a run go on with it by `slackwater topics FILE "
            "--accept-partitions`, which tells what the file is to say of it, or declare it and "
            "start a new run"
        )


def known_fields(source: Source) -> str:
    """Return the declared fields, for messages."""
    return "known: " + (", ".join(source.fields) or "none")
