"""The source of a pipeline: a topic, its records, and the progress of its lanes.

The names are those of the file; times are integer microseconds, with the unit in the name.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, PrivateAttr, ValidationError, model_validator
from pydantic_core import InitErrorDetails, PydanticCustomError

from windowing.model.added_lanes import AddedLane, parse_added_lanes
from windowing.model.computed import Computation, metadata_in, of_steps, of_time, warning
from windowing.model.control import ControlRule, parse_control_rule
from windowing.model.duplicates import DuplicatesRule
from windowing.model.emission import PositiveDuration
from windowing.model.errors import meant, shown
from windowing.model.event_time import EventTime, SpecModel
from windowing.model.fates import BY_WINDOWS, DUPLICATE, FILTERED, Fates
from windowing.model.lane_numbers import LaneNumbers
from windowing.model.metadata import carried_of, is_known_metadata, metadata_type
from windowing.model.names import PathName, TopicName
from windowing.model.paths import InsideAnother, check_apart, check_once
from windowing.model.progress import Disorder, parse_disorder, parse_disorder_of
from windowing.model.reading import MistakeAt, PartSpec, parse_format, with_steps
from windowing.model.types import FieldType, parse_field_type
from windowing.model.windows.language import AttributeType
from windowing.model.windows.window import ROW_NUM

PARTITIONS_MAX = 1_000
"""The most lanes tested, on both engines; each costs milliseconds per batch."""

_ATTRIBUTE_TYPES: dict[str, AttributeType] = {"int": "number"}


Type = Annotated[FieldType, BeforeValidator(parse_field_type)]
Partitions = Annotated[int, Field(strict=True, ge=1, le=PARTITIONS_MAX)]


def _only_named(value: object) -> object:
    """Refuse `steps` as a key of the file: each step is one itself."""
    if not isinstance(value, tuple):
        msg = "unknown key 'steps': correct its spelling or take it out"
        raise ValueError(msg)
    return value


class Source(LaneNumbers, SpecModel):
    """The log that a pipeline reads.

    Attributes:
        topic: name of the topic; lanes are named `topic/partition`. Of several, their names.
        partitions: how many lanes there are, including added ones.
        topics: several topics with the same kind of records, and their partitions, in the order in
            which their lanes are numbered; None: it is one.
        declared: the fields of a value besides the event time, by their paths, and their types.
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
    partitions: Partitions
    format: Annotated[PartSpec, BeforeValidator(parse_format)]
    event_time: EventTime
    declared: Annotated[dict[PathName, Type], BeforeValidator(check_once)] = Field(alias="fields")
    disorder: Annotated[Disorder, BeforeValidator(parse_disorder)]
    disorder_of: dict[str, Annotated[Disorder, BeforeValidator(parse_disorder_of)]] = Field(
        default_factory=dict
    )
    idle_timeout_us: PositiveDuration | None = Field(default=None, alias="idle_timeout")
    unknown_fields: Literal["dead_letter", "ignore"] = "dead_letter"
    dense: bool = False
    joined: Annotated[tuple[AddedLane, ...], BeforeValidator(parse_added_lanes)] = ()
    control: Annotated[ControlRule, BeforeValidator(parse_control_rule)] = ControlRule()
    compacted: bool = False
    topics: Annotated[dict[TopicName, Partitions] | None, Field(min_length=1)] = None
    steps: Annotated[tuple[PartSpec, ...], BeforeValidator(_only_named)] = ()
    duplicates: DuplicatesRule = None

    _computations: tuple[Computation, ...] = PrivateAttr(default=())
    _metadata: tuple[str, ...] = PrivateAttr(default=())
    _time: Computation | None = PrivateAttr(default=None)

    @model_validator(mode="before")
    @classmethod
    def _steps_apart(cls, source: object) -> object:
        try:
            return _with_topics(with_steps(source))
        except MistakeAt as error:
            raise _located(error) from None

    @model_validator(mode="after")
    def _named_by_topics(self) -> Source:
        if self.topics is not None:
            self.__dict__["topic"] = "+".join(self.topics)
        return self

    @model_validator(mode="after")
    def _typed_steps(self) -> Source:
        if type(self) is not Source or "event_time" not in self.__dict__:
            return self  # both sides of a join, of which each has its own; or what stands for these
        try:
            self._computations = of_steps(self.steps, self.declared)
            self._time = of_time(self.event_time.expr, self.event_time.unit, self.declared)
        except MistakeAt as error:
            raise _located(error) from None
        used = metadata_in((*filter(None, [self._time]), *self._computations))
        by = () if self.duplicates is None else filter(is_known_metadata, self.duplicates.by)
        self._metadata = tuple(dict.fromkeys((*used, *by)))
        return self

    @model_validator(mode="after")
    def _fields_apart(self) -> Source:
        for part in self.parts:
            if "event_time" in part.model_fields_set:  # else it stands for one with mistakes
                timed = () if part.event_time.expr is not None else (part.event_time.field,)
                try:
                    check_apart(dict.fromkeys((*part.declared, *timed)))
                except InsideAnother as error:
                    is_field = error.name in part.declared
                    path = ("fields", error.name) if is_field else ("event_time", "field")
                    raise _located(MistakeAt(path, str(error))) from None
        return self

    @model_validator(mode="after")
    def _known_names(self) -> Source:
        for part in self.parts:
            part._check_added()
        for field in self.disorder_of:
            if field not in self.fields or self.attributes[field] != "number":
                msg = f"E_DISORDER: disorder_of {field!r} is not an int under source.fields"
                raise ValueError(msg)
        if self.duplicates is not None:
            try:
                self.duplicates.check(self.named)
            except MistakeAt as error:
                raise _located(error) from None
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
        if attr is not None and attr in self.fields and attr not in self.declared:
            msg = (
                f"E_DISORDER: attr {attr!r} is not in values: take a field that producers know "
                f"({', '.join(self.declared) or 'there is none'})"
            )
            raise ValueError(msg)
        if attr is not None and attr not in self.fields:
            msg = (
                f"E_DISORDER: attr {attr!r} is not under source.fields "
                f"({known_fields(self)}){meant(attr, self.fields)}"
            )
            raise ValueError(msg)
        if attr is not None and self.fields[attr].kind == "decimal":
            msg = f"E_DISORDER: attr {attr!r} is a decimal: take a field of another type"
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

    @cached_property
    def fields(self) -> dict[str, FieldType]:
        """The fields of a record besides the event time, and their types.

        They are those of its value, what is used of its metadata, and what is computed.
        """
        found = {**self.declared, **{name: metadata_type(name) for name in self._metadata}}
        return found | {one.name: one.type for one in self._computations if one.is_field}

    @property
    def named(self) -> dict[str, FieldType]:
        """The fields that a file can name: all but arguments of aggregates."""
        hidden = {one.name for one in self._computations if one.role == "argument"}
        return {name: type_ for name, type_ in self.fields.items() if name not in hidden}

    @property
    def computations(self) -> tuple[Computation, ...]:
        """What is computed of a record, in this order."""
        return self._computations

    @property
    def time(self) -> Computation | None:
        """The expression of the event time; None: it is a field."""
        return self._time

    @property
    def metadata(self) -> tuple[str, ...]:
        """The names of what is used of a record besides its value."""
        return self._metadata

    @property
    def carried(self) -> tuple[str, ...]:
        """The metadata that raw rows of all its topics carry beside their values."""
        return carried_of(part.metadata for part in self.parts)

    def asked_for(self, arguments: Sequence[Computation], metadata: Sequence[str]) -> Self:
        """Return the source with what queries use, too: arguments of aggregates, and metadata."""
        own = {one.name for one in self._computations if one.is_field}
        more = {one.name: one for one in arguments if one.name not in own}
        if not more and {*metadata} <= {*self._metadata}:
            return self
        found = self.model_copy()
        found._computations = (*self._computations, *more.values())
        names = (*self._metadata, *metadata, *metadata_in(arguments))
        found._metadata = tuple(dict.fromkeys(names))
        return found

    @property
    def warnings(self) -> tuple[str, ...]:
        """The names of the rules that only warn, in their order."""
        return tuple(one.name for one in self._computations if one.role == "warn")

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
        warned = dict.fromkeys(warning(name) for part in self.parts for name in part.warnings)
        return (*BY_WINDOWS[:2], *withheld, *BY_WINDOWS[2:], *warned)

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
        kinds = ((name, type_.kind) for name, type_ in self.fields.items())
        known: dict[str, AttributeType] = {n: _ATTRIBUTE_TYPES.get(k, "text") for n, k in kinds}
        return {**known, self.event_time.field: "time"}

    @property
    def parts(self) -> tuple[Source, ...]:
        """The single-topic sources in it: itself, one for each topic, or both sides of a join."""
        return (self,) if self.topics is None else self._of_topics

    @cached_property
    def _of_topics(self) -> tuple[Source, ...]:
        topics = self.topics or {}
        return tuple(
            self.model_copy(
                update={
                    "topic": topic,
                    "partitions": partitions,
                    "topics": None,
                    "joined": tuple(lane for lane in self.joined if lane.topic == topic),
                }
            )
            for topic, partitions in topics.items()
        )

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """Return a copy; what follows from the fields is found anew."""
        found = super().model_copy(update=update, deep=deep)
        for name in {"fields", "_of_topics"} - {*(update or {})}:
            found.__dict__.pop(name, None)
        return found

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

    def begins_at(self, number: int, attribute: str) -> int | None:
        """Return a lane's initial progress by an attribute; None: it has none.

        Args:
            attribute: a field; in a join, the left side's event time represents both sides'.
        """
        own, partition = self.place(number)
        field = own.event_time.field if attribute == self.event_time.field else attribute
        at = (dict(lane.at).get(field) for lane in own.joined if lane.partition == partition)
        return next(at, None)

    def _topics_without(self, gone: Collection[str]) -> dict[str, int] | None:
        if self.topics is None:
            return None
        left = Counter(lane.topic for lane in self.joined if lane.name in gone)
        return {topic: partitions - left[topic] for topic, partitions in self.topics.items()}

    def as_of(self, lanes: int) -> Source:
        """Return the source as it was before lanes from this number on were added."""
        gone = {lane.name for lane in self.joined if lane.number >= lanes}
        of = {name: disorder.without_lanes(gone) for name, disorder in self.disorder_of.items()}
        earlier: dict[str, Any] = {
            "topics": self._topics_without(gone),
            "partitions": self.partitions - len(gone),
            "joined": tuple(lane for lane in self.joined if lane.name not in gone),
            "disorder": self.disorder.without_lanes(gone),
            "disorder_of": of,
        }
        return self.model_copy(update=earlier)


def _with_topics(source: object) -> object:
    """Give a source of several topics the name and the number of lanes that follow from them."""
    if not isinstance(source, Mapping) or "topics" not in source:
        return source
    for key in ("topic", "partitions"):
        if key in source:
            msg = f"{key} does not go with topics, which gives each its number: take {key} out"
            raise MistakeAt((key,), msg)
    topics = source["topics"]
    if not isinstance(topics, Mapping) or not topics:
        msg = f"{shown(topics)}: name topics and their partitions, as {{payments: 3, refunds: 2}}"
        raise MistakeAt(("topics",), msg)
    counts = [number for number in topics.values() if type(number) is int and number > 0]
    return {**source, "topic": "several", "partitions": sum(counts) or 1}


def _located(error: MistakeAt) -> ValidationError:
    """Return a mistake as pydantic's, so that it has the line of its part."""
    kind = PydanticCustomError("value_error", "{said}", {"said": str(error)})
    details = InitErrorDetails(type=kind, loc=error.path, input=None)
    return ValidationError.from_exception_data("source", [details])


def known_fields(source: Source) -> str:
    """Return the declared fields, for messages."""
    return "known: " + (", ".join(source.named) or "none")
