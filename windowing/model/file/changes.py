"""Changes of a pipeline's queries that are written in its log, as control records.

    {"queries": {"add": {NAME: {window: …, aggregates: …, from: µs}}}}
    {"queries": {"remove": {NAME: µs}}}

A change is written into every lane, and each lane knows it from its own copy on. What a log makes
of a file is a file again: a query that was added has `joined`, one that was removed `left`, with
the offset of the copy in each lane that took it (`adr/0040`).
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, Final

import yaml

from windowing.model.errors import PipelineError
from windowing.model.file.pipeline import Pipeline, parse_pipeline
from windowing.model.lengths import INT64_MAX, INT64_MIN
from windowing.model.run_errors import ConflictingChanges

_JOINED: Final = "joined"
_OF_THE_LOG: Final = frozenset({_JOINED, "left", "until"})


@dataclass(frozen=True)
class Change:
    """A change of the queries.

    Attributes:
        added: each query as in a file, with `from` in microseconds.
        removed: when each query's last window ends at the latest, microseconds.
    """

    added: Mapping[str, Mapping[str, Any]]
    removed: Mapping[str, int]


@dataclass(frozen=True)
class Copy:
    """A lane's copy of a change.

    Attributes:
        lane: the name of the lane.
        offset: its place there.
        change: what it says.
    """

    lane: str
    offset: int
    change: Change


def parse_change(parsed: Mapping[str, Any]) -> Change | None:
    """Return the change that a control record's JSON asks for; None: it is of another shape."""
    said = parsed.get("queries")
    if {*parsed} != {"queries"} or not isinstance(said, dict) or not said:
        return None
    added, removed = said.get("add", {}), said.get("remove", {})
    legal = {*said} <= {"add", "remove"} and isinstance(added, dict) and isinstance(removed, dict)
    if not legal or not (added or removed) or {*added} & {*removed}:
        return None
    if not all(_is_instant(until_us) for until_us in removed.values()):
        return None
    for query in added.values():
        if not isinstance(query, dict) or not _is_instant(query.get("from")):
            return None
        if not {*query}.isdisjoint({_JOINED, "left"}):
            return None
    return Change(added, removed)


def _is_instant(value: object) -> bool:
    return type(value) is int and INT64_MIN <= value <= INT64_MAX


def places(pipeline: Pipeline) -> frozenset[tuple[str, int]]:
    """Return lane and offset of each copy of a change by which a pipeline is what it is."""
    active = [query.window.active for query in pipeline.queries]
    return frozenset(
        place
        for one in active
        if one is not None
        for place in (*(one.joined or ()), *(one.left or ()))
    )


def knows(pipeline: Pipeline, lane: str, offset: int) -> bool:
    """Return whether a pipeline is what it is by the copy of a change at this place, too."""
    return (lane, offset) in places(pipeline)


def changed(pipeline: Pipeline, copy: Copy) -> Pipeline | None:
    """Return a pipeline as it is once a lane has taken its copy of a change.

    Args:
        pipeline: as all lanes' copies so far have made it.
        copy: one in its lane, which is not too late; those behind it do not matter.

    Returns:
        None: there can be no such change: a query is no query of such a file, has the name of
        another one, or is not there.

    Raises:
        ConflictingChanges: another lane has another query of this name, or another `until`.
    """
    document = deepcopy(yaml.safe_load(pipeline.text))
    queries = document.setdefault("queries", {})
    for name, query in copy.change.added.items():
        if not _add(queries, name, query, copy):
            return None
    for name, until_us in copy.change.removed.items():
        if not _remove(queries, name, until_us, copy):
            return None
    try:
        return parse_pipeline(yaml.safe_dump(document, sort_keys=False, allow_unicode=True))
    except PipelineError:
        return None


def as_written(pipeline: Pipeline) -> Pipeline:
    """Return a pipeline as its file was, without the changes that a log has made."""
    document = deepcopy(yaml.safe_load(pipeline.text))
    queries = document.get("queries") or {}
    document["queries"] = {
        name: {key: query[key] for key in query if "left" not in query or key not in _OF_THE_LOG}
        for name, query in queries.items()
        if _JOINED not in query
    }
    if not places(pipeline):
        return pipeline
    return parse_pipeline(yaml.safe_dump(document, sort_keys=False, allow_unicode=True))


def _add(queries: dict[str, Any], name: str, query: Mapping[str, Any], copy: Copy) -> bool:
    known = queries.get(name)
    if known is None:
        queries[name] = {**query, _JOINED: {copy.lane: copy.offset}}
        return True
    if _JOINED not in known or _came_before(copy, known[_JOINED]):
        return False
    if _as_added(known, query) != {**query}:
        msg = f"query {name} is added in two ways: {_places(known[_JOINED])}, and otherwise at "
        raise ConflictingChanges(f"{msg}{copy.lane} offset {copy.offset}: {_WAY_OUT}")
    known[_JOINED][copy.lane] = copy.offset
    return True


def _as_added(known: Mapping[str, Any], query: Mapping[str, Any]) -> dict[str, Any]:
    """Return a query as it was added: without what the log has made of it since."""
    own = {key: value for key, value in known.items() if key not in _OF_THE_LOG}
    left = "left" in known and "until" not in query
    return own if left or "until" not in known else {**own, "until": known["until"]}


def _remove(queries: dict[str, Any], name: str, until_us: int, copy: Copy) -> bool:
    known = queries.get(name)
    if known is None or not (_JOINED not in known or _came_before(copy, known[_JOINED])):
        return False
    if "left" not in known:
        if "until" in known:
            return False
        known |= {"until": until_us, "left": {copy.lane: copy.offset}}
        return True
    if _came_before(copy, known["left"]):
        return False
    if known["until"] != until_us:
        msg = f"query {name} is removed at two times: {_places(known['left'])}, and otherwise at "
        raise ConflictingChanges(f"{msg}{copy.lane} offset {copy.offset}: {_WAY_OUT}")
    known["left"][copy.lane] = copy.offset
    return True


def _came_before(copy: Copy, lanes: Mapping[str, int]) -> bool:
    """Return whether a lane has taken its copy of another change before this one."""
    return copy.lane in lanes and lanes[copy.lane] < copy.offset


def _places(lanes: Mapping[str, int]) -> str:
    return ", ".join(f"{lane} offset {offset}" for lane, offset in lanes.items())


_WAY_OUT: Final = (
    "a change is the same in every lane; `slackwater queries` writes it so. Begin a new run behind "
    "these records, with the queries in its file"
)
