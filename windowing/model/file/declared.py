"""A pipeline file as declared: each section valid by itself, no query resolved yet.

The rules of queries and of joins take this: all that stands around a query.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager, suppress
from typing import Annotated, Any, Self

from pydantic import (
    BeforeValidator,
    Discriminator,
    Field,
    ModelWrapValidatorHandler,
    PrivateAttr,
    Tag,
    ValidationError,
    field_validator,
    model_validator,
)

from windowing.model.arguments import of_queries
from windowing.model.emission import Accumulation, Early, Late
from windowing.model.event_time import SpecModel
from windowing.model.file.conflicts import Conflict
from windowing.model.file.file_tests import FileTest, TestName
from windowing.model.file.query_file import Kept, QueryFile
from windowing.model.join import Join, JoinedSource
from windowing.model.names import PipelineName, QueryName
from windowing.model.operators.file import OperatorFile, StepsFile, section
from windowing.model.schedule import Schedule, Upkeep
from windowing.model.sinks import Sink, parse_sink
from windowing.model.source import Source
from windowing.model.zones import Zone, by_tables, read_table

# Placeholder for the source of a join that cannot be parsed.
_UNKNOWN: dict[str, Any] = {
    "topic": "x",
    "partitions": 1,
    "format": "json",
    "event_time": {"field": "x", "unit": "us"},
    "fields": {"x": "int"},
    "disorder": "ordered",
}

_QueryFile = Annotated[
    Annotated[QueryFile, Tag("[window]")]
    | Annotated[OperatorFile, Tag("[operator]")]
    | Annotated[StepsFile, Tag("[steps]")],
    Discriminator(section),
]

_NOT_WITH_JOIN = {
    "source": "its sources stand under left and right",
    "queries": "what it shows stands under select",
    # SAMZA-552, "Join operator": a join sends pairs, which never change.
    "early": "a pair is whole as soon as it is there, and is sent once",
    "accumulation": "a pair has one row, which a later one neither repeats nor adds to",
}
"""Options of a pipeline of queries that a join does not have, and why."""

_NOT_IN_JOIN = {
    "having": "a pair is judged by its fields before it is sent: write the condition under where",
    "empty": "a join sends pairs, and no rows of windows without records: take it out",
}
"""The same of a query."""


class Declared(SpecModel):
    """What a pipeline file says: one source stream and its queries, or a join of two.

    Attributes:
        source: the stream; of a join, both as one.
        join: the two streams and their matching rule, instead of `source` and `queries`.
        shards: how many parts the keys are hashed into; fixed for the pipeline's life.
        query_files: the queries as written.
        schedule: `continuous`, or the cron expression of incremental runs.
        quality: expectations by name and arguments.
        upkeep: of its tables, on a schedule; None: only on demand.
        conflicts: the names that lanes of a log have given to different queries; a log makes them.
        forgotten: names of queries that a log does not change; `queries forget` writes them.
        zone_tables: of zones that it names, by which it is read; a run's own copy has them.
        tests: logs, and the rows that they have to give, by name; they change no result.
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
    zone_tables: dict[str, Any] = Field(alias="zones", default_factory=dict)
    tests: dict[TestName, FileTest] = Field(default_factory=dict)

    _named: dict[str, Zone] = PrivateAttr(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def _source_of_join(cls, data: Any) -> Any:
        if not isinstance(data, dict) or "join" not in data:
            return data
        unfit = [
            f"{one} does not go with join: {why}"
            for one, why in _NOT_WITH_JOIN.items()
            if one in data
        ]
        if isinstance(data["join"], dict):
            unfit += [
                f"join.{one}: {why}" for one, why in _NOT_IN_JOIN.items() if one in data["join"]
            ]
        if unfit:
            raise ValueError("; ".join(unfit))
        try:
            join = Join.model_validate(data["join"])
        except ValidationError:
            # Validating the section again as a field gives its problems their lines.
            return {**data, "source": Source.model_validate(_UNKNOWN)}
        return {**data, "join": join, "source": JoinedSource.of(join)}

    @model_validator(mode="after")
    def _source_for_queries(self) -> Self:
        """Have the source compute what queries aggregate."""
        if self.join is None:
            computed, metadata = of_queries(self.query_files.values(), self.source.named)
            self.__dict__["source"] = self.source.asked_for(computed, metadata)
        return self

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
    def _added_behind_all(self) -> Self:
        source = self.source
        for number, lane in enumerate(source.added_lanes, start=source.founding):
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

    @field_validator("zone_tables")
    @classmethod
    def _zone_tables(cls, value: dict[str, Any]) -> dict[str, Zone]:
        return {name: read_table(name, spelled) for name, spelled in value.items()}

    @model_validator(mode="wrap")
    @classmethod
    def _by_tables(cls, data: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        """Read all that names a zone by the tables that the file has; it is the outermost."""
        named = dict[str, Zone]()
        with by_tables(_readable(data), named):
            declared = handler(data)
        declared._named = named
        return declared

    def by_its_tables(self, named: dict[str, Zone]) -> AbstractContextManager[None]:
        """Let what is read inside of the block mean the zones that this file means.

        Args:
            named: takes the zones that are named there.
        """
        return by_tables({**self.zone_tables, **self._named}, named)

    @property
    def zones(self) -> Mapping[str, Zone]:
        """The zones that it names, with the tables by which it was read."""
        return {name: self._named[name] for name in sorted(self._named)}

    @property
    def output(self) -> str:
        """The name of the folder or schema that rows go to; by default the pipeline's own."""
        return self.destination.name

    @property
    def destination(self) -> Sink:
        """Where the rows go; by default, tables of the pipeline's own name."""
        return self.sink or Sink("table", self.name)

    def table_of(self, query: str) -> str:
        """Return the name of the table that has the rows of a query, or of the join."""
        return self.destination.table_of(query)


def _readable(data: Any) -> dict[str, Zone]:
    """Return the zones of a document whose tables can be read; of others its field tells."""
    found = dict[str, Zone]()
    written = data.get("zones") if isinstance(data, dict) else None
    for name, spelled in written.items() if isinstance(written, dict) else ():
        with suppress(ValueError):
            found[name] = read_table(name, spelled)
    return found
