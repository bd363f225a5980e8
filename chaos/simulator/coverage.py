"""What some runs covered: legal pairs of features that met, mechanisms that took effect.

A pair is legal if some pipeline with both is valid. `ILLEGAL` lists the other pairs, with reasons;
a test checks the list against the validator and against drawn cases. A pair says what was asked
for; a mechanism, what rows have come through (`windowing.engine.effects`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from math import sqrt
from typing import Final

from chaos.simulator.features import ALL, FEATURES, OPERATOR_SUBJECTS, SEVERAL, Feature, pair_number
from windowing.engine.effects import MECHANISMS, Mechanism

_SHOWN_MAX = 12

_BY_POLICIES = "join over policy windows"
_AS_OF = "as-of join"
_IN_WINDOWS = "window join"
_BY_RECORDS = ("inner join", "left join", "right join", "full join", _BY_POLICIES, _AS_OF)
_JOINS = (*_BY_RECORDS, _IN_WINDOWS)
_IN_LOG_ORDER = ("rows", "landmark rows", "session of rows")
_RANKED = ("ranked rows", "landmark ranked rows")
_LOCAL = ("calendar", "cumulate local")
_AT_RECORDS = ("by tuple", "by n", "by rank")
_SESSIONS = ("session", "session of rows")
_KEYED = ("ordered per key", "punctuation per key")
_WINDOWS = tuple(name for name in FEATURES["class"] if name not in (*_JOINS, "operators"))


@dataclass(frozen=True)
class Illegal:
    """Features that cannot meet.

    Attributes:
        one: the first features: the kind of feature, and its values.
        other: the features that each of the first excludes, in the same form.
    """

    one: tuple[str, tuple[str, ...]]
    other: tuple[str, tuple[str, ...]]
    why: str


def _but(of: str, *kept: str) -> tuple[str, tuple[str, ...]]:
    return of, tuple(name for name in FEATURES[of] if name not in kept)


def _all(of: str) -> tuple[str, tuple[str, ...]]:
    return of, FEATURES[of]


_A_JOIN = ("class", _JOINS)
_OF_ROWS = ("class", (*_IN_LOG_ORDER, *_RANKED))

_UPDATE = ("late", ("update",))
_OF_OPERATORS = (
    Illegal(("class", ("operators",)), _UPDATE, "operators take no late records"),
    Illegal(("class", ("operators",)), _but("retention", "none"), "operators have no retention"),
    Illegal(("class", ("operators",)), _all("early"), "operators send no provisional rows"),
    Illegal(("class", ("operators",)), _all("accumulation"), "operators send a row once"),
    Illegal(("class", ("operators",)), _all("sends"), "operators send all reports, of records"),
    Illegal(("class", ("operators",)), ("generator", _KEYED), "operators need progress of lanes"),
    Illegal(("class", ("operators",)), ("axis", ("number",)), "operators go by event time"),
    Illegal(("class", ("operators",)), _all("window"), "operators have windows by policies"),
    Illegal(("class", ("operators",)), _all("join"), "operators have windows by policies"),
)
_LAST_ALONE = "aggregate and a user's operator are last in a chain, which has one of them"


def _without_operators() -> Iterator[Illegal]:
    """Yield the rules about features that only queries with operators have."""
    for of in OPERATOR_SUBJECTS:
        yield Illegal(_all(of), ("class", (*_JOINS, *_WINDOWS)), "only operators have policies")
        for rule in _OF_OPERATORS:
            yield Illegal(_all(of), rule.other, rule.why)


ILLEGAL: Final = (
    *_OF_OPERATORS,
    *_without_operators(),
    Illegal(("operator", ("user's",)), ("operator", ("aggregate",)), _LAST_ALONE),
    *(
        Illegal(("operator", ("user's",)), _all(of), _LAST_ALONE)
        for of in ("aggregate", "group_by", "operator option")
    ),
    Illegal(
        ("operator option", ("partial windows",)),
        ("operator option", ("evicted partitions",)),
        "AGGREGATE_SLIDING_AND_EVICTED: one is of sliding windows, the other of tumbling ones",
    ),
    Illegal(
        ("class", (*_IN_LOG_ORDER, *_RANKED, "by rank")),
        ("late", ("update",)),
        "E_LATE_UPDATE: a late record would renumber every row",
    ),
    Illegal(_OF_ROWS, ("axis", ("number",)), "windows of rows lie over no attribute"),
    Illegal(("class", _LOCAL), ("axis", ("number",)), "E_ZONE: a number has no local time"),
    Illegal(
        ("axis", ("number",)),
        ("generator", ("heartbeat", "punctuation", "punctuation per key")),
        "E_DISORDER: these speak of times, and a number is none",
    ),
    Illegal(
        ("class", (*_RANKED, *_AT_RECORDS)),
        ("early", ("records", "every")),
        "early rows are for windows that records to come do not move",
    ),
    Illegal(
        ("class", (*_IN_LOG_ORDER, *_RANKED, *_AT_RECORDS)),
        ("source", ("idle lanes",)),
        "idle_timeout is for windows that no order of records decides",
    ),
    Illegal(_A_JOIN, ("source", ("idle lanes",)), "a join has no early rows, and no idle_timeout"),
    Illegal(_A_JOIN, ("generator", _KEYED), "a join needs progress of its lanes, not per key"),
    Illegal(("class", _BY_RECORDS), ("retention", ("windows",)), "a join has no windows to count"),
    Illegal(_A_JOIN, ("run", ("several queries",)), "a join stands instead of queries"),
    Illegal(
        ("class", (_BY_POLICIES,)),
        ("late", ("update",)),
        "a join over policy windows takes no late records",
    ),
    Illegal(
        ("class", (_BY_POLICIES,)),
        ("retention", ("time",)),
        "windows of a join say themselves what they keep",
    ),
    Illegal(
        ("class", (_BY_POLICIES,)),
        ("join", ("a window on one side", "windows on both sides")),
        "its windows have policies",
    ),
    Illegal(
        ("class", (_AS_OF,)),
        ("join", ("where", "a window on one side", "windows on both sides")),
        "its partner is the newest record of equal keys",
    ),
    Illegal(
        ("class", (_IN_WINDOWS,)),
        ("join", ("a window on one side", "windows on both sides")),
        "its windows are those of the join",
    ),
    *(
        Illegal(_A_JOIN, _all(of), "a join has no windows and no aggregates, and sends pairs once")
        for of in ("axis", "accumulation", "early", "sends", "aggregate", "group_by", "window")
    ),
    *(
        Illegal(_all("join"), _all(of), "a join has no windows and no aggregates")
        for of in ("axis", "accumulation", "early", "sends", "aggregate", "group_by", "window")
    ),
    Illegal(_all("join"), ("class", _WINDOWS), "only joins have sides"),
    Illegal(_all("join"), ("source", ("idle lanes",)), "a join has no early rows"),
    Illegal(_all("join"), ("generator", _KEYED), "a join needs progress of its lanes"),
    Illegal(
        ("join", ("a window on one side", "windows on both sides")),
        ("retention", ("windows",)),
        "a join has no windows to count",
    ),
    Illegal(_all("join"), ("run", ("several queries",)), "a join stands instead of queries"),
    Illegal(
        ("join", ("a window on one side",)),
        ("join", ("windows on both sides",)),
        "one side or both",
    ),
    Illegal(
        ("sends", ("windows without records",)),
        (
            "class",
            ("landmark", "landmark rows", "landmark ranked rows", *_AT_RECORDS, *_SESSIONS),
        ),
        "empty is for windows that follow one another and may have no records",
    ),
    Illegal(
        ("sends", ("windows without records",)),
        ("window", ("gaps",)),
        "only sessions have gaps, and none is empty",
    ),
    Illegal(
        ("sends", ("rows that hold",)),
        ("accumulation", ("discarding",)),
        "a row that shows only what is new is no content of its window",
    ),
    Illegal(
        ("window", ("ALIGN start",)),
        _but("class", "sliding", "tumbling", "rows", "ranked rows", *_JOINS),
        "E_ORIGIN, E_ATTR_MIX: ALIGN start goes with RANGE, SLIDE and WATTR",
    ),
    Illegal(
        ("window", ("ORIGIN",)),
        _but("class", "sliding", "tumbling", "landmark", "cumulate", *_JOINS),
        "E_ORIGIN, E_ATTR_MIX: ORIGIN goes with WATTR over an attribute",
    ),
    Illegal(
        ("window", ("gaps",)),
        _but("class", "session", "session of rows", *_JOINS),
        "E_MISSING: gaps are for sessions",
    ),
    Illegal(
        ("window", ("gaps",)),
        ("window", ("ALIGN start", "ORIGIN")),
        "E_ATTR_MIX: SESSION goes with WATTR and PATTR alone",
    ),
    Illegal(
        ("window", ("gaps",)),
        ("group_by", ("several",)),
        "E_ATTR_TYPE: gaps name values of the one field of the key",
    ),
    Illegal(
        ("retention", ("windows",)),
        _but("class", "sliding", "tumbling", "landmark", "cumulate", *_JOINS),
        "retention in windows needs a SLIDE in time",
    ),
    Illegal(
        ("retention", ("windows",)),
        ("late", ("drop", "dead_letter")),
        "without update a query has no retention",
    ),
    Illegal(
        ("retention", ("windows",)), ("window", ("gaps",)), "retention in windows needs a SLIDE"
    ),
    Illegal(("retention", ("none",)), ("late", ("update",)), "update needs a retention"),
    Illegal(
        ("retention", ("time",)),
        ("class", (*_IN_LOG_ORDER, *_RANKED, "by rank")),
        "without update a query has no retention",
    ),
    Illegal(
        ("believes", ("none", "bounds", "all")),
        ("believes", ("none", "bounds", "all")),
        "a source believes one of them",
    ),
    Illegal(
        ("believes", ("none",)),
        ("refused", ("malformed", "change_too_late")),
        "where nothing is believed, everything is not allowed",
    ),
    Illegal(
        ("believes", ("bounds",)),
        ("refused", ("change_too_late",)),
        "where no change is believed, each is not allowed",
    ),
    Illegal(
        ("run", ("compaction at once",)), ("run", ("compaction later",)), "a shard has one of them"
    ),
    Illegal(
        ("retention", ("none", "time", "windows")),
        ("retention", ("none", "time", "windows")),
        "one length",
    ),
)
"""The rules about pairs that cannot meet."""


@cache
def legal() -> frozenset[int]:
    """Return the numbers of all legal pairs."""
    illegal = {
        frozenset(((rule.one[0], one), (rule.other[0], other)))
        for rule in ILLEGAL
        for one in rule.one[1]
        for other in rule.other[1]
    }
    return frozenset(
        pair_number(one, other)
        for one, other in combinations(ALL, 2)
        if (one[0] != other[0] or one[0] in SEVERAL or one[0] == "retention")
        and frozenset((one, other)) not in illegal
    )


def summary(met: Set[int]) -> Iterator[str]:
    """Describe how many legal pairs were met, and name some that were not."""
    missing = sorted(legal() - met)
    share = 1 - len(missing) / len(legal())
    yield f"pairs of features met: {len(legal()) - len(missing)} of {len(legal())}, {share:.1%}"
    if missing:
        named = "; ".join(f"{spelled(number)}" for number in missing[:_SHOWN_MAX])
        more = f"; and {len(missing) - _SHOWN_MAX} more" if len(missing) > _SHOWN_MAX else ""
        yield f"not met: {named}{more}"


def spelled(number: int) -> str:
    """Describe a pair in words."""
    one, other = _features(number)
    return f"{one[0]} {one[1]} × {other[0]} {other[1]}"


def _features(number: int) -> tuple[Feature, Feature]:
    return ALL[number // len(ALL)], ALL[number % len(ALL)]


LEAST_PERCENT: Final = 5
"""In so many runs of a hundred each mechanism takes effect."""

USUAL_PERCENT: Final[Mapping[Mechanism, int]] = {
    "fused plan": 20,
    "files by executors": 20,
}
"""The same for those that most deployed pipelines run."""

_Z: Final = 3.0
"""Drawn runs vary: a share is too small if it is by three standard deviations.

So in fewer than 171 runs, even a mechanism that never took effect may be one of 5 %.
"""


def least_percent(mechanism: Mechanism) -> int:
    """Return in how many runs of a hundred a mechanism should take effect."""
    return USUAL_PERCENT.get(mechanism, LEAST_PERCENT)


def too_rare(met: Counter[Mechanism], runs: int) -> list[Mechanism]:
    """Return the mechanisms that took effect in too few runs to be chance."""
    return [one for one in MECHANISMS if _is_too_rare(met[one], runs, least_percent(one) / 100)]


def _is_too_rare(met: int, runs: int, share: float) -> bool:
    return met < runs * share - _Z * sqrt(runs * share * (1 - share))


def shares(met: Counter[Mechanism], runs: int) -> Iterator[str]:
    """Describe in how many runs each mechanism took effect, the rarest first."""
    listed = ", ".join(
        f"{one} {met[one] / runs:.1%}" for one in sorted(MECHANISMS, key=lambda one: met[one])
    )
    yield f"mechanisms that took effect, by share of runs: {listed}"
    for one in too_rare(met, runs):
        yield f"too rare: {one} in {met[one]} of {runs} runs, at least {least_percent(one)} %"
