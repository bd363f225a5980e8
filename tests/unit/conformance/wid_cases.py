"""Random cases of the window language, in the format of `tests/data/wid/`, from a seed.

Every class of windows with every generator, policy and mode, over any number of lanes of several
sources: ties, gaps, broken promises, lanes that are silent, end early or run ahead of others, and
control records of every kind. What is expected is left open: `expected` is empty.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Any

from conformance.wid import Case

CLASSES = (
    *("sliding", "landmark", "tuple_log", "tuple_event_time"),
    *("slide_by_tuple", "slide_by_n", "slide_by_rank"),
)
GENERATORS = (
    *("ordered", "slack_time", "slack_tuples", "ordered_per", "ordered_per_members"),
    *("heartbeat", "punctuation", "punctuation_keyed"),
)

_LANES = (["s/0"], ["a/0", "a/1"], ["a/0", "b/0", "a/1"], ["s/10", "s/2", "r/3"], ["b/1", "a/7"])
_AGGREGATES = ("count", "sum", "mean", "min", "max", "first", "last", "count_distinct")
_UNITS = {1: ("us", "microseconds"), 1_000: ("ms", "milliseconds"), 1_000_000: ("s", "seconds")}
_KEYS, _GROUPS = ("x", "y", "z"), ("g", "h", "")
# Whose late records cannot be shown later.
_REFUSING = ("tuple_log", "tuple_event_time", "slide_by_rank")
# Whose records must arrive in one lane, or each key's in one.
_AS_THEY_ARRIVE = ("tuple_log", "slide_by_n")


@dataclass(frozen=True)
class _Plan:
    """What a case is about.

    Attributes:
        chance: where everything is drawn from.
        kind: the class.
        attribute: what windows are over, or what orders their rows.
        tick: the distance of two neighbouring values of it.
        pattr: the attribute of PATTR, or None.
        by: the attribute that progress, or what is promised, is kept for: `key` or `group`.
    """

    chance: Random
    kind: str
    attribute: str
    tick: int
    pattr: str | None
    by: str

    def length(self, ticks: int) -> str:
        """A length in the attribute's unit, in one of its spellings."""
        if self.attribute != "ts":
            return str(ticks * self.tick)
        names = [f"{ticks} {name}" for name in _UNITS[self.tick]]
        return self.chance.choice([*names, f"{ticks * self.tick} us"])


def random_case(seed: int, kind: str | None = None, generator: str | None = None) -> Case:
    """A case without an expectation.

    Args:
        seed: decides everything that is not given.
        kind: one of `CLASSES`.
        generator: one of `GENERATORS`.
    """
    chance = Random(seed)
    kind = kind or chance.choice(CLASSES)
    generator = "none" if kind == "tuple_log" else generator or chance.choice(GENERATORS)
    keyed = generator in ("ordered_per", "punctuation_keyed")
    by = chance.choice(["key", "key", "group"])
    pattr = chance.choice([None, None, "key", "group"])
    if keyed and kind not in ("sliding", "landmark"):
        pattr = by
    elif kind in _AS_THEY_ARRIVE:
        pattr = chance.choice([None, "key", "key"])
    by_ts = kind.startswith("tuple") or chance.random() < 0.8
    value_type = chance.choice(["int", "int", "float"])
    numbers = ["pos", "value"] if value_type == "int" else ["pos"]
    plan = _Plan(
        chance=chance,
        kind=kind,
        attribute="ts" if by_ts else chance.choice(numbers),
        tick=chance.choice(list(_UNITS)) if by_ts else chance.choice([1, 3]),
        pattr=pattr,
        by=by,
    )
    group_by = chance.choice([None, "key", "group"])
    if keyed and pattr != by:
        group_by = by
    lanes = chance.choice(_LANES)
    return Case(
        id=f"{kind}/{generator}/{seed}",
        window=_window(plan),
        group_by=group_by,
        aggregates=chance.sample(_AGGREGATES, chance.randint(1, 4)),
        value_type=value_type,
        lanes=lanes,
        disorder=_disorder(plan, generator, lanes),
        late=_late(plan),
        input=_input(plan, lanes),
        expected={},
    )


def _window(plan: _Plan) -> str:
    chance, kind = plan.chance, plan.kind
    slide, rows = chance.randint(1, 7), chance.choice(["rows", "row"])
    length = chance.choice([slide, slide * chance.randint(1, 4), chance.randint(1, 15)])
    landmark = kind == "landmark" or (kind.startswith("tuple") and chance.random() < 0.2)
    ranged = "LANDMARK" if landmark else plan.length(length)
    if kind.startswith("tuple"):
        ranged = "LANDMARK" if landmark else f"{length} {rows}"
        order = "event_time" if kind == "tuple_event_time" else chance.choice([None, "log"])
        clauses = [f"WATTR row_num SLIDE {slide} {rows}", *([f"ORDER {order}"] if order else [])]
    elif kind in ("sliding", "landmark"):
        clauses = [f"SLIDE {plan.length(slide)}", f"WATTR {plan.attribute}"]
        if chance.random() < 0.5:
            clauses.append(f"ORIGIN {plan.length(chance.randint(-15, 8))}")
    else:
        every = 1 if kind == "slide_by_tuple" else chance.randint(2, 4)
        if kind == "slide_by_rank":
            every = chance.randint(1, 4)
        order = f"rank({plan.attribute})" if kind == "slide_by_rank" else "row_num"
        clauses = [f"RATTR {plan.attribute}", f"SATTR {order}", f"SLIDE {every} {rows}"]
    clauses = [f"RANGE {ranged}", *clauses, *([f"PATTR {plan.pattr}"] if plan.pattr else [])]
    chance.shuffle(clauses)
    return chance.choice([" ", ", "]).join(clauses)


def _disorder(plan: _Plan, generator: str, lanes: list[str]) -> dict[str, Any]:
    chance, tick = plan.chance, plan.tick
    disorder: dict[str, Any] = {"kind": generator}
    if generator == "slack_time":
        disorder["us"] = chance.choice([0, 1, 2, 5, 9]) * tick
    elif generator == "slack_tuples":
        disorder["n"] = chance.choice([0, 1, 2, 5])
    elif generator == "punctuation_keyed":
        disorder = {"kind": "punctuation", "attr": plan.by}
    elif generator.startswith("ordered_per"):
        disorder = {"kind": "ordered_per", "attr": plan.by}
        if generator == "ordered_per_members":
            values = _KEYS if plan.by == "key" else _GROUPS
            chosen = {lane: chance.sample(values, chance.choice([1, 1, 2, 3])) for lane in lanes}
            disorder["members"] = chosen
    elif generator == "heartbeat":
        disorder["sources"] = {lane: _delays(chance, tick) for lane in lanes}
    if chance.random() < 0.1:
        disorder["ignore_control"] = True
    return disorder


def _delays(chance: Random, tick: int) -> dict[str, int]:
    shortest = chance.randint(0, 2)
    longest = shortest + chance.randint(0, 5)
    return {"L": longest * tick, "l": shortest * tick, "s": chance.randint(0, 1) * tick}


def _late(plan: _Plan) -> dict[str, Any]:
    mode = plan.chance.choice(["generous", "consistent"])
    if plan.kind in _REFUSING or plan.chance.random() < 0.3:
        return {"mode": mode, "policy": "drop"}
    if plan.kind == "landmark":
        mode = "generous"
    return {"mode": mode, "policy": "update", "epoch": plan.chance.randint(1, 9) * plan.tick}


def _input(plan: _Plan, lanes: list[str]) -> list[dict[str, Any]]:
    """Each lane in its order, the lanes in any."""
    chance = plan.chance
    keys = {lane: list(_KEYS) for lane in range(len(lanes))}
    single = None
    if plan.kind in _AS_THEY_ARRIVE and chance.random() < 0.95:
        # Units in one lane each: keys dealt out, or all records in one lane.
        for lane in keys:
            keys[lane] = [key for n, key in enumerate(_KEYS) if n % len(lanes) == lane]
        single = None if plan.pattr == "key" else chance.randrange(len(lanes))
        if single is not None:
            keys[single] = list(_KEYS)
    start = chance.choice([0, 0, -12, 3, 1000])
    drawn = {
        lane: _lane(plan, lane, keys[lane] if single in (None, lane) else [], start, lanes)
        for lane in range(len(lanes))
    }
    turns = [lane for lane, records in drawn.items() for _ in records]
    if chance.random() < 0.6:
        chance.shuffle(turns)
    ahead = {lane: iter(records) for lane, records in drawn.items()}
    return [next(ahead[lane]) for lane in turns]


def _lane(
    plan: _Plan, lane: int, keys: list[str], start: int, lanes: list[str]
) -> list[dict[str, Any]]:
    chance, tick = plan.chance, plan.tick
    jitter = chance.choice([0, tick - 1]) if plan.attribute == "ts" else 0
    contents: list[dict[str, Any]] = []
    at, count = start, chance.choice([0, 3, 8, 8, 14]) if keys else 0
    for _ in range(count):
        at += chance.choice([0, 0, 1, 1, 2, 3, chance.choice([4, 9, 30])])
        back = chance.choice([0, 0, 0, 0, 1, 2, 5, 9])
        value = (at - back) * tick + chance.randint(0, jitter)
        record: dict[str, Any] = {"ts": chance.randint(0, 99), "value": chance.randint(-9, 20)}
        record[plan.attribute] = value
        contents.append({**record, "key": chance.choice(keys), "group": chance.choice(_GROUPS)})
        if chance.random() < 0.2:
            contents.append(_control(plan, at - chance.choice([0, 0, 1, 4, -2, -20]), lanes))
    if chance.random() < 0.3:
        contents.append(_control(plan, at + chance.choice([0, 5, 50]), lanes))
    if chance.random() < 0.6:
        contents.append({"c": "end"})
    if chance.random() < 0.02:
        contents.append({"c": "end"})
    offset = chance.choice([0, 0, 3, 100])
    return [{"l": lane, "o": offset + n, **content} for n, content in enumerate(contents)]


def _control(plan: _Plan, at: int, lanes: list[str]) -> dict[str, Any]:
    chance, bound = plan.chance, at * plan.tick
    on = {chance.choice([plan.by, plan.by, plan.by, "key"]): chance.choice([*_KEYS, *_GROUPS])}
    seen = {lane: bound - chance.randint(0, 3) * plan.tick for lane in lanes}
    seen = {lane: seen[lane] for lane in chance.sample(lanes, chance.randint(1, len(lanes)))}
    choices: list[dict[str, Any]] = [
        {"c": "punct", "b": bound},
        {"c": "punct", "b": bound, "on": on},
        {"c": "hb", "b": bound},
        {"c": "hb", "now": bound},
        {"c": "hb", "seen": seen},
        {"c": "hb", "now": bound, "seen": seen},
    ]
    return chance.choice([*choices, choices[1], choices[1]])
