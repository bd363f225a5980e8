"""Draw pipelines as most are: windows of one topic, and queries that are much alike.

Chunks of most can be read apart (the fused plan), and queries with sliding windows can share
slices; of windows drawn one by one, hardly any pipeline can do either.
"""

from __future__ import annotations

import random
from copy import deepcopy
from typing import Any, Final

from chaos.simulator.draw.clock import Clock, draw_clock, draw_event_time
from chaos.simulator.draw.duplicates import draw_duplicates
from chaos.simulator.draw.generators import draw_memoryless
from chaos.simulator.draw.queries import (
    COME_AND_GO,
    draw_activity,
    draw_aggregates,
    draw_early,
    draw_fields,
    draw_groups,
    draw_late,
    draw_retention,
)
from chaos.simulator.draw.windows import draw_alike, draw_window
from chaos.simulator.draw.wish import LOCAL, Wish

KINDS: Final = ("sliding", "keyed sliding", "landmark", "session", "cumulate", *sorted(LOCAL))
"""The classes of their windows."""

_QUERIES: Final = (1, 2, 2, 3, 3, 4)
_TWINS: Final = 0.1
"""How often two queries have the same rows, except for their names."""
_PLAIN: Final = 0.75
"""How often all aggregates are numbers: states of others are not looked up together."""


def draw_usual(rng: random.Random, kind: str, topic: str, wish: Wish) -> dict[str, Any]:
    """Draw the document of a pipeline."""
    clock, lanes = draw_clock(rng, local=kind in LOCAL), rng.choice([1, 1, 2, 2, 3])
    names = [f"{topic}/{lane}" for lane in range(lanes)]
    source: dict[str, Any] = {
        "topic": topic,
        "partitions": lanes,
        "format": "json",
        "event_time": draw_event_time(rng, clock, bounded=kind == "landmark"),
        "fields": draw_fields(rng),
        "disorder": draw_memoryless(rng, names, clock),
    }
    if wish.wide and lanes > 1 and rng.random() < 0.36:
        at = {"ts": rng.randint(-3, 20) * clock.tick_us}
        source["joined"] = {names[-1]: {"lane": lanes - 1, "at": at}}
    every = clock.us(rng.choice([1, 1, 2, 3, 5, 7]))
    late = draw_late(rng, every, consistent=kind != "landmark")
    if rng.random() < 0.7:
        late["mode"] = "generous"
    document: dict[str, Any] = {"name": "simulated", "source": source, "late": late}
    document["retention"] = draw_retention(rng, clock.us, wish, windows=False)
    if wish.wide and rng.random() < 0.2:
        document["accumulation"] = rng.choice(["discarding", "retracting"])
    if wish.provisional and (idle := rng.random()) < 0.28:
        document["early"] = draw_early(rng, clock)
        if lanes > 1 and idle < 0.26:
            source["idle_timeout"] = clock.us(rng.randint(1, 4))
    size = rng.choice([size for size in _QUERIES if size <= wish.queries_max])
    group_by, pattr = draw_groups(rng), rng.choice(["", " PATTR g", " PATTR h"])
    plain = rng.random() < _PLAIN
    document["queries"] = {}
    for place in range(size):
        given: dict[str, Any] = {"number": False, "wide": wish.wide, "lanes": lanes}
        window = (
            draw_alike(rng, kind, document["queries"]["q0"]["window"], clock, **given)
            if place
            else draw_window(rng, kind, clock, **given)
        )
        if kind != "sliding":
            window = window.partition(" PATTR ")[0] + pattr
        aggregates = draw_aggregates(rng, plain=plain)
        query = {"window": window, "group_by": group_by, "aggregates": aggregates}
        document["queries"][f"q{place}"] = query | _apart(rng, kind, clock, wish)
    if size > 1 and rng.random() < _TWINS:
        document["queries"]["q1"] = deepcopy(document["queries"]["q0"])
    if rng.random() < wish.one_table:
        _in_one_table(document)
    draw_duplicates(document, [source], clock, wish)
    return document


def _apart(rng: random.Random, kind: str, clock: Clock, wish: Wish) -> dict[str, Any]:
    """Draw what a query has of its own, beside its windows and aggregates; mostly nothing."""
    own: dict[str, Any] = {}
    if rng.random() < 0.05:
        own["group_by"] = draw_groups(rng)
    if wish.wide and kind in COME_AND_GO and rng.random() < 0.1:
        own |= draw_activity(rng, clock)
    if wish.provisional and rng.random() < 0.05:
        own["early"] = draw_early(rng, clock)
    return own


def _in_one_table(document: dict[str, Any]) -> None:
    """Let all rows go to one table: queries have one key, and a name is of one aggregate."""
    queries = document["queries"]
    texts = sorted({text for query in queries.values() for text in query["aggregates"].values()})
    for query in queries.values():
        query["group_by"] = queries["q0"]["group_by"]
        own = query["aggregates"].values()
        query["aggregates"] = {f"a{texts.index(text)}": text for text in own}
    document["sink"] = {"table": "simulated", "layout": "one"}
