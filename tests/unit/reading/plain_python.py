"""What the recorded cases of reading have to give, computed by plain Python.

It is written from the contract, and imports nothing of the project: neither engine nor definition
can have misled it. `python -m tests.unit.reading` writes `tests/data/reading` again.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from decimal import ROUND_HALF_EVEN, Decimal, localcontext
from fractions import Fraction
from pathlib import Path
from typing import Any

FOLDER = Path("tests/data/reading")
MINUTE = 60_000_000
HOUR = 60 * MINUTE
START = 1_714_521_600_000_000  # 2024-05-01T00:00:00Z


@dataclass
class Taken:
    """A record that windows see."""

    ts: int
    topic: str
    partition: int
    offset: int
    key: tuple[Any, ...]
    fields: dict[str, Any] = field(default_factory=dict)


@dataclass
class Case:
    """One folder.

    Attributes:
        lanes: in the order of their numbers.
        dead: topic, partition, offset, query and reason.
        notes: a text that standard error has.
    """

    name: str
    need: str
    pipeline: str
    lanes: list[str]
    lines: list[dict[str, Any] | str] = field(default_factory=list)
    rows: list[str] = field(default_factory=list)
    dead: list[tuple[str, int, int, str | None, str]] = field(default_factory=list)
    arguments: str = ""
    notes: str = ""

    def end(self) -> None:
        for lane in self.lanes:
            topic, _, partition = lane.partition("/")
            line = {"source": topic, "partition": int(partition), "offset": 1_000_000}
            self.lines.append({**line, "control": {"end": True}})

    def sum_up(
        self, query: str, width: int, taken: Sequence[Taken], values: Callable[[list[Taken]], Any]
    ) -> None:
        """Add the rows of tumbling windows; no record is late, and everything has ended."""
        windows = defaultdict[tuple[int, tuple[Any, ...]], list[Taken]](list)
        for one in taken:
            windows[one.ts // width, one.key].append(one)
        for (number, key), found in sorted(
            windows.items(), key=lambda w: (w[0][0], order(w[0][1]))
        ):
            found.sort(key=lambda t: (t.ts, self.lanes.index(f"{t.topic}/{t.partition}"), t.offset))
            offsets = dict[str, list[int]]()
            for lane in self.lanes:
                own = [t.offset for t in found if f"{t.topic}/{t.partition}" == lane]
                if own:
                    offsets[lane] = [min(own), max(own)]
            row = {
                "query": query,
                "window_id": number,
                "window_start": number * width,
                "window_end": (number + 1) * width,
                "key": [spelled(part) for part in key],
                "pane": "full",
                "revision": 0,
                "records": len(found),
                "offsets": offsets,
                "values": {name: spelled(value) for name, value in values(found).items()},
            }
            self.rows.append(line_of(row))

    def files(self) -> dict[str, str]:
        """What its folder holds, by the names of files."""
        lines = [one if isinstance(one, str) else line_of(one) for one in self.lines]
        dead = sorted(self.dead, key=lambda d: (d[:3], d[3] is not None, d[3] or ""))
        names = ("source", "partition", "offset", "query", "reason")
        found = {
            "need.md": self.need + "\n",
            "pipeline.yml": self.pipeline.lstrip(),
            "events.jsonl": "".join(f"{line}\n" for line in lines),
            "OUT.jsonl": "".join(f"{row}\n" for row in self.rows),
            "OUT.dead.jsonl": "".join(
                f"{line_of(dict(zip(names, one, strict=True)))}\n" for one in dead
            ),
            "arguments.txt": self.arguments,
            "notes.txt": self.notes,
        }
        return {name: text for name, text in found.items() if text or name.startswith("OUT")}


def line_of(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def spelled(value: Any) -> Any:
    if isinstance(value, list):
        return [spelled(one) for one in value]
    return format(value, "f") if isinstance(value, Decimal) else value


def order(key: tuple[Any, ...]) -> list[tuple[int, Any]]:
    return [(0, 0) if p is None else (2, p) if isinstance(p, str) else (1, p) for p in key]


def some(values: Sequence[Any]) -> list[Any]:
    return [value for value in values if value is not None]


def mean_of(values: Sequence[Decimal], digits: int) -> Decimal | None:
    """The mean with so many digits, ties to even."""
    if not values:
        return None
    exact = sum(map(Fraction, values), Fraction(0)) / len(values)
    with localcontext() as context:
        context.prec = 200
        near = Decimal(exact.numerator) / Decimal(exact.denominator)
        return near.quantize(Decimal(1).scaleb(-digits), ROUND_HALF_EVEN)


def any_of(values: Sequence[bool | None]) -> bool | None:
    if True in values:
        return True
    return None if None in values or not values else False


def all_of(values: Sequence[bool | None]) -> bool | None:
    if False in values:
        return False
    return None if None in values or not values else True
