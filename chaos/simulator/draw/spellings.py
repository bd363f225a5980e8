"""Draw how times are spelled, and which fields are inside of others.

All of it is drawn apart from the rest of a case, which is as without it.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from windowing.model.paths import parse_path
from windowing.model.source import Source

# Fields of any topic, and where they can be instead.
_INSIDE: Final = {"v": "o.v", "w": "o.in[1].w", "x": "o.x", "h": 'o."h.h"', "g": "q[0].g"}
_ARGUMENTS = re.compile(r"(?<=[(,\s])[a-z](?=[),\s])")


def respell(document: dict[str, Any]) -> None:
    """Draw other spellings of the times and names of fields of a pipeline, rarely."""
    rng = random.Random(repr(document))
    for source in _sources(document):
        time = source["event_time"]
        if time["unit"] in ("us", "ms", "s") and rng.random() < 0.2:
            time |= rng.choice(
                [{"unit": "ns"}, {"unit": "ms", "fraction": True}, {"unit": "s", "fraction": True}]
            )
    if "queries" in document and rng.random() < 0.25:
        for name in rng.sample([*_INSIDE], rng.randint(1, 3)):
            _move_inside(document, name, _INSIDE[name])


def _sources(document: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    sides = document.get("join", {})
    yield from (sides[side]["source"] for side in ("left", "right") if side in sides)
    if "source" in document:
        yield document["source"]


def _move_inside(document: dict[str, Any], name: str, path: str) -> None:
    """Move a field inside of others, if only keys and arguments of aggregates name it."""
    changed = json.loads(json.dumps(document))
    source, queries = changed["source"], changed["queries"].values()
    if name not in source["fields"]:
        return
    named = {name: path}
    source["fields"] = {named.get(one, one): type_ for one, type_ in source["fields"].items()}
    for query in queries:
        if "group_by" in query:
            query["group_by"] = [named.get(one, one) for one in query["group_by"]]
        aggregates = query.get("aggregates", {})
        for one, text in aggregates.items():
            aggregates[one] = _ARGUMENTS.sub(lambda found: named.get(found[0], found[0]), text)
    elsewhere = json.dumps(changed).replace(json.dumps(path)[1:-1], "")
    if not re.search(rf"(?<![\w.]){name}(?!\w)", elsewhere):
        document |= changed


def nested(value: dict[str, Any], source: Source, *, spoilt: bool) -> dict[str, Any]:
    """Return a value whose fields are where their paths lead, if nothing is null on the way.

    If `spoilt`, another thing may be on the way, too.
    """
    paths = {name: path for name in source.declared if len(path := parse_path(name)) > 1}
    if not paths:
        return value
    own = random.Random(repr(value))
    found = {name: item for name, item in value.items() if name not in paths}
    for name, path in paths.items():
        if name in value:
            _put(found, path, value[name])
    outer = {str(path[0]) for path in paths.values()}
    for key in sorted(outer):
        inside = [source.fields[name] for name, path in paths.items() if path[0] == key]
        if own.random() < 0.2 and all(type_.nullable for type_ in inside):
            found[key] = None
        elif spoilt and own.random() < 0.05:
            found[key] = own.choice([5, {}, [], "o"])
    return found


def _put(value: dict[str, Any], path: tuple[str | int, ...], item: Any) -> None:
    inside: Any = value
    for place, step in enumerate(path):
        last = place == len(path) - 1
        fresh: Any = item if last else [] if isinstance(path[place + 1], int) else {}
        if isinstance(step, str):
            if last:
                inside[step] = item
            inside = inside.setdefault(step, fresh)
            continue
        inside += [None] * (step + 1 - len(inside))
        if last or inside[step] is None:
            inside[step] = fresh
        inside = inside[step]
