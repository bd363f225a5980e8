"""Random cases of sliding managers, in the format of `tests/data/gsn/`, from a seed.

Queries that join and leave in mid-stream, slides of 1, equal instants, windows that begin before
the first tuple or hold none. What is expected is left open: `expected` is empty.
"""

from __future__ import annotations

from random import Random
from typing import Any, Final

from conformance.gsn import (
    CountCase,
    EventCase,
    FiringCase,
    GraphCase,
    LocalCase,
    RemoteACase,
    RemoteBCase,
)

MODES: Final = ("count", "local", "remote_a", "event", "remote_b")
_SLIDES: Final = (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 15, 20)


def random_firings(seed: int, mode: str | None = None) -> FiringCase:
    """Return a case of firings without an expectation."""
    chance = Random(seed)
    mode = mode or chance.choice(MODES)
    unit = 1 if mode == "count" else chance.choice([1, 1, 3, 10, 100 if mode == "remote_b" else 7])
    first = chance.choice([1, 1, 1, 951]) if mode == "count" else 1
    tuples = _tuples(chance, unit, first, stamped=mode != "local")
    last_wall = tuples[-1]["wall"]
    start = chance.choice([0, tuples[0]["wall"] - chance.randint(0, 3 * unit)])
    until = last_wall + chance.choice([0, 1, chance.randint(0, 20 * unit)])
    span = (start, until) if mode == "local" else (first, first + len(tuples))
    common: Any = {
        **{"id": f"{mode}/{seed}", "mode": mode, "tuples": tuples, "expected": {}},
        "queries": [
            _query(chance, f"q{number}", unit, span)
            for number in chance.sample(range(1, 15), chance.randint(1, 7))
        ],
    }
    origin = chance.choice([0, 0, chance.randint(-5, 50) * unit + chance.choice([0, 1])])
    match mode:
        case "count":
            return CountCase(**common)
        case "local":
            return LocalCase(**common, origin=origin, start=start, until=until)
        case "event":
            return EventCase(**common, origin=origin)
        case "remote_a":
            return RemoteACase(**common)
        case _:
            alpha, mean = chance.choice([0, 0.25, 0.5, 0.75, 0.9, 1]), chance.choice([0, 1, 5, 40])
            return RemoteBCase(**common, alpha=alpha, lambda0=mean * unit, until=until)


def _query(chance: Random, name: str, unit: int, span: tuple[int, int]) -> dict[str, Any]:
    kind = chance.choice(["count", "time"])
    size = chance.choice([1, 2, 3, 5, 8, 13])
    join = chance.choice([1, span[0], chance.randint(*span)])
    leave = chance.choice([None, None, join + 1, chance.randint(min(join, span[1]), span[1])])
    return {
        **{"id": name, "slide": chance.choice(_SLIDES) * unit, "join": join, "leave": leave},
        "window": {"kind": kind, "size": size if kind == "count" else size * unit},
    }


def _tuples(chance: Random, unit: int, first: int, *, stamped: bool) -> list[dict[str, int]]:
    """Tuples in order of time stamps and of the wall clock, both with ties and gaps."""
    ts, tuples = chance.choice([0, 0, unit, chance.randint(0, 50 * unit)]), []
    wall = ts
    gaps = chance.choice([(0, 1), (0, 1, 2), (1,), (2,), (0, 0, 1, 9), (3, 4)])
    delays = chance.choice([(0,), (0, 1), (0, 2, 5), (9,), (0, 30)])
    jitter = chance.choice([0, unit - 1])
    for pos in range(first, first + chance.randint(1, 40)):
        wall = max(wall, ts + chance.choice(delays) * unit + chance.randint(0, jitter))
        tuples.append({"pos": pos, "ts": ts if stamped else wall, "wall": wall})
        ts += chance.choice(gaps) * unit + chance.randint(0, jitter)
    return tuples


def random_graph(seed: int) -> GraphCase:
    """Return a case of graphs without an expectation; its steps say only what changes."""
    chance = Random(seed)
    unit, most = chance.choice([1, 1, 1, 6, 1000]), chance.choice([12, 30, 60, 300])
    least = chance.choice([1, 2, 5])
    slides = [chance.randint(least, most) * unit for _ in range(chance.randint(0, 40))]
    left, steps = [*slides], []
    for _ in range(chance.choice([0, 0, 9])):
        removed = bool(left) and chance.random() < 0.5
        slide = chance.choice(left) if removed else chance.randint(1, most) * unit
        (left.remove if removed else left.append)(slide)
        unknown: Any = {"root": None, "dummy_root": None, "strong": {}, "tests": ""}
        steps.append({"op": "remove" if removed else "add", "slide": slide, **unknown})
    limits = {
        "theta_l": chance.choice(["0", "0", "0.001", "0.01", "0.05"]),
        "theta_g": chance.choice(["0", "0", "0.0001", "0.01", "0.05", "0.1", "0.15"]),
        "cf": chance.choice(
            [
                {"a": "0", "b": "1"},
                {"a": "2", "b": "1"},
                {"a": "1", "b": "0.25"},
                {"a": "0.5", "b": "2"},
                {"a": "1", "b": "0"},
            ]
        ),
        "passes": chance.choice([1, 1, 2, "fix"]),
        "max_sigma": chance.choice([None, None, 1, 2, 3]),
    }
    case: Any = {
        **{"id": f"random/{seed}", "kind": chance.choice(["count", "time"])},
        **{"slides": slides, "params": limits, "expected": {}, "steps": steps},
    }
    return GraphCase(**case)
