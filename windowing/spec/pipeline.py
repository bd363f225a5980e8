"""The pipeline file: one YAML document, validated as a whole, frozen.

Every mistake is reported with file, line, field, rule and example; all mistakes at once. The names
are those of the file; times are integer microseconds, with the unit in the name.
"""

from __future__ import annotations

import hashlib
import re
from functools import cached_property
from pathlib import Path as FilePath
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PrivateAttr,
    field_validator,
    model_validator,
)

from windowing.spec.disorder import (
    Disorder,
    Heartbeat,
    OrderedPer,
    Punctuation,
    parse_disorder,
)
from windowing.spec.documents import parse_document, read_text
from windowing.spec.errors import PipelineError, Problem
from windowing.spec.fields import (
    Aggregate,
    FieldType,
    check_aggregate,
    parse_aggregate,
    parse_field_type,
)
from windowing.spec.late import Late
from windowing.spec.lengths import INT64_MAX, INT64_MIN, duration_us, instant_us
from windowing.spec.postgres_names import check_postgres_names
from windowing.spec.rules import check_late, check_progress_key
from windowing.spec.window import ROW_NUM, AttributeType, Window, parse_window
from windowing.spec.yaml_lines import line_of

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
_ATTRIBUTE_TYPES: dict[str, AttributeType] = {"int": "number", "float": "text", "string": "text"}


def _named(value: object) -> object:
    if isinstance(value, str) and not _NAME.fullmatch(value):
        msg = f"{value!r} is not a name: use letters, digits, _ . - (not first)"
        raise ValueError(msg)
    return value


Name = Annotated[str, BeforeValidator(_named)]
Instant = Annotated[int, BeforeValidator(instant_us)]
Duration = Annotated[int, BeforeValidator(duration_us)]
Type = Annotated[FieldType, BeforeValidator(parse_field_type)]


class _Model(BaseModel):
    model_config = ConfigDict(
        extra="forbid", frozen=True, arbitrary_types_allowed=True, ignored_types=(cached_property,)
    )


class EventTime(_Model):
    """Where a record's event time stands and which instants are legal.

    Attributes:
        field: name of the field; it need not stand in `fields`.
        unit: `us`, `ms`, `s` (a JSON integer) or `iso` (text).
        min_us, max_us: legal is `min_us <= ts_us < max_us`.
        max_ahead_us: legal is `ts_us <= append time + max_ahead_us`; None: not judged.
    """

    field: str
    unit: Literal["us", "ms", "s", "iso"]
    min_us: Instant = Field(default=INT64_MIN, alias="min")
    max_us: Instant = Field(default=INT64_MAX + 1, alias="max")
    max_ahead_us: Duration | None = Field(default=None, alias="max_ahead")

    @model_validator(mode="after")
    def _ordered(self) -> EventTime:
        if self.min_us >= self.max_us:
            msg = "min must lie before max, as min: '1970-01-01', max: '2100-01-01'"
            raise ValueError(msg)
        return self


class Source(_Model):
    """The log that a pipeline reads.

    Attributes:
        topic: name of the topic; lanes are named `topic/partition`.
        partitions: how many lanes there are; fixed for the pipeline's life.
        fields: the fields of a record beside the event time, and their types.
        disorder: the generator that turns a lane's records into progress.
        unknown_fields: what becomes of a record with a field that is not declared.
        dense: offsets have no holes; a gap is then an error.
    """

    topic: Name
    partitions: Annotated[int, Field(strict=True, ge=1, le=100_000)]
    format: Literal["json"]
    event_time: EventTime
    fields: dict[str, Type]
    disorder: Annotated[Disorder, BeforeValidator(parse_disorder)]
    unknown_fields: Literal["dead_letter", "ignore"] = "dead_letter"
    dense: bool = False

    @model_validator(mode="after")
    def _known_names(self) -> Source:
        """What the generator names, fields and lanes, must exist."""
        generator = self.disorder
        attr = generator.attr if isinstance(generator, OrderedPer | Punctuation) else None
        if attr is not None and attr not in self.fields:
            msg = f"E_DISORDER: attr {attr!r} is not under source.fields ({known_fields(self)})"
            raise ValueError(msg)
        named: tuple[str, ...] | None = None
        if isinstance(generator, Heartbeat):
            named = tuple(lane for lane, _ in generator.sources)
        elif isinstance(generator, OrderedPer) and generator.members is not None:
            named = tuple(lane for lane, _ in generator.members)
            kind = {"int": int, "string": str}.get(self.fields[generator.attr].kind)
            for member in (value for _, values in generator.members for value in values):
                if type(member) is not kind:
                    msg = f"E_DISORDER: {member!r} is no value of {generator.attr}"
                    raise ValueError(msg)
        lanes = {self.lane(partition) for partition in range(self.partitions)}
        if named is not None and set(named) != lanes:
            odd = sorted(set(named) ^ lanes)[0]
            wrong = f"{odd} is missing" if odd in lanes else f"there is no lane {odd}"
            msg = f"E_DISORDER: {wrong}: name {self.lane(0)} to {self.lane(self.partitions - 1)}"
            raise ValueError(msg)
        return self

    @property
    def attributes(self) -> dict[str, AttributeType]:
        """The fields that a window may name, with their types in the window language."""
        known = {name: _ATTRIBUTE_TYPES[type_.kind] for name, type_ in self.fields.items()}
        return {**known, self.event_time.field: "time"}

    def lane(self, partition: int) -> str:
        """The name of a partition's lane."""
        return f"{self.topic}/{partition}"


class _QueryFile(_Model):
    """A query as it stands in the file."""

    window: str | dict[str, Any]
    group_by: list[str] = []
    aggregates: dict[str, Any]
    late: Late | None = None
    retention_us: Duration | None = Field(default=None, alias="retention")


class Query(_Model):
    """One window over the stream and the aggregates of its extents; all defaults applied.

    Attributes:
        name: the query's name in the file and in every row.
        window: the window.
        group_by: fields that make up the row's key, in this order.
        aggregates: in the order of the file.
        late: what becomes of late records.
        retention_us: how long after its end a window takes late records; None unless `update`.
    """

    name: str
    window: Window
    group_by: tuple[str, ...]
    aggregates: tuple[Aggregate, ...]
    late: Late
    retention_us: int | None

    @property
    def key(self) -> tuple[str, ...]:
        """The fields that make up a row's key: PATTR, then those of `group_by`."""
        return (*([self.window.pattr] if self.window.pattr else []), *self.group_by)


class Sink(_Model):
    """Where rows go: one of these.

    Attributes:
        table: Delta tables in a folder of this name under the tables' folder.
        postgres: PostgreSQL tables in a schema of this name.
    """

    table: Name | None = None
    postgres: Annotated[Name, Field(max_length=63)] | None = None

    @model_validator(mode="after")
    def _one(self) -> Sink:
        if (self.table is None) == (self.postgres is None):
            msg = "name one place: sink: {table: NAME} or sink: {postgres: NAME}"
            raise ValueError(msg)
        return self

    @property
    def name(self) -> str:
        """The name of the folder or schema."""
        return self.table or self.postgres or ""


class Pipeline(_Model):
    """A pipeline: one source stream and its queries.

    Attributes:
        shards: how many parts the keys are spread over; fixed for the pipeline's life.
        schedule: `continuous`, or a cron expression for increments.
        quality: expectations by name and arguments.
    """

    name: Name
    source: Source
    late: Late = Late()
    retention_us: Duration | None = Field(default=None, alias="retention")
    shards: Annotated[int, Field(strict=True, ge=1, le=10_000)] = 8
    query_files: dict[Name, _QueryFile] = Field(alias="queries", min_length=1)
    sink: Sink | None = None
    schedule: str = "continuous"
    quality: list[dict[str, Any]] = []
    _text: str = PrivateAttr(default="")

    @field_validator("query_files")
    @classmethod
    def _nonempty(cls, value: dict[str, _QueryFile]) -> dict[str, _QueryFile]:
        for name, query in value.items():
            if not query.aggregates:
                msg = f"query {name}: aggregates is empty: add one, as {{records: count}}"
                raise ValueError(msg)
        return value

    @property
    def text(self) -> str:
        """The YAML document that this pipeline was read from."""
        return self._text

    @cached_property
    def queries(self) -> tuple[Query, ...]:
        """The queries, validated against the source, in the order of the file."""
        return tuple(_resolve(self, name, query) for name, query in self.query_files.items())

    @cached_property
    def fingerprint(self) -> str:
        """A digest of all that decides the result; a checkpoint belongs to one fingerprint."""
        decisive = repr((self.source, self.shards, self.queries))
        return hashlib.sha256(decisive.encode()).hexdigest()[:16]


class _FieldError(ValueError):
    """A rule broken across fields; carries the path of the field to blame."""

    def __init__(self, path: tuple[str | int, ...], message: str) -> None:
        self.path = path
        super().__init__(message)


def _resolve(pipeline: Pipeline, name: str, query: _QueryFile) -> Query:
    source, here = pipeline.source, ("queries", name)
    try:
        window = parse_window(query.window, source.attributes)
    except ValueError as error:
        raise _FieldError((*here, "window"), str(error)) from None
    if window.attribute not in (source.event_time.field, ROW_NUM):
        msg = (
            f"windows over {window.attribute} are not in this release: use "
            f"RANGE … SLIDE … WATTR {source.event_time.field}"
        )
        raise _FieldError((*here, "window"), msg)
    if pipeline.sink is not None and pipeline.sink.postgres is not None:
        try:
            fields = [*([window.pattr] if window.pattr else []), *query.group_by]
            check_postgres_names(name, [*dict.fromkeys(fields), *query.aggregates])
        except ValueError as error:
            raise _FieldError(here, str(error)) from None
    late = query.late or pipeline.late
    _check_rules(window, query, source, late, here)
    retention_us = pipeline.retention_us if query.retention_us is None else query.retention_us
    if late.policy == "update" and retention_us is None:
        msg = "late: {policy: update} needs a retention, as retention: 12 hours"
        raise _FieldError((*here, "late") if query.late else ("late",), msg)
    return Query(
        name=name,
        window=window,
        group_by=_group_by(query, source, here),
        aggregates=_aggregates(query, source, here),
        late=late,
        retention_us=retention_us if late.policy == "update" else None,
    )


def _check_rules(
    window: Window, query: _QueryFile, source: Source, late: Late, here: tuple[str, ...]
) -> None:
    """The language's rules between window, generator, keys and late records."""
    try:
        check_progress_key(window, query.group_by, source.disorder)
    except ValueError as error:
        raise _FieldError((*here, "window"), str(error)) from None
    try:
        check_late(window, late.mode, late.policy, late.every_us)
    except ValueError as error:
        raise _FieldError((*here, "late") if query.late else ("late",), str(error)) from None


def _group_by(query: _QueryFile, source: Source, here: tuple[str, ...]) -> tuple[str, ...]:
    for index, field in enumerate(query.group_by):
        if field not in source.fields:
            msg = f"E_ATTR_UNKNOWN: {field!r} is not under source.fields ({known_fields(source)})"
            raise _FieldError((*here, "group_by", index), msg)
        if field in query.group_by[:index]:
            msg = f"{field!r} stands twice: keep one"
            raise _FieldError((*here, "group_by", index), msg)
    return tuple(query.group_by)


def _aggregates(query: _QueryFile, source: Source, here: tuple[str, ...]) -> tuple[Aggregate, ...]:
    result = []
    for name, text in query.aggregates.items():
        path = (*here, "aggregates", name)
        try:
            aggregate = parse_aggregate(name, text)
            check_aggregate(aggregate, source.fields)
        except ValueError as error:
            raise _FieldError(path, str(error)) from None
        result.append(aggregate)
    return tuple(result)


def known_fields(source: Source) -> str:
    """The declared fields, for messages."""
    return "known: " + (", ".join(source.fields) or "none")


def parse_pipeline(text: str, file: str = "<pipeline>") -> Pipeline:
    """Read a pipeline from YAML text.

    Args:
        text: the document.
        file: its name, for messages.

    Raises:
        PipelineError: with every problem that was found.
    """
    shape = "a pipeline file is a mapping that begins with name: and source:"
    pipeline, lines = parse_document(text, file, Pipeline, shape=shape)
    pipeline._text = text
    try:
        pipeline.queries  # noqa: B018 - resolved here, so that mistakes surface now
    except _FieldError as error:
        dotted = ".".join(map(str, error.path))
        problem = Problem(file, line_of(error.path, lines), dotted, str(error))
        raise PipelineError([problem]) from None
    return pipeline


def load_pipeline(path: str | FilePath) -> Pipeline:
    """Read a pipeline file.

    Raises:
        PipelineError: the file is missing, unreadable, or breaks a rule.
    """
    return parse_pipeline(read_text(path), str(path))
