"""Cases of rows for empty windows, and of `having`."""

from __future__ import annotations

import random
from datetime import date
from typing import Any

from tests.unit.more_windows.grids import (
    Calendar,
    Cumulate,
    LocalCumulate,
    Sliding,
    edge_at,
    zone_named,
)
from tests.unit.more_windows.plain_python import HOUR, MINUTE, Grid, Log, Rules, take
from tests.unit.reading.plain_python import START, Case

_AGGREGATES = "{n: count, s: sum(v), last: last(v)}"


def _pipeline(name: str, lanes: int, slack: str, more: str, queries: dict[str, str]) -> str:
    shown = "\n".join(f"  {query}: {{{text}}}" for query, text in queries.items())
    return f"""
name: {name}
source:
  topic: s
  partitions: {lanes}
  format: json
  event_time: {{field: ts, unit: us}}
  fields: {{v: "int?", k: "string?"}}
  disorder: {{slack: {slack}}}
{more}queries:
{shown}
sink: {{table: {name}}}
"""


def _query(window: str, more: str = "") -> str:
    text = f"window: {window} WATTR ts, group_by: [k], aggregates: {_AGGREGATES}"
    return f"{text}, {more}" if more else text


def _disordered(case: Case, seed: int, count: int, step: int, behind: list[int]) -> Log:
    """Return records of three keys, in spells, some of them minutes late."""
    log, rng, clock = Log(case, 5 * MINUTE), random.Random(seed), START
    for _ in range(count):
        # Now and then nobody sends anything for a while.
        clock += rng.randrange(step) + (rng.random() < 0.08) * 9 * step
        ts = clock - rng.choice(behind) * MINUTE
        ts -= ts % (10 * MINUTE) if rng.random() < 0.2 else 0
        k = rng.choices(["a", "b", None], [6, 2, 1])[0]
        log.record(rng.choice(case.lanes), ts, rng.choice([None, 0, 1, 2, 5, 9]), k=k)
    return log


def _filled(name: str, need: str, spelled: dict[str, tuple[str, Grid]]) -> Case:
    queries = {query: _query(text, "empty: {after: 2}") for query, (text, _) in spelled.items()}
    case = Case(name, need, _pipeline(name, 1, "9000 days", "", queries), ["s/0"])
    log, rng = Log(case, 9_000 * 24 * HOUR), random.Random(9)
    begin = edge_at(date(2026, 3, 28), 0, zone_named("Europe/Berlin"))
    sales = ((0, "a"), (1, "a"), (1, None), (5, "a"), (9, "b"), (30, "a"), (31, "b"), (150, "a"))
    for hour, k in sales:
        log.record("s/0", begin + hour * HOUR + rng.randrange(HOUR), hour, k=k)
    # Further than the last record, and so further than what slack alone has reached.
    log.bound("s/0", begin + 152 * HOUR + 1)
    for query in sorted(spelled):
        take(case, query, spelled[query][1], log, Rules(after=2))
    case.end()
    return case


def filled() -> Case:
    """Gaps of windows of fixed lengths."""
    return _filled(
        "gaps_filled",
        "A chart has a point for each hour, also for the two after the last sale.",
        {
            "tumbling": ("RANGE 1 hour SLIDE 1 hour", Sliding(HOUR, HOUR)),
            "sliding": ("RANGE 2 hours SLIDE 1 hour", Sliding(2 * HOUR, HOUR)),
            "uneven": ("RANGE 150 minutes SLIDE 1 hour", Sliding(150 * MINUTE, HOUR)),
            "with_gaps": ("RANGE 30 minutes SLIDE 1 hour", Sliding(30 * MINUTE, HOUR)),
            "totals": ("RANGE CUMULATE 4 hours SLIDE 1 hour", Cumulate(4 * HOUR, HOUR)),
        },
    )


def filled_local() -> Case:
    """Gaps of local days, and of totals whose numbers have holes."""
    day = Calendar(zone_named("Europe/Berlin"), "day", 1, 1)
    return _filled(
        "gaps_filled_local",
        "The same over days in Berlin, of which one has 23 hours.",
        {
            "days": ("RANGE 1 day SLIDE 1 day ZONE Europe/Berlin", day),
            "totals": (
                "RANGE CUMULATE 1 day SLIDE 6 hours ZONE Europe/Berlin",
                LocalCumulate(day, 1, 6 * HOUR),
            ),
        },
    )


def filled_late() -> Case:
    """An empty window was sent, and a late record fills it: revision 1 of the same row."""
    kept = "late: {policy: update, every: 10 minutes}, retention: 2 hours"
    kinds = ("accumulating", "retracting", "discarding")
    grids: dict[str, Grid] = {
        "": Sliding(HOUR // 2, HOUR // 2),
        "_sliding": Sliding(HOUR, HOUR // 2),
    }
    texts = {"": "RANGE 30 minutes SLIDE 30 minutes", "_sliding": "RANGE 1 hour SLIDE 30 minutes"}
    queries = {
        f"{kind}{name}": _query(texts[name], f"empty: {{after: 3}}, {kept}, accumulation: {kind}")
        for kind in kinds
        for name in grids
    }
    queries["dropping"] = _query(texts[""], "empty: {after: 3}, late: {policy: drop}")
    case = Case(
        "gaps_filled_late",
        "The point of an empty half-hour moves when its sale becomes known.",
        _pipeline("gaps_filled_late", 2, "5 minutes", "", queries),
        ["s/0", "s/1"],
    )
    log = _disordered(case, 10, 50, 20 * MINUTE, [0, 0, 0, 40, 70, 100, 200])
    rules = {"after": 3, "every": 10 * MINUTE, "retention": 2 * HOUR}
    for query in sorted(queries):
        kind, _, sliding = query.partition("_")
        grid = grids[f"_{sliding}" if sliding else ""]
        of_kind = Rules(accumulation=kind, policy="update", **rules)  # type: ignore[arg-type]
        take(case, query, grid, log, Rules("drop", after=3) if kind == "dropping" else of_kind)
    case.end()
    return case


def _many(values: dict[str, Any], _: object) -> bool | None:
    return None if values["s"] is None else values["n"] > 1 and values["s"] < 12


def _odd(values: dict[str, Any], key: tuple[Any, ...]) -> bool | None:
    # 12 div last fails where that is 0, and is null where that is null: neither holds.
    if key[0] is None or not values["last"]:
        return None
    return bool(key[0] < "b" and 12 // values["last"] > 3)


def having() -> Case:
    """Rows that hold, that hold no longer, and that hold again."""
    kept = "late: {policy: update, every: 10 minutes}, retention: 2 hours"
    many, odd = "having: n > 1 AND s < 12", "having: k < 'b' AND 12 div last > 3"
    half = "RANGE 30 minutes SLIDE 30 minutes"
    queries = {
        "late": _query(half, f"{many}, {kept}"),
        "retracting": _query(half, f"{many}, {kept}, accumulation: retracting"),
        "by_key": _query(half, f"{odd}, {kept}"),
        "totals": _query("RANGE CUMULATE 2 hours SLIDE 30 minutes", f"{many}, {kept}"),
        "empty": _query(half, f"having: n = 0 OR s > 6, empty: {{after: 2}}, {kept}"),
        "empty_taken_back": _query(
            half, f"having: n = 0, empty: {{after: 2}}, {kept}, accumulation: retracting"
        ),
    }
    case = Case(
        "having",
        "Only half-hours with several sales and little money; one that grows is taken back.",
        _pipeline("having", 2, "5 minutes", "", queries),
        ["s/0", "s/1"],
    )
    log = _disordered(case, 11, 70, 12 * MINUTE, [0, 0, 0, 20, 40, 70, 200])
    grid, totals = Sliding(HOUR // 2, HOUR // 2), Cumulate(2 * HOUR, HOUR // 2)

    def rules(**more: Any) -> Rules:
        return Rules("update", every=10 * MINUTE, retention=2 * HOUR, **more)

    def nothing(values: dict[str, Any], _: object) -> bool:
        return bool(values["n"] == 0)

    def much(values: dict[str, Any], _: object) -> bool | None:
        return values["n"] == 0 or (values["s"] is not None and values["s"] > 6)

    take(case, "by_key", grid, log, rules(holds=_odd))
    take(case, "empty", grid, log, rules(holds=much, after=2))
    taken_back = rules(holds=nothing, after=2, accumulation="retracting")
    take(case, "empty_taken_back", grid, log, taken_back)
    take(case, "late", grid, log, rules(holds=_many))
    take(case, "retracting", grid, log, rules(holds=_many, accumulation="retracting"))
    take(case, "totals", totals, log, rules(holds=_many))
    case.end()
    return case
