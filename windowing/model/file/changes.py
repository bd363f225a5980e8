"""Changes of a pipeline's queries that are written in its log, as control records.

    {"queries": {"add": {NAME: {window: …, aggregates: …, from: µs}}}}
    {"queries": {"remove": {NAME: µs}}}

A change is written into every lane, and each lane knows it from its own copy on. What a log makes
of a file is a file again: a query that was added has `joined`, one that was removed `left`, with
the offset of the copy in each lane that took it (`adr/0040`). Whoever may write to a topic can
write such records, so what they say is judged by `allowed` and by the lane's own past, and never by
what another lane has said before (`adr/0055`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, Final, Literal

import msgspec

from windowing.model.file.allowed import asks_too_much, names_too_much
from windowing.model.file.conflicts import (
    Conflict,
    Place,
    of_lanes,
    own_copy,
    spelled,
    with_copy,
)
from windowing.model.file.pipeline import Pipeline, parse_pipeline
from windowing.model.file.yaml_lines import load_with_lines, spell
from windowing.model.lengths import INT64_MAX, INT64_MIN
from windowing.model.query import Query
from windowing.model.windows.activity import parse_moment

_JOINED: Final = "joined"
_OF_THE_LOG: Final = frozenset({_JOINED, "left", "later", "until"})

ChangeRefusal = Literal["malformed", "not_allowed"]
"""Why a lane does not take a copy that comes in time."""


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
    """A lane's copy of a change."""

    lane: str
    offset: int
    change: Change


_Scalar = str | int | float | bool | None
_Value = dict[str, dict[str, _Scalar] | _Scalar] | list[_Scalar] | _Scalar
_CHANGE: Final = msgspec.json.Decoder(dict[str, dict[str, dict[str, dict[str, _Value] | _Scalar]]])


def read_change(body: bytes) -> Change | None:
    """Return the change that a control record's JSON asks for; None: it is none.

    It is decoded no deeper than a change is: clauses of a window are the deepest.
    """
    try:
        return parse_change(_CHANGE.decode(body.decode()))
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


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
        if not {*query}.isdisjoint({_JOINED, "left", "later"}):
            return None
    return Change(added, removed)


def _is_instant(value: object) -> bool:
    return type(value) is int and INT64_MIN <= value <= INT64_MAX


def refused_copies(conflicts: Mapping[str, Conflict]) -> dict[Place, Place]:
    """Return the copies that are known and refused: one of a lower lane says otherwise.

    Returns:
        By the place of each, that of the copy with which this was settled: itself, or a later one.
    """
    return {
        (lane, own.at): own.refused_at
        for conflict in conflicts.values()
        for lane, own in conflict.items()
        if own.refused_at is not None
    }


def changed(pipeline: Pipeline, copy: Copy) -> Pipeline | ChangeRefusal:
    """Return a pipeline as it is once a lane has taken its copy of a change, or why it does not.

    What is refused is `not_allowed` if it says more than `source.control` permits, and `malformed`
    if it adds what no file could have, a name that the file or the lane has, or removes what the
    lane does not know. Neither imports anything.

    Args:
        pipeline: as all lanes' copies so far have made it.
        copy: one in its lane, which is not too late; those behind it do not matter.
    """
    added = copy.change.added
    if not pipeline.query_files:
        return "malformed"
    if names_too_much(pipeline, copy.lane, copy.offset, added):
        return "not_allowed"
    if {*pipeline.forgotten} & {*added, *copy.change.removed}:
        return "not_allowed"
    draft = _Draft(pipeline, copy)
    if any(map(draft.is_taken, added)):
        return "malformed"
    try:
        queries = {name: pipeline.resolved(name, query) for name, query in added.items()}
        # Before what else may be wrong: later copies in this lane, known or not, change nothing.
        if asks_too_much(pipeline, copy.lane, copy.offset, queries.values()):
            return "not_allowed"
        for name, query in queries.items():
            draft.add(name, query)
        for name, until_us in copy.change.removed.items():
            draft.remove(name, until_us)
        # What is written into a run's file has to be read again.
        load_with_lines(spell({"queries": {**added}}), "a change")
        return pipeline.with_document(draft.document, draft.touched)
    except ValueError:
        return "malformed"


def as_written(pipeline: Pipeline) -> Pipeline:
    """Return a pipeline as its file was: without what a log, and `forget`, have made of it."""
    if not pipeline.log_places and not pipeline.forgotten:
        return pipeline
    document = {**deepcopy(pipeline.document)}
    queries = document.get("queries") or {}
    document["queries"] = {
        name: {key: query[key] for key in query if "left" not in query or key not in _OF_THE_LOG}
        for name, query in queries.items()
        if _JOINED not in query
    }
    document.pop("conflicts", None)
    document.pop("forgotten", None)
    return parse_pipeline(spell(document))


def with_control(pipeline: Pipeline, other: Pipeline) -> Pipeline:
    """Return a pipeline that believes the control records that another version of it believes."""
    document = deepcopy({**pipeline.document})
    written = other.document["source"].get("control")
    document["source"].pop("control", None)
    if written is not None:
        document["source"]["control"] = written
    return parse_pipeline(spell(document))


def forgetting(pipeline: Pipeline, names: Iterable[str]) -> Pipeline:
    """Return a pipeline that believes no change of queries of these names; none is its own."""
    document = deepcopy({**pipeline.document})
    document["forgotten"] = sorted({*pipeline.forgotten, *names})
    return parse_pipeline(spell(document))


class _Draft:
    """A pipeline's document while a copy of a change is written into it.

    Args:
        pipeline: as all copies before have made it.

    Attributes:
        touched: the queries that are others now.
    """

    def __init__(self, pipeline: Pipeline, copy: Copy) -> None:
        self._pipeline, self._copy = pipeline, copy
        self._queries: dict[str, Any] = dict(pipeline.document.get("queries") or {})
        self._conflicts: dict[str, Conflict] = dict(pipeline.conflicts)
        self.touched: set[str] = set()

    @property
    def document(self) -> dict[str, Any]:
        """The whole document, which shares with the pipeline's all that is not changed."""
        document = {**self._pipeline.document, "queries": self._queries}
        if self._conflicts:
            document["conflicts"] = {
                name: {
                    lane: own.model_dump(mode="json", exclude_defaults=True)
                    for lane, own in of_lanes(conflict, self._pipeline.source)
                }
                for name, conflict in sorted(self._conflicts.items())
            }
        return document

    def is_taken(self, name: str) -> bool:
        """Whether the file has a query of a name, or the lane has added one before the copy."""
        lane, at, known = self._copy.lane, self._copy.offset, self._queries.get(name)
        if known is not None:
            return _JOINED not in known or known[_JOINED].get(lane, at) < at
        own = self._conflicts.get(name, {}).get(lane)
        return own is not None and own.at < at

    def add(self, name: str, query: Query) -> None:
        """Let the lane take a query, whose name is not taken.

        Raises:
            ValueError: the lane takes another copy, further on.
        """
        lane, at = self._copy.lane, self._copy.offset
        written = self._copy.change.added[name]
        known, conflict = self._queries.get(name), self._conflicts.get(name)
        if lane in (conflict or {}) or lane in (known or {}).get(_JOINED, {}):
            raise ValueError(name)
        if known is not None and spelled(_as_added(known)) != spelled(written):
            conflict = self._of_query(name)
            del self._queries[name]
        if conflict is None:
            before = {} if known is None else known[_JOINED]
            self._queries[name] = {**(known or written), _JOINED: {**before, lane: at}}
            self.touched.add(name)
            return
        own, refused = own_copy(at, written, query), refused_copies(self._conflicts)
        self._conflicts[name] = with_copy(conflict, lane, own, self._pipeline.source, refused)

    def _of_query(self, name: str) -> Conflict:
        """Return the copies of a query, which are all the same, as those of a conflict."""
        written = self._queries[name]
        query = next(one for one in self._pipeline.of(Query) if one.name == name)
        own, left = own_copy(0, _as_added(written), query), written.get("left", {})
        return {
            lane: own.model_copy(update={"at": offset, "left": left.get(lane)})
            for lane, offset in written[_JOINED].items()
        }

    def remove(self, name: str, until_us: int) -> None:
        """Let the lane know when a query ends.

        Raises:
            ValueError: the lane does not know the query, or knows when it ends.
        """
        lane, at, known = self._copy.lane, self._copy.offset, self._queries.get(name)
        if (conflict := self._conflicts.get(name)) is not None:
            own = conflict.get(lane)
            if own is None or own.at > at or own.left is not None or own.ends:
                raise ValueError(name)
            if parse_moment(until_us) < own.least_us:
                raise ValueError(name)
            gone = own.model_copy(update={"left": at})
            self._conflicts[name] = {**conflict, lane: gone}
            return
        if known is None or (_JOINED in known and known[_JOINED].get(lane, at) >= at):
            raise ValueError(name)
        left = known.get("left", {})
        if lane in left or ("until" in known and not left):
            raise ValueError(name)
        self._queries[name] = {**known, **_ends(known, left, until_us, self._copy)}
        self.touched.add(name)


def _ends(
    known: Mapping[str, Any], left: Mapping[str, int], until_us: int, copy: Copy
) -> dict[str, Any]:
    """Return when a query ends once a lane has said so: at the earliest instant of any lane.

    A lane goes by its own copy for what becomes of its records.
    """
    before_us, later = known.get("until"), dict(known.get("later", {}))
    if before_us is not None and until_us < before_us:
        later = {**dict.fromkeys(left, before_us), **later}
    elif before_us is not None and until_us > before_us:
        later[copy.lane] = until_us
    ends: dict[str, Any] = {
        "until": until_us if before_us is None else min(until_us, before_us),
        "left": {**left, copy.lane: copy.offset},
    }
    return {**ends, "later": later} if later else ends


def _as_added(known: Mapping[str, Any]) -> dict[str, Any]:
    """Return a query as it was added: without what the log has made of it since."""
    kept = _OF_THE_LOG if "left" in known else _OF_THE_LOG - {"until"}
    return {key: value for key, value in known.items() if key not in kept}
