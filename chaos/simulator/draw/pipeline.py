"""Draw pipeline files: every key that affects results, at a scale at which features interact."""

from __future__ import annotations

import random
from typing import Any

import yaml

from chaos.simulator.draw.clock import Clock, draw_clock, draw_event_time
from chaos.simulator.draw.computed import draw_computed, draw_topics
from chaos.simulator.draw.duplicates import draw_duplicates
from chaos.simulator.draw.generators import draw_disorder, draw_disorder_of, draw_keyed
from chaos.simulator.draw.join import draw_join
from chaos.simulator.draw.operators import METER, draw_operators
from chaos.simulator.draw.queries import (
    Setting,
    draw_activity,
    draw_aggregates,
    draw_early,
    draw_fields,
    draw_late,
    draw_query,
    draw_retention,
)
from chaos.simulator.draw.rows import draw_rows
from chaos.simulator.draw.spellings import respell
from chaos.simulator.draw.tables import with_tables
from chaos.simulator.draw.types import add_types
from chaos.simulator.draw.usual import KINDS as USUAL
from chaos.simulator.draw.usual import draw_usual
from chaos.simulator.draw.windows import NUMBER, draw_alike
from chaos.simulator.draw.wish import (
    AS_THEY_ARRIVE,
    JOINS,
    LOCAL,
    OPERATORS,
    Wish,
    order_free,
)

TOPIC = "s"

# Numbers of queries and shards: each one costs time, and few are enough to show a defect.
_QUERIES = (*(1,) * 4, *(2,) * 6, 3, 3, 3, 4, 4, 5, 5)
_SHARDS = (1, 1, 1, 2, 2, 2, 3, 4)
_ROWS = ("rows in the log's order", "rows by event time", "session of rows")
# Their clock, or the number of their windows, continues until the last legal time.
_BOUNDED = frozenset({"landmark", OPERATORS})


def draw_pipeline(rng: random.Random, wish: Wish | None = None) -> str:
    """Draw the text of a pipeline file; lengths are small multiples of one tick."""
    wish = wish or Wish()
    usual = [kind for kind in wish.classes if kind in USUAL and not wish.number]
    if usual and rng.random() < wish.usual:
        # Only queries with sliding windows can share slices.
        kind = rng.choice([*usual, *["sliding"] * 2 * usual.count("sliding")])
        document = draw_usual(rng, kind, TOPIC, wish)
        document["shards"] = rng.choice(_SHARDS)
    elif (kind := rng.choice(wish.classes)) in JOINS:
        document = draw_join(rng, wish, kind)
    else:
        document = _of_queries(rng, kind, wish)
    own = random.Random(f"types {document!r}")
    if own.random() < wish.types:
        add_types(own, document)
    draw_rows(document, wish)
    respell(document)
    text: str = yaml.dump(document, Dumper=_Dumper, sort_keys=False, allow_unicode=True)
    own = random.Random(f"zones {document!r}")
    return with_tables(own, text) if own.random() < wish.tables else text


class _Dumper(getattr(yaml, "CSafeDumper", yaml.SafeDumper)):  # type: ignore[misc]
    """A dumper without aliases: repeated values are written out, as a person would."""

    def ignore_aliases(self, data: Any) -> bool:
        """Return True: never use aliases."""
        del data
        return True


def _of_queries(rng: random.Random, kind: str, wish: Wish) -> dict[str, Any]:
    kinds = _kinds(rng, kind, wish)
    clock = draw_clock(rng, local=not LOCAL.isdisjoint(kinds))
    keyed = _can_be_keyed(kinds) and rng.random() < 0.25
    lanes = _lanes(rng, kinds, keyed=keyed)
    names = [f"{TOPIC}/{lane}" for lane in range(lanes)]
    disorder = draw_keyed(rng) if keyed else draw_disorder(rng, names, clock)
    source: dict[str, Any] = {
        "topic": TOPIC,
        "partitions": lanes,
        "format": "json",
        "event_time": draw_event_time(rng, clock, bounded=not _BOUNDED.isdisjoint(kinds)),
        "fields": draw_fields(rng),
        "disorder": disorder,
    }
    numbers = _over_a_number(rng, kinds, wish)
    number_keyed = _add_number(rng, source, names, clock) if any(numbers) else False
    if OPERATORS in kinds:
        source["fields"][METER] = rng.choice(["int", "float"])
    _extras(rng, source, wish)
    # Some keys are further than the lane that is added.
    if wish.wide and lanes > 1 and rng.random() < (0.4 if keyed else 0.32):
        at = {"ts": rng.randint(-3, 20) * clock.tick_us}
        if any(numbers):
            at[NUMBER] = rng.randint(-3, 20) * clock.tick_us
        source["joined"] = {names[-1]: {"lane": lanes - 1, "at": at}}
    every = rng.choice([1, 1, 2, 3, 5, 7])
    # Unless every query has its own setting, some query uses the pipeline's.
    late = draw_late(rng, clock.us(every), consistent="landmark" not in kinds)
    document: dict[str, Any] = {"name": "simulated", "source": source, "late": late}
    document["retention"] = _retention(rng, kinds, clock, wish)
    around = Setting(clock, lanes, every, late, document["retention"], keyed, number_keyed)
    document["queries"] = {
        f"q{place}": draw_operators(rng, clock, own_late=late["policy"] == "update")
        if one == OPERATORS
        else draw_query(rng, one, around, wish, number=number)
        for place, (one, number) in enumerate(zip(kinds, numbers, strict=True))
    }
    # Drawn apart, so that all else is as without them.
    own = random.Random(repr(document))
    sliding = [
        f"q{place}"
        for place, (one, number) in enumerate(zip(kinds, numbers, strict=True))
        if one in ("sliding", "calendar") and not number
    ]
    if sliding and own.random() < wish.alike:
        model = own.choice(sliding)
        like = model, kinds[int(model.removeprefix("q"))]
        _alike(own, document["queries"], like, around, wish)
    document["shards"] = rng.choice(_SHARDS)
    if wish.wide and OPERATORS not in kinds and rng.random() < 0.15:
        document["accumulation"] = rng.choice(["discarding", "retracting"])
    if wish.provisional:
        _provisional(rng, document, kinds, clock)
    draw_computed(document, wish)
    draw_duplicates(document, [source], clock, wish)
    draw_topics(document, wish)
    return document


def _alike(
    rng: random.Random, queries: dict[str, Any], like: tuple[str, str], around: Setting, wish: Wish
) -> None:
    """Add queries that are like one whose slices can be shared, but for windows and aggregates.

    Args:
        like: the name of that one, and the class of its windows.
    """
    model, kind = like
    given: dict[str, Any] = {"number": False, "wide": wish.wide, "lanes": around.lanes}
    clock, spelled = around.clock, queries[model]["window"]
    if rng.random() < 0.6:
        queries[model]["aggregates"] = draw_aggregates(rng, plain=True)
    for place in range(rng.randint(1, 3)):
        window = draw_alike(rng, kind, spelled, clock, **given)
        aggregates = rng.choice([queries[model]["aggregates"], draw_aggregates(rng, plain=True)])
        other = {**queries[model], "window": window, "aggregates": aggregates}
        always = {key: other[key] for key in other if key not in ("from", "until", "warmup")}
        if rng.random() < 0.7:
            other = always
        if wish.wide and rng.random() < 0.2:
            # Of two activities together, no window might be left.
            other = always | draw_activity(rng, clock)
        queries[f"like{place}"] = other


def _kinds(rng: random.Random, kind: str, wish: Wish) -> list[str]:
    others = [kind] if wish.same_class else [one for one in wish.classes if one not in JOINS]
    sizes = [size for size in _QUERIES if size <= wish.queries_max]
    return [kind, *(rng.choice(others) for _ in range(rng.choice(sizes) - 1))]


def _retention(rng: random.Random, kinds: list[str], clock: Clock, wish: Wish) -> Any:
    """Draw the pipeline's retention; operators do not let it limit their state."""
    kept = draw_retention(rng, clock.us, wish, windows=False)
    return kept["time"] if OPERATORS in kinds and "entries" in kept else kept


def _can_be_keyed(kinds: list[str]) -> bool:
    """Whether progress per key is possible: some class needs progress, and keys span lanes."""
    return OPERATORS not in kinds and any(kind not in _ROWS[::2] for kind in kinds)


def _lanes(rng: random.Random, kinds: list[str], *, keyed: bool) -> int:
    # With progress per key the unit is the key, which is in one lane only if there is one lane.
    if keyed and "slide by n" in kinds:
        return 1
    if not AS_THEY_ARRIVE.isdisjoint(kinds) and rng.random() < 0.5:
        return 1
    return rng.choice([1, 1, 2, 2, 3])


def _over_a_number(rng: random.Random, kinds: list[str], wish: Wish) -> list[bool]:
    """Draw which queries are over a plain number; at least one if wished and possible."""
    possible = [kind not in (*_ROWS, OPERATORS, *LOCAL) for kind in kinds]
    wanted = rng.random() < 0.25 if wish.number is None else wish.number
    chosen = [wanted and able and rng.random() < 0.6 for able in possible]
    if wish.number and any(possible) and not any(chosen):
        chosen[possible.index(True)] = True
    return chosen


def _add_number(rng: random.Random, source: dict[str, Any], names: list[str], clock: Clock) -> bool:
    """Add a plain number and its generator to records; return whether its progress is per key."""
    source["fields"][NUMBER] = "int"
    disorder = source["disorder"]
    per_key = isinstance(disorder, dict) and disorder.get("ordered_per") in ("g", {"attr": "g"})
    unitless = per_key or disorder == "ordered" or "rows" in str(disorder)
    if unitless and rng.random() < 0.3:
        return per_key
    # A key that is a unit is in one lane only if there is one lane.
    if rng.random() < 0.15 and len(names) == 1:
        source["disorder_of"] = {NUMBER: draw_keyed_number(rng)}
        return True
    source["disorder_of"] = {NUMBER: draw_disorder_of(rng, names, clock)}
    return False


def draw_keyed_number(rng: random.Random) -> dict[str, Any]:
    """Draw a generator with a progress per value of `g` for a plain number."""
    return {"ordered_per": rng.choice(["g", {"attr": "g"}])}


def _extras(rng: random.Random, source: dict[str, Any], wish: Wish) -> None:
    if rng.random() < 0.25:
        source["unknown_fields"] = rng.choice(["ignore", "dead_letter"])
    if wish.refusals and rng.random() < 0.2:
        source["dense"] = True


def _provisional(
    rng: random.Random, document: dict[str, Any], kinds: list[str], clock: Clock
) -> None:
    """Draw early rows and idle lanes, if all queries support them."""
    if all(order_free(kind) or kind == OPERATORS for kind in kinds):
        if rng.random() < (0.85 if document["source"]["partitions"] > 1 else 0.15):
            document["source"]["idle_timeout"] = clock.us(rng.randint(1, 4))
        # An idle lane shows in early rows only.
        early = 0.9 if "idle_timeout" in document["source"] else 0.1
        if OPERATORS not in kinds and rng.random() < early:
            document["early"] = draw_early(rng, clock)
