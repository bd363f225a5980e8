"""The same cases with other names for their fields: those of columns, and whatever is text."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

import yaml

from tests.strategies.cases import Case, Event
from windowing.engine import columns
from windowing.model.paths import spelled

ENGINE = tuple(
    name for constant, name in vars(columns).items() if constant.isupper() and constant[0] != "_"
)
"""What the engine calls its own columns."""

# Names that a window may have (PATTR, WATTR).
PLAIN = (
    *ENGINE,
    *("reason", "bin", "binary", "number", "value", "row", "unit", "node", "epoch", "count", "of"),
    *("run", "query", "pane", "op", "batch_id", "lag_us", "left", "right", "rank", "all"),
    *("progress", "furthest", "moved", "previous", "appears", "literal", "len", "reach", "place"),
    *("row_number", "until", "shown", "records_", "_time", "_0", "b001", "s000", "x.b001"),
)
# Names that only `group_by` and aggregates can have.
STRANGE = (
    *("k#b001", "k#s002", "#n", "#value", "k#n", "k#min", "k#max", "k#hi", "k#q0", "x#values"),
    *("=k", "==", "=x#b001", "\\=k", "\\", "#", "a b", "a.b", 'a"b', "a'b", "é😀", "^.*$", "*"),
    *("left.v", "right:at", "a per b", "x:b001", "null", "k\nl", "{k}", "a;b", "%", "a$", "K"),
    *("v#b000", "w#b000", "x#b000", "g#b000", "h#earliest", "-", "first#min", "last#max"),
)
# What the engine, the sinks and SQL call things: aggregates and fields may be called so, too.
TAKEN = (
    *("window_start", "window_end", "offsets", "retracts", "values", "op", "run", "select"),
    *("key", "records", "=g", "=ts", "v#n", "v#hi", "x#b017", "g#values", "#n", "@", "a@b", "a.b"),
    *("window id", "ключ", "窗口", "i\u0307", "key ", " key", "user", "group", "from", "__class__"),
)


def renamed(case: Case, names: Mapping[str, str]) -> Case:
    """A case in which fields have other names, wherever file and log speak of them.

    Conditions on rows are left out.

    Args:
        case: as `cases` draws it.
        names: per field that is called otherwise, the new name; two never get the same.
    """
    document = yaml.safe_load(case.pipeline)
    source = document["source"]
    written = {name: declared(called) for name, called in names.items()}
    keys, names = names, written
    source["fields"] = {names.get(name, name): type_ for name, type_ in source["fields"].items()}
    source["event_time"]["field"] = names.get("ts", "ts")
    source["disorder"] = attributes(source["disorder"], names)
    if "duplicates" in source:
        by = source["duplicates"]["by"]
        source["duplicates"]["by"] = [names.get(name, name) for name in by]
    for joined in source.get("joined", {}).values():
        joined["at"] = _by_field(joined["at"], names)
    if "disorder_of" in source:
        found = {field: attributes(one, names) for field, one in source["disorder_of"].items()}
        source["disorder_of"] = _by_field(found, names)
    for query in document["queries"].values():
        query["group_by"] = [names.get(name, name) for name in query["group_by"]]
        query["window"] = _window(query["window"], names)
        query["aggregates"] = {
            name: _call(text, names) for name, text in query["aggregates"].items()
        }
        query.pop("having", None)
    text = yaml.safe_dump(document, sort_keys=False, allow_unicode=True)
    lanes = (tuple(_event(event, keys, names) for event in lane) for lane in case.lanes)
    return Case(text, tuple(lanes))


def declared(key: str) -> str:
    """Return how a file names a member of values that is called so."""
    return spelled((key,))


def with_aggregates_called(case: Case, names: Sequence[str]) -> Case:
    """A case whose queries call their aggregates by these names, as far as they need some."""
    document = yaml.safe_load(case.pipeline)
    for query in document["queries"].values():
        called = dict(zip(names, query["aggregates"].values(), strict=False))
        query["aggregates"] = called
        query.pop("having", None)
    return Case(yaml.safe_dump(document, sort_keys=False, allow_unicode=True), case.lanes)


def _by_field(mapping: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    return {names.get(field, field): value for field, value in mapping.items()}


def _window(window: Any, names: Mapping[str, str]) -> Any:
    if isinstance(window, dict):
        fields = {clause: window[clause] for clause in ("wattr", "pattr") if clause in window}
        return window | {clause: names.get(name, name) for clause, name in fields.items()}
    return re.sub(
        r"(?<=[A-Z(] )(\w+)|(?<=rank\()\w+", lambda found: names.get(found[0], found[0]), window
    )


def attributes(disorder: Any, names: Mapping[str, str]) -> Any:
    """A generator in which fields have other names."""
    if not isinstance(disorder, dict):
        return disorder
    changed = json.loads(json.dumps(disorder))
    for kind in ("ordered_per", "punctuation"):
        if isinstance(changed.get(kind), dict):
            changed[kind]["attr"] = names.get(changed[kind]["attr"], changed[kind]["attr"])
        elif kind in changed:
            changed[kind] = names.get(changed[kind], changed[kind])
    return changed


def _call(text: str, names: Mapping[str, str]) -> str:
    function, mark, given = text.partition("(")
    fields = [part.strip() for part in given.removesuffix(")").split(",")]
    return function + mark + ", ".join(names.get(f, f) for f in fields) + (")" if mark else "")


def _event(event: Event, keys: Mapping[str, str], names: Mapping[str, str]) -> Event:
    changed = dict(event)
    if "value" in event:
        changed["value"] = {keys.get(name, name): item for name, item in event["value"].items()}
    control = event.get("control")
    if isinstance(control, dict) and isinstance(control.get("on"), dict):
        on = {names.get(name, name): item for name, item in event["control"]["on"].items()}
        changed["control"] = {**event["control"], "on": on}
    return changed
