"""Draw queries of operators over policy windows: every window, order and chain that is valid."""

from __future__ import annotations

import random
from typing import Any, Final

from chaos.simulator.draw.clock import Clock
from chaos.simulator.draw.queries import draw_aggregates

METER: Final = "m"
"""A number that is never null, for deltas."""

_REPORTER = "python:chaos.simulator.draw.reporter:Reporter"
_BRITTLE = "python:chaos.simulator.draw.brittle:BrittleReporter"
_OUTPUTS = {"event": "string", "held": "int", "oldest": "int", "x": "float"}
_OPERATORS: Final = ("aggregate", "aggregate", "aggregate", "sort", "sort", "dedup", "python")
_BY_PANES: Final = 0.6
"""How often an operator can run in two stages."""

_CONDITIONS: Final = ("v >= 0", "g = 'a'", "h != 1", "x < 1.5", "w = 2", "v <= -1")
_PARTITIONS: Final[tuple[list[str], ...]] = ([], [], ["g"], ["g"], ["h"], ["g", "h"], ["h", "g"])
_SORTED: Final = ("v", "w desc", "x", "x descending", "g", "g desc", "h asc", "m desc", "p", "ts")
_FIELDS: Final = ("g", "h", "v", "w", "x", "p", "ts")


def draw_operators(rng: random.Random, clock: Clock, *, own_late: bool) -> dict[str, Any]:
    """Draw a query of one operator or of a chain.

    `own_late` says that the pipeline's policy for late records is not for operators.
    """
    if rng.random() < _BY_PANES:
        return _of_panes(rng, clock, own_late=own_late)
    names = [rng.choice(_OPERATORS)]
    while len(names) < 3 and rng.random() < 0.2:
        names.insert(0, rng.choice(["sort", "dedup"]))
    # Chains without a common field of their partitions have a single unit.
    by = rng.choice(_PARTITIONS)
    steps = list[dict[str, Any]]()
    for name in names:
        partition_by = by if rng.random() < 0.7 else rng.choice(_PARTITIONS)
        punctuated = bool(steps) and _sends_punctuations(steps[-1])
        steps.append(_step(rng, name, partition_by, clock, punctuated=punctuated))
    query: dict[str, Any] = dict(steps[0]) if len(steps) == 1 else {"steps": steps}
    if rng.random() < 0.35:
        query["order"] = "lane"
    return query | _late(rng, own_late=own_late)


def _of_panes(rng: random.Random, clock: Clock, *, own_late: bool) -> dict[str, Any]:
    """Draw an aggregate over sliding windows by time that are made of whole panes."""
    slide = rng.randint(1, 4)
    policies = [f"time({clock.us(slide * rng.randint(1, 4))})", f"time({clock.us(slide)})"]
    window: dict[str, Any] = {"sliding": policies}
    if by := rng.choice(_PARTITIONS):
        window["partition_by"] = by
    query: dict[str, Any] = {"operator": "aggregate", "window": _spelled(rng, window)}
    query["aggregates"] = draw_aggregates(rng, sized=True)
    if rng.random() < 0.5:
        query["group_by"] = rng.sample(["g", "h", "v"], rng.choice([1, 1, 2]))
    if rng.random() < 0.5:
        query["partial_windows"] = True
    return query | _late(rng, own_late=own_late)


def _late(rng: random.Random, *, own_late: bool) -> dict[str, Any]:
    if own_late or rng.random() < 0.35:
        return {"late": {"policy": rng.choice(["drop", "dead_letter"])}}
    return {}


def _step(
    rng: random.Random, name: str, partition_by: list[str], clock: Clock, *, punctuated: bool
) -> dict[str, Any]:
    tumbling = name != "dedup" and rng.random() < 0.5
    window = _window(rng, clock, partition_by, tumbling=tumbling, every=name in ("sort", "dedup"))
    # Drawn apart, so that all else is as without it.
    own = random.Random(f"reporter {window!r}").choice([_REPORTER, _REPORTER, _BRITTLE])
    operator = own if name == "python" else name
    step: dict[str, Any] = {"operator": operator, "window": _spelled(rng, window)}
    needs = window.get("tumbling") == "punct()"
    if (needs and (not punctuated or rng.random() < 0.3)) or rng.random() < 0.1:
        step["punctuate"] = {"when": rng.choice(_CONDITIONS)}
    match name:
        case "aggregate":
            step["aggregates"] = draw_aggregates(rng)
            if rng.random() < 0.5:
                step["group_by"] = rng.sample(["g", "h", "v"], rng.choice([1, 1, 2]))
            if not tumbling and rng.random() < 0.5:
                step["partial_windows"] = True
            if tumbling and partition_by and rng.random() < 0.5:
                step["evicted_partitions"] = True
        case "sort":
            fields = rng.sample(_SORTED, rng.choice([1, 1, 2]))
            step["by"] = list({text.split()[0]: text for text in fields}.values())
        case "dedup":
            step["by"] = rng.sample(_FIELDS, rng.choice([1, 1, 2]))
        case _:
            step["outputs"] = dict(_OUTPUTS)
            if rng.random() < 0.5:
                step["settings"] = {"scale": rng.choice([2, 0.5])}
    return step


def _sends_punctuations(step: dict[str, Any]) -> bool:
    """Whether an operator of a chain sends window punctuations: a Sort of tumbling windows."""
    window = step["window"]
    tumbling = "tumbling" in window if isinstance(window, dict) else window.startswith("TUMBLING")
    return step["operator"] == "sort" and tumbling


def _window(
    rng: random.Random, clock: Clock, partition_by: list[str], *, tumbling: bool, every: bool
) -> dict[str, Any]:
    """Draw a window as a mapping.

    It has partitions by the fields of `partition_by`; with `every`, a sliding one reports at every
    tuple.
    """
    if tumbling:
        eviction = "punct()" if rng.random() < 0.25 else _policy(rng, clock)
        window: dict[str, Any] = {"tumbling": eviction}
    else:
        trigger = "count(1)" if every else _policy(rng, clock)
        policies = [_policy(rng, clock), trigger]
        window = {"sliding": policies[:1] if trigger == "count(1)" else policies}
    if not partition_by:
        return window
    window["partition_by"] = partition_by
    if rng.random() < 0.5:
        window["partition_eviction"] = rng.choice(
            [
                f"partition_count({rng.randint(1, 3)})",
                f"tuple_count({rng.randint(1, 6)})",
                f"partition_age({clock.us(rng.randint(1, 8))})",
            ]
        )
        if "age" not in window["partition_eviction"] and rng.random() < 0.7:
            window["selection"] = rng.choice(["lru", "lfu", "oldest"])
    return window


def _policy(rng: random.Random, clock: Clock) -> str:
    ticks = clock.us(rng.randint(1, 9))
    return rng.choice(
        [
            f"count({rng.choice([0, 1, 1, 2, 2, 3, 4, 6])})",
            f"time({ticks})",
            rng.choice([f"delta(ts, {ticks})", f"delta({METER}, {rng.randint(0, 6)})"]),
        ]
    )


def _spelled(rng: random.Random, window: dict[str, Any]) -> Any:
    """Return a window as a mapping, or as the same text."""
    if rng.random() < 0.4:
        return window
    kind = "tumbling" if "tumbling" in window else "sliding"
    policies = [window[kind]] if kind == "tumbling" else window[kind]
    text = f"{kind.upper()} {', '.join(policies)}"
    if "partition_by" in window:
        text += f" PARTITIONED BY {', '.join(window['partition_by'])}"
    if "partition_eviction" in window:
        text += f" EVICT {window['partition_eviction']}"
    return f"{text} BY {window['selection']}" if "selection" in window else text
