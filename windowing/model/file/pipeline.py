"""The pipeline file: one YAML document, validated as a whole, frozen.

Every mistake is reported with file, line, field, rule and example; all mistakes at once. The names
are those of the file; times are integer microseconds, with the unit in the name.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import cached_property
from pathlib import Path as FilePath
from typing import Any, Self, TypeVar

from pydantic import PrivateAttr, TypeAdapter

from windowing.model.errors import PipelineError, Problem
from windowing.model.event_time import EventTime
from windowing.model.file.conflicts import Conflict, Place
from windowing.model.file.declared import Declared
from windowing.model.file.documents import parse_document, read_text
from windowing.model.file.every_mistake import besides, of_queries
from windowing.model.file.layout import LayoutError, check_one_table
from windowing.model.file.queries import FieldError, resolve_join, resolve_query
from windowing.model.file.query_file import QueryFile
from windowing.model.file.yaml_lines import (
    LIMITS,
    RUN_LIMITS,
    Limits,
    line_of,
    load,
    load_with_lines,
    spell,
)
from windowing.model.fingerprint import OfTheLog, fingerprint
from windowing.model.limits import EARLIEST, reach_back
from windowing.model.names import QueryName
from windowing.model.query import Flow, Query
from windowing.model.sinks import Sink
from windowing.model.source import Source
from windowing.model.windows.window import ROW_NUM, Window
from windowing.model.zones import Zone, utc

F = TypeVar("F", bound=Flow)

__all__ = ["EventTime", "Pipeline", "Query", "Sink", "Source", "load_pipeline", "parse_pipeline"]


class Pipeline(Declared):
    """A pipeline: what its file declares, with all queries resolved and all rules checked."""

    _text: str | None = PrivateAttr(default="")
    _document: Any = PrivateAttr(default=None)

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
            self._document = load(self.text)
        found: Mapping[str, Any] = self._document
        return found

    def resolved(self, name: str, written: Mapping[str, Any]) -> Query:
        """Return a query with windows that the pipeline could have in addition, or in place of one.

        It is written as under `queries`.

        Raises:
            ValueError: it breaks a rule.
        """
        return self._read(name, written, {})

    def _read(self, name: str, written: Mapping[str, Any], zones: dict[str, Zone]) -> Query:
        with self.by_its_tables(zones):
            file = _NAMED_QUERY.validate_python({name: written})[name]
            self._nonempty({name: file})
            query = resolve_query(self, name, file)
        assert isinstance(query, Query)  # noqa: S101 - by the kind of file
        return query

    def with_document(self, document: Mapping[str, Any], touched: Collection[str]) -> Self:
        """Return the pipeline of a document in which only queries and conflicts are others.

        Args:
            touched: the names of its queries that this pipeline has not, or has otherwise.

        Raises:
            ValueError: a query breaks a rule.
        """
        known = {flow.name: flow for flow in self.flows}
        files, flows, zones = dict[str, Any](), list[Flow](), dict(self._named)
        for name, written in document["queries"].items():
            if name in touched:
                with self.by_its_tables(zones):
                    files[name] = QueryFile.model_validate(written)
                flows.append(self._read(name, written, zones))
            else:
                files[name] = self.query_files[name]
                flows.append(known[name])
        if self.destination.layout == "one":
            check_one_table(flows, self.source.fields)
        conflicts = _CONFLICTS.validate_python(document.get("conflicts", {}))
        update = {"query_files": files, "conflicts": conflicts}
        if {*zones} > {*self._named}:
            update["zone_tables"] = tables = _lasting({**zones, **self.zone_tables})
            document = {**document, "zones": _spelled(tables)}
        after = self.model_copy(update=update)
        for name in ("flows", "tables", "fingerprint", "earlier", "log_places"):
            after.__dict__.pop(name, None)
        after.__dict__["flows"] = tuple(flows)
        after._text, after._document, after._named = None, document, zones
        return after

    def keeping_zones(self, kept: Mapping[str, Zone] | None = None) -> Pipeline:
        """Return the pipeline with the tables of its zones in its text, as runs have it.

        Args:
            kept: tables to go by; of other zones it keeps those that it was read by.
        """
        tables = _lasting({**self._named, **self.zone_tables, **(kept or {})})
        if tables == self.zone_tables:
            return self
        document = {**self.document, "zones": _spelled(tables)}
        text = f"{self.text.rstrip()}\n{spell({'zones': document['zones']})}"
        try:
            is_read_so = "zones" not in self.document and load(text) == document
        except PipelineError:
            is_read_so = False
        # Where it can, it keeps its comments and its lines.
        return parse_pipeline(text if is_read_so else spell(document))

    @cached_property
    def tables(self) -> dict[str, tuple[Flow, ...]]:
        """The flows whose rows are in each table of results, by its name."""
        found: dict[str, list[Flow]] = {}
        for flow in self.flows:
            found.setdefault(self.table_of(flow.name), []).append(flow)
        return {name: tuple(flows) for name, flows in found.items()}

    @cached_property
    def flows(self) -> tuple[Flow, ...]:
        """All that it computes: its queries in the order of the file, or its join; validated."""
        with self.by_its_tables(self._named):
            return self._resolved()

    def _resolved(self) -> tuple[Flow, ...]:
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
        """The fingerprints before lanes were added, each with the number of lanes at the time."""
        numbers = range(self.source.founding, self.source.partitions)
        return {
            fingerprint(source, self.shards, self.flows, self._of_the_log): source.partitions
            for source in map(self.source.as_of, numbers)
        }

    def wrote(self, found: str) -> bool:
        """Whether a fingerprint is this pipeline's, now or before lanes were added."""
        return found == self.fingerprint or found in self.earlier

    @property
    def earliest(self) -> int:
        """The earliest time, or attribute value, whose windows its sink can hold."""
        earliest = self.destination.rules.earliest
        if earliest is None:
            return EARLIEST
        extents = (flow.extents_in for flow in self.flows)
        return earliest + max((reach_back(one) for one in extents if one is not None), default=0)

    @property
    def placed_by(self) -> frozenset[str]:
        """The windowing attributes other than event time and row number."""
        attributes = {window.attribute for window in self.windows}
        source = self.source
        return frozenset(attributes & set(source.fields)) - {source.event_time.field, ROW_NUM}

    def key_fields(self, number: int) -> frozenset[str]:
        """The fields of a lane's records that some row's key is made of.

        Queries that begin later are left out: what is wrong with a value does not depend on them.
        """
        source, _ = self.source.place(number)
        keys = [flow.record_key(source.topic) for flow in self.flows if not flow.begins_later]
        return frozenset(field for key in keys for field in key)


def _lasting(zones: Mapping[str, Zone]) -> dict[str, Zone]:
    """Return the zones whose tables can ever be others."""
    return {name: zone for name, zone in sorted(zones.items()) if zone != utc()}


def _spelled(tables: Mapping[str, Zone]) -> dict[str, str]:
    return {name: zone.spelled for name, zone in tables.items()}


_NAMED_QUERY = TypeAdapter(dict[QueryName, QueryFile], config={"defer_build": True})
_CONFLICTS = TypeAdapter(dict[QueryName, Conflict], config={"defer_build": True})


def parse_pipeline(text: str, file: str = "<pipeline>", limits: Limits = RUN_LIMITS) -> Pipeline:
    """Parse a pipeline from YAML text.

    Args:
        file: its name, for messages.
        limits: how large it may be; of what is in memory already, that was asked when it was read.

    Raises:
        PipelineError: with all problems found.
    """
    shape = "a pipeline file is a mapping that begins with name: and source:"
    try:
        pipeline, lines = parse_document(text, file, Pipeline, shape=shape, limits=limits)
    except PipelineError as error:
        try:
            document, lines = load_with_lines(text, file, limits)
        except PipelineError:
            raise error from None
        more = besides(Pipeline, document, file, lines)
        problems = sorted([*error.problems, *more], key=lambda problem: problem.line)
        raise PipelineError(problems) from None
    pipeline._text = text
    try:
        pipeline.flows  # noqa: B018 - resolved here, so that mistakes surface now
    except FieldError as error:
        dotted = ".".join(map(str, error.path))
        problem = Problem(file, line_of(error.path, lines), dotted, str(error))
        raise PipelineError(of_queries(pipeline, file, lines) or [problem]) from None
    return pipeline


def load_pipeline(path: str | FilePath, limits: Limits = LIMITS) -> Pipeline:
    """Read a pipeline file, unless it is larger than the limits.

    Raises:
        PipelineError: the file is missing, unreadable, or breaks a rule.
    """
    return parse_pipeline(read_text(path, limits), str(path), limits)
