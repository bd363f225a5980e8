"""The pipeline file: one YAML document, validated as a whole, frozen.

Every mistake is reported with file, line, field, rule and example; all mistakes at once. The names
are those of the file; times are integer microseconds, with the unit in the name.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path as FilePath
from typing import Annotated, Any, Self

from pydantic import (
    BeforeValidator,
    Field,
    PrivateAttr,
    ValidationError,
    field_validator,
    model_validator,
)

from windowing.model.emission import (
    Accumulation,
    Early,
    Retention,
    check_early,
    check_idle,
)
from windowing.model.errors import PipelineError, Problem
from windowing.model.field_names import check_field_name
from windowing.model.fields import Aggregate, check_aggregate, parse_aggregate
from windowing.model.file.documents import parse_document, read_text
from windowing.model.file.yaml_lines import line_of
from windowing.model.fingerprint import fingerprint
from windowing.model.join import PAIRS, PLACE, Join, JoinedSource
from windowing.model.late import Late
from windowing.model.legacy_fingerprint import is_legacy, legacy_fingerprint
from windowing.model.limits import check_lengths
from windowing.model.names import PipelineName, QueryName
from windowing.model.progress import Unordered
from windowing.model.query import JoinQuery, Kept, Query, QueryFile
from windowing.model.rules import (
    check_gaps,
    check_joined,
    check_late,
    check_number,
    check_progress_key,
    check_step,
)
from windowing.model.schedule import Schedule
from windowing.model.sink import Sink, parse_sink
from windowing.model.source import EventTime, Source, SpecModel, known_fields
from windowing.model.windows.parsing import parse_window

# Placeholder for the source of a join that cannot be parsed.
_UNKNOWN: dict[str, Any] = {"topic": "", "partitions": 0, "fields": {}, "disorder": Unordered()}

__all__ = ["EventTime", "Pipeline", "Query", "Sink", "Source", "load_pipeline", "parse_pipeline"]


class Pipeline(SpecModel):
    """A pipeline: one source stream and its queries, or a join of two.

    Attributes:
        source: the stream; of a join, both as one.
        join: the two streams and their matching rule, instead of `source` and `queries`.
        shards: how many parts the keys are hashed into; fixed for the pipeline's life.
        schedule: `continuous`, or the cron expression of incremental runs.
        quality: expectations by name and arguments.
    """

    name: PipelineName
    source: Source
    join: Join | None = None
    late: Late = Late()
    retention: Kept | None = None
    early: Early | None = None
    accumulation: Accumulation = "accumulating"
    shards: Annotated[int, Field(strict=True, ge=1, le=10_000)] = 8
    query_files: dict[QueryName, QueryFile] = Field(alias="queries", default_factory=dict)
    sink: Annotated[Sink | None, BeforeValidator(parse_sink)] = None
    schedule: Schedule = "continuous"
    quality: list[dict[str, Any]] = Field(default_factory=list)
    _text: str = PrivateAttr(default="")

    @model_validator(mode="before")
    @classmethod
    def _source_of_join(cls, data: Any) -> Any:
        """Build the source of a join from its section."""
        if not isinstance(data, dict) or "join" not in data:
            return data
        for name, why in _NOT_WITH_JOIN.items():
            if name in data:
                msg = f"{name} does not go with join: {why}"
                raise ValueError(msg)
        try:
            join = Join.model_validate(data["join"])
        except ValidationError:
            # Validating the section again as a field gives its problems their lines.
            return {**data, "source": Source.model_construct(**_UNKNOWN)}
        return {**data, "join": join, "source": JoinedSource.of(join)}

    @model_validator(mode="after")
    def _some_query(self) -> Self:
        if not self.query_files and self.join is None:
            msg = "queries: there is none: add one, with window and aggregates"
            raise ValueError(msg)
        return self

    @model_validator(mode="after")
    def _joined_behind_all(self) -> Self:
        source = self.source
        for number, lane in enumerate(source.joined_lanes, start=source.founding):
            if lane.number != number:
                msg = (
                    f"E_JOINED: {lane.name} is lane {lane.number}, and the next number is {number}:"
                    " lanes that join are numbered behind all others, in the order of their joining"
                )
                raise ValueError(msg)
        return self

    @field_validator("query_files")
    @classmethod
    def _nonempty(cls, value: dict[str, QueryFile]) -> dict[str, QueryFile]:
        for name, query in value.items():
            if not query.aggregates:
                msg = f"query {name}: aggregates is empty: add one, as {{records: count}}"
                raise ValueError(msg)
        return value

    @property
    def text(self) -> str:
        """The YAML document that this pipeline was read from."""
        return self._text

    @property
    def output(self) -> str:
        """The name of the folder or schema that rows go to; by default the pipeline's own."""
        return self.destination.name

    @property
    def destination(self) -> Sink:
        """Where the rows go; by default, tables of the pipeline's own name."""
        return self.sink or Sink("table", self.name)

    @cached_property
    def queries(self) -> tuple[Query, ...]:
        """The queries in the order of the file, validated against the source; a join has none."""
        return tuple(_resolve(self, name, query) for name, query in self.query_files.items())

    @cached_property
    def join_query(self) -> JoinQuery | None:
        """The join, validated with what stands around it; None: there are queries instead."""
        return None if self.join is None else _join_query(self, self.join)

    @property
    def flows(self) -> tuple[Query | JoinQuery, ...]:
        """All that it computes: its queries, or its join."""
        return self.queries if self.join_query is None else (self.join_query,)

    @cached_property
    def fingerprint(self) -> str:
        """The digest of all that decides the result; a checkpoint belongs to one fingerprint.

        Computing it imports the classes of the user's aggregates.

        Raises:
            UserAggregateError: a class cannot be used.
        """
        return fingerprint(self.source, self.shards, self.flows)

    @cached_property
    def earlier(self) -> dict[str, int]:
        """The fingerprints before lanes joined, each with the number of lanes at the time."""
        return {
            fingerprint(source, self.shards, self.flows): source.partitions
            for source in self._sources_before()
        }

    def wrote(self, found: str) -> bool:
        """Whether a fingerprint is this pipeline's, in the current or an earlier format."""
        if is_legacy(found):
            return found == legacy_fingerprint(self.source, self.shards, self.flows)
        return found == self.fingerprint

    def wrote_before(self, found: str) -> bool:
        """Whether a fingerprint is this pipeline's from before lanes joined."""
        if is_legacy(found):
            sources = self._sources_before()
            return found in {legacy_fingerprint(s, self.shards, self.flows) for s in sources}
        return found in self.earlier

    def _sources_before(self) -> Iterator[Source]:
        """Return the source as it was before each lane joined, oldest first."""
        source = self.source
        return (source.as_of(number) for number in range(source.founding, source.partitions))

    def key_fields(self, number: int) -> frozenset[str]:
        """The fields of a lane's records that some row's key is made of."""
        if self.join_query is not None:
            source, _ = self.source.place(number)
            return frozenset(self.join_query.key_fields(self.join_query.side_of(source.topic)))
        return frozenset(field for query in self.queries for field in query.key)


_NOT_WITH_JOIN = {
    "source": "its sources stand under left and right",
    "queries": "what it shows stands under select",
    # SAMZA-552, "Join operator": a join sends pairs, which never change.
    "early": "a pair is whole as soon as it is there, and is sent once",
    "accumulation": "a pair has one row, which a later one neither repeats nor adds to",
}
"""Options of a pipeline of queries that a join does not have, and why."""

_NO_RETENTION = "late: {policy: update} needs a retention, as retention: 12 hours"


class _FieldError(ValueError):
    """A broken rule across fields, with the path of the field to blame."""

    def __init__(self, path: tuple[str | int, ...], message: str) -> None:
        self.path = path
        super().__init__(message)


@contextmanager
def _blaming(*path: str | int) -> Iterator[None]:
    """Attribute any broken rule inside the block to this field."""
    try:
        yield
    except ValueError as error:
        raise _FieldError(path, str(error)) from None


def _join_query(pipeline: Pipeline, join: Join) -> JoinQuery:
    """The join with all defaults applied."""
    late, retention = pipeline.late, pipeline.retention or Retention()
    if late.policy == "update" and retention.time is None:
        raise _FieldError(("late",), _NO_RETENTION)
    if retention.windows is not None:
        raise _FieldError(("retention",), "a join has no windows to count: give a time")
    with _blaming("retention"):
        for step in (late.every, retention.time):
            check_step(join.left.source.event_time.field, step, timed=True)
    with _blaming("join", "select"):
        pipeline.destination.rules.check_names(PAIRS, [*join.equal, *PLACE, *join.select])
    return JoinQuery(
        sources=(join.left.source, join.right.source),
        left=join.left.window_us,
        right=join.right.window_us,
        kind=join.kind,
        on=join.equal,
        where=join.where,
        select=join.select,
        late=late,
        # Also where nothing late is taken: a side without a window is seen as far back.
        retention_us=None if retention.time is None else retention.time.amount,
        entries_max=retention.entries,
    )


def _resolve(pipeline: Pipeline, name: str, query: QueryFile) -> Query:
    """Return a query with all defaults applied; errors name the section at fault."""
    source, here = pipeline.source, ("queries", name)
    rules = pipeline.destination.rules
    late, early = query.late or pipeline.late, query.early or pipeline.early
    retention = query.retention or pipeline.retention or Retention()
    late_path = (*here, "late") if query.late else ("late",)
    with _blaming(*here, "window"):
        window = parse_window(query.window, source.attributes)
    key = [*([window.pattr] if window.pattr else []), *query.group_by]
    with _blaming(*here):
        rules.check_names(name, [*dict.fromkeys(key), *query.aggregates])
    attribute = source.ordered_by(window.attribute)
    timed = attribute == source.event_time.field
    with _blaming(*here, "window"):
        check_lengths(window)
        rules.check_window(window)
        check_idle(window, source.idle_timeout_us)
        check_joined(window, [lane.name for lane in source.joined])
        if not timed:
            check_number(attribute, source.fields)
        check_progress_key(window, query.group_by, source.generator_of(attribute))
        check_gaps(window, key, {name: type_.kind for name, type_ in source.fields.items()})
    with _blaming(*late_path):
        check_late(window, late.mode, late.policy, late.every_us)
        check_step(attribute, late.every, timed=timed)
    with _blaming(*((*here, "early") if query.early else ("early",))):
        check_early(window, early)
    retention_us = None
    if late.policy == "update":
        with _blaming(*((*here, "retention") if query.retention else ("retention",))):
            check_step(attribute, retention.time, timed=timed)
            retention_us = retention.length_us(window)
        if retention_us is None:
            raise _FieldError(late_path, _NO_RETENTION)
    return Query(
        name=name,
        window=window,
        group_by=_group_by(query, source, here),
        aggregates=_aggregates(query, source, here),
        late=late,
        retention_us=retention_us,
        entries_max=retention.entries,
        early=early,
        accumulation=query.accumulation or pipeline.accumulation,
    )


def _group_by(query: QueryFile, source: Source, here: tuple[str, ...]) -> tuple[str, ...]:
    for index, field in enumerate(query.group_by):
        if field not in source.fields:
            msg = f"E_ATTR_UNKNOWN: {field!r} is not under source.fields ({known_fields(source)})"
            raise _FieldError((*here, "group_by", index), msg)
        if field in query.group_by[:index]:
            msg = f"{field!r} stands twice: keep one"
            raise _FieldError((*here, "group_by", index), msg)
    return tuple(query.group_by)


def _aggregates(query: QueryFile, source: Source, here: tuple[str, ...]) -> tuple[Aggregate, ...]:
    result = []
    for name, text in query.aggregates.items():
        with _blaming(*here, "aggregates", name):
            check_field_name(name)
            aggregate = parse_aggregate(name, text)
            check_aggregate(aggregate, source.fields)
        result.append(aggregate)
    return tuple(result)


def parse_pipeline(text: str, file: str = "<pipeline>") -> Pipeline:
    """Parse a pipeline from YAML text.

    Args:
        text: the document.
        file: its name, for messages.

    Raises:
        PipelineError: with all problems found.
    """
    shape = "a pipeline file is a mapping that begins with name: and source:"
    pipeline, lines = parse_document(text, file, Pipeline, shape=shape)
    pipeline._text = text
    try:
        pipeline.flows  # noqa: B018 - resolved here, so that mistakes surface now
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
