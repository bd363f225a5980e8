"""The pipeline file: one YAML document, validated as a whole, frozen.

Every mistake is reported with file, line, field, rule and example; all mistakes at once. The names
are those of the file; times are integer microseconds, with the unit in the name.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from functools import cached_property
from pathlib import Path as FilePath
from typing import Annotated, Any, Self, TypeVar

import yaml
from pydantic import (
    BeforeValidator,
    Discriminator,
    Field,
    PrivateAttr,
    Tag,
    TypeAdapter,
    ValidationError,
    field_validator,
    model_validator,
)

from windowing.model.emission import (
    Accumulation,
    Early,
)
from windowing.model.errors import PipelineError, Problem
from windowing.model.file.conflicts import Conflict, Place
from windowing.model.file.documents import parse_document, read_text
from windowing.model.file.layout import LayoutError, check_one_table
from windowing.model.file.queries import FieldError, resolve_join, resolve_query
from windowing.model.file.yaml_lines import LIMITS, RUN_LIMITS, Limits, line_of, spell
from windowing.model.fingerprint import OfTheLog, fingerprint
from windowing.model.join import Join, JoinedSource
from windowing.model.late import Late
from windowing.model.names import PipelineName, QueryName
from windowing.model.operators.file import OperatorFile, StepsFile, section
from windowing.model.progress import Unordered
from windowing.model.query import Flow, Kept, Query, QueryFile
from windowing.model.schedule import Schedule
from windowing.model.sinks.section import Sink, parse_sink
from windowing.model.source import EventTime, Source, SpecModel
from windowing.model.upkeep import Upkeep
from windowing.model.windows.window import Window

F = TypeVar("F", bound=Flow)

# Placeholder for the source of a join that cannot be parsed.
_UNKNOWN: dict[str, Any] = {"topic": "", "partitions": 1, "fields": {}, "disorder": Unordered()}

_QueryFile = Annotated[
    Annotated[QueryFile, Tag("[window]")]
    | Annotated[OperatorFile, Tag("[operator]")]
    | Annotated[StepsFile, Tag("[steps]")],
    Discriminator(section),
]

__all__ = ["EventTime", "Pipeline", "Query", "Sink", "Source", "load_pipeline", "parse_pipeline"]


class Pipeline(SpecModel):
    """A pipeline: one source stream and its queries, or a join of two.

    Attributes:
        source: the stream; of a join, both as one.
        join: the two streams and their matching rule, instead of `source` and `queries`.
        shards: how many parts the keys are hashed into; fixed for the pipeline's life.
        schedule: `continuous`, or the cron expression of incremental runs.
        quality: expectations by name and arguments.
        upkeep: of its tables, on a schedule; None: only on demand.
        conflicts: the names that lanes of a log have given to different queries; a log makes them.
        forgotten: names of queries that a log does not change; `queries forget` writes them.
    """

    name: PipelineName
    source: Source
    join: Join | None = None
    late: Late = Late()
    retention: Kept | None = None
    early: Early | None = None
    accumulation: Accumulation = "accumulating"
    shards: Annotated[int, Field(strict=True, ge=1, le=10_000)] = 8
    query_files: dict[QueryName, _QueryFile] = Field(alias="queries", default_factory=dict)
    sink: Annotated[Sink | None, BeforeValidator(parse_sink)] = None
    schedule: Schedule = "continuous"
    quality: list[dict[str, Any]] = Field(default_factory=list)
    upkeep: Upkeep | None = None
    conflicts: dict[QueryName, Conflict] = Field(default_factory=dict)
    forgotten: tuple[QueryName, ...] = ()
    _text: str | None = PrivateAttr(default="")
    _document: Any = PrivateAttr(default=None)

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
            msg = "queries: there is none: add one, with window and aggregates, or with operator"
            raise ValueError(msg)
        return self

    @model_validator(mode="after")
    def _upkeep_of_tables(self) -> Self:
        if self.upkeep is not None and not self.destination.rules.in_folder:
            msg = (
                f"upkeep is for sink: {{table: NAME}}; {self.destination.kind} has no files of ours"
            )
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

    @model_validator(mode="after")
    def _conflicts_of_lanes(self) -> Self:
        lanes = {self.source.lane(number) for number in range(self.source.partitions)}
        for name, conflict in self.conflicts.items():
            if name in self.query_files or not {*conflict} <= lanes:
                msg = (
                    f"conflicts: {name} is what a log makes of a file, in lanes that it has: take "
                    "conflicts out"
                )
                raise ValueError(msg)
        return self

    @field_validator("query_files")
    @classmethod
    def _nonempty(cls, value: dict[str, _QueryFile]) -> dict[str, _QueryFile]:
        for name, query in value.items():
            if isinstance(query, QueryFile) and not query.aggregates:
                msg = f"query {name}: aggregates is empty: add one, as {{records: count}}"
                raise ValueError(msg)
        return value

    @cached_property
    def log_places(self) -> frozenset[Place]:
        """Lane and offset of each record of a log by which the pipeline is what it is."""
        active = [window.active for window in self.windows]
        found = {
            place
            for one in active
            if one is not None
            for place in (*(one.joined or ()), *(one.left or ()))
        }
        for conflict in self.conflicts.values():
            for lane, own in conflict.items():
                found |= {(lane, offset) for offset in (own.at, own.left) if offset is not None}
        return frozenset(found)

    @property
    def text(self) -> str:
        """The YAML document that this pipeline was read from, or what a log has made of it."""
        if self._text is None:
            self._text = spell(self._document)
        return self._text

    @property
    def document(self) -> Mapping[str, Any]:
        """The same, parsed; it is shared, so change a copy."""
        if self._document is None:
            self._document = yaml.safe_load(self.text)
        found: Mapping[str, Any] = self._document
        return found

    def resolved(self, name: str, written: Mapping[str, Any]) -> Query:
        """Return a query with windows that the pipeline could have in addition, or in place of one.

        Args:
            name: the query's.
            written: as under `queries`.

        Raises:
            ValueError: it breaks a rule.
        """
        file = _NAMED_QUERY.validate_python({name: written})[name]
        self._nonempty({name: file})
        query = resolve_query(self, name, file)
        assert isinstance(query, Query)  # noqa: S101 - by the kind of file
        return query

    def with_document(self, document: Mapping[str, Any], touched: Collection[str]) -> Self:
        """Return the pipeline of a document in which only queries and conflicts are others.

        Args:
            document: the whole document.
            touched: the names of its queries that this pipeline has not, or has otherwise.

        Raises:
            ValueError: a query breaks a rule.
        """
        known = {flow.name: flow for flow in self.flows}
        files, flows = dict[str, Any](), list[Flow]()
        for name, written in document["queries"].items():
            new = name in touched
            files[name] = QueryFile.model_validate(written) if new else self.query_files[name]
            flows.append(self.resolved(name, written) if new else known[name])
        if self.destination.layout == "one":
            check_one_table(flows, self.source.fields)
        conflicts = _CONFLICTS.validate_python(document.get("conflicts", {}))
        after = self.model_copy(update={"query_files": files, "conflicts": conflicts})
        for name in ("flows", "tables", "fingerprint", "earlier", "log_places"):
            after.__dict__.pop(name, None)
        after.__dict__["flows"] = tuple(flows)
        after._text, after._document = None, document
        return after

    @property
    def output(self) -> str:
        """The name of the folder or schema that rows go to; by default the pipeline's own."""
        return self.destination.name

    @property
    def destination(self) -> Sink:
        """Where the rows go; by default, tables of the pipeline's own name."""
        return self.sink or Sink("table", self.name)

    @cached_property
    def tables(self) -> dict[str, tuple[Flow, ...]]:
        """The flows whose rows are in each table of results, by its name."""
        found: dict[str, list[Flow]] = {}
        for flow in self.flows:
            found.setdefault(self.table_of(flow.name), []).append(flow)
        return {name: tuple(flows) for name, flows in found.items()}

    def table_of(self, query: str) -> str:
        """Return the name of the table that has the rows of a query, or of the join."""
        return self.destination.table_of(query)

    @cached_property
    def flows(self) -> tuple[Flow, ...]:
        """All that it computes: its queries in the order of the file, or its join; validated."""
        if self.join is not None:
            return (resolve_join(self, self.join),)
        found = tuple(resolve_query(self, name, query) for name, query in self.query_files.items())
        if self.destination.layout == "one":
            try:
                check_one_table(found, self.source.fields)
            except LayoutError as error:
                raise FieldError(("queries", error.query), str(error)) from None
        return found

    def of(self, kind: type[F]) -> tuple[F, ...]:
        """Return the flows of one kind, for what only these have, in the order of the file."""
        return tuple(flow for flow in self.flows if isinstance(flow, kind))

    @property
    def one_topic(self) -> bool:
        """Whether all flows read the same records, as all but joins do."""
        return len(self.source.parts) == 1

    @property
    def windows(self) -> tuple[Window, ...]:
        """The windows of all flows that have one."""
        return tuple(flow.window for flow in self.flows if flow.window is not None)

    @cached_property
    def fingerprint(self) -> str:
        """The digest of all that decides the result; a checkpoint belongs to one fingerprint.

        Computing it imports the classes of the user's aggregates.

        Raises:
            UserAggregateError: a class cannot be used.
        """
        return fingerprint(self.source, self.shards, self.flows, self._of_the_log)

    @property
    def _of_the_log(self) -> OfTheLog:
        return OfTheLog(self.conflicts, self.forgotten)

    @cached_property
    def earlier(self) -> dict[str, int]:
        """The fingerprints before lanes joined, each with the number of lanes at the time."""
        return {
            fingerprint(source, self.shards, self.flows, self._of_the_log): source.partitions
            for source in self._sources_before()
        }

    def wrote(self, found: str) -> bool:
        """Whether a fingerprint is this pipeline's, now or before lanes joined."""
        return found == self.fingerprint or found in self.earlier

    def _sources_before(self) -> Iterator[Source]:
        """Return the source as it was before each lane joined, oldest first."""
        source = self.source
        return (source.as_of(number) for number in range(source.founding, source.partitions))

    def key_fields(self, number: int) -> frozenset[str]:
        """The fields of a lane's records that some row's key is made of.

        Queries that begin later are left out: what is wrong with a value does not depend on them.
        """
        source, _ = self.source.place(number)
        keys = [flow.record_key(source.topic) for flow in self.flows if not flow.begins_later]
        return frozenset(field for key in keys for field in key)


_NAMED_QUERY = TypeAdapter(dict[QueryName, QueryFile])
_CONFLICTS = TypeAdapter(dict[QueryName, Conflict])

_NOT_WITH_JOIN = {
    "source": "its sources stand under left and right",
    "queries": "what it shows stands under select",
    # SAMZA-552, "Join operator": a join sends pairs, which never change.
    "early": "a pair is whole as soon as it is there, and is sent once",
    "accumulation": "a pair has one row, which a later one neither repeats nor adds to",
}
"""Options of a pipeline of queries that a join does not have, and why."""


def parse_pipeline(text: str, file: str = "<pipeline>", limits: Limits = RUN_LIMITS) -> Pipeline:
    """Parse a pipeline from YAML text.

    Args:
        text: the document.
        file: its name, for messages.
        limits: how large it may be; of what is in memory already, that was asked when it was read.

    Raises:
        PipelineError: with all problems found.
    """
    shape = "a pipeline file is a mapping that begins with name: and source:"
    pipeline, lines = parse_document(text, file, Pipeline, shape=shape, limits=limits)
    pipeline._text = text
    try:
        pipeline.flows  # noqa: B018 - resolved here, so that mistakes surface now
    except FieldError as error:
        dotted = ".".join(map(str, error.path))
        problem = Problem(file, line_of(error.path, lines), dotted, str(error))
        raise PipelineError([problem]) from None
    return pipeline


def load_pipeline(path: str | FilePath, limits: Limits = LIMITS) -> Pipeline:
    """Read a pipeline file, unless it is larger than the limits.

    Raises:
        PipelineError: the file is missing, unreadable, or breaks a rule.
    """
    return parse_pipeline(read_text(path, limits), str(path), limits)
