"""A file of queries that a running pipeline is to have in addition."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from windowing.model.errors import PipelineError, Problem
from windowing.model.event_time import SpecModel
from windowing.model.file.documents import parse_document, read_text
from windowing.model.file.pipeline import Pipeline
from windowing.model.file.queries import resolve_each
from windowing.model.file.query_file import QueryFile
from windowing.model.file.yaml_lines import line_of, load
from windowing.model.names import QueryName


class _QueriesFile(SpecModel):
    queries: dict[QueryName, QueryFile]


def read_asked(path: Path, pipeline: Pipeline) -> dict[str, dict[str, Any]]:
    """Read queries that a pipeline is to have in addition, each with a `from`.

    Args:
        path: the file; a pipeline file will do, if all but the new queries are the pipeline's.

    Returns:
        Each query as a control record spells it: as in the file, with instants in microseconds.

    Raises:
        PipelineError: the file is missing, or breaks a rule of pipeline files.
    """
    text, file = read_text(path), str(path)
    shape = "a file of queries is a mapping that begins with queries:"
    asked, lines = parse_document(text, file, _QueriesFile, shape=shape, prepare=_only_queries)
    known = {flow.name for flow in pipeline.flows}
    new = {name: query for name, query in asked.queries.items() if name not in known}
    found = [*resolve_each(pipeline, new)]
    for name, query in new.items():
        if query.begins_us is None:
            rule = "a query that joins needs a from beyond all that the run has read"
            found.append((("queries", name), f"{rule}, as from: 2013-01-02T00:00Z"))
    if not new:
        names = ", ".join(sorted(known))
        found.append((("queries",), f"there is no new one: the run has {names}; use another name"))
    if found:
        problems = [
            Problem(file, line_of(place, lines), ".".join(map(str, place)), said)
            for place, said in found
        ]
        raise PipelineError(problems)
    written = load(text)["queries"]
    return {name: _spelled(written[name], query) for name, query in new.items()}


def _only_queries(document: dict[str, Any]) -> dict[str, Any]:
    whole = "source" in document
    return {"queries": document.get("queries", {})} if whole else document


def _spelled(written: dict[str, Any], query: QueryFile) -> dict[str, Any]:
    instants = {"from": query.begins_us, "until": query.until_us}
    return {**written, **{name: us for name, us in instants.items() if us is not None}}
