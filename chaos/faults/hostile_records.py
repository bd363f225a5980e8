"""Control records as somebody hostile writes them: into a topic whose pipeline has to continue.

Some of them the pipeline believes, others must become dead letters, and the definition says which.
None of them ends a lane, or a query of the file before the end of the log.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from jobs.brokers.producing import control_of
from windowing.model.control import (
    CONTROL_HEADER,
    COUNTER_HEADER,
    SIGNATURE_HEADER,
    WINDOWS_MAX,
    signature,
)
from windowing.model.file.changes import Change, Copy, changed
from windowing.model.file.pipeline import Pipeline, Query
from windowing.model.lengths import INT64_MAX, INT64_MIN
from windowing.model.windows.sliding import has_extents
from windowing.semantics.values import Reason, RefusedControl, ValueReader

IMPORTED: Final = "chaos.faults.imported"
"""The module of the class that some of the records name; nobody may ever import it."""

HUGE_BYTES: Final = 500_000
"""Approximate size of the largest records, which every topic takes."""

_QUERIES: Final = 2_000
_FAR_US: Final = 400 * 86_400_000_000
_HOUR_US: Final = 3_600_000_000
_BEHIND_ALL: Final = INT64_MAX
_SECRET: Final = b"whatever the pipeline's may be"

Headers = list[tuple[str, bytes]]


def imported_file(state_dir: Path) -> Path:
    """Return what that module leaves in the folder of a stack's state as soon as it is imported."""
    return state_dir / "imported-by-a-log"


@dataclass(frozen=True)
class HostileRecord:
    """A control record of somebody hostile."""

    lane: int
    what: str
    headers: Headers

    def refused(self, pipeline: Pipeline) -> Reason | None:
        """Return the reason why it is a dead letter, whatever else the log says; None: it depends.

        Args:
            pipeline: of the topic, before the log has changed it; its records are not signed.
        """
        name, control = pipeline.source.lane(self.lane), control_of(self.headers)
        assert control is not None  # noqa: S101 - it has such a header
        said = ValueReader(pipeline, self.lane).control(control, None, _UnsignedLane(name))
        if isinstance(said, RefusedControl):
            return said.reason
        if not isinstance(said, Change):
            return None
        # What asks for too much does so beside other queries, too.
        after = changed(pipeline, Copy(name, _BEHIND_ALL, said))
        return "not_allowed" if after == "not_allowed" else None


@dataclass
class _UnsignedLane:
    """A lane, as far as signatures are concerned: it has had none."""

    name: str
    counter: int = -1


def hostile_records(
    rng: random.Random, pipeline: Pipeline, reached_us: int, count: int
) -> list[HostileRecord]:
    """Draw records for all lanes of a pipeline, in the order in which they are written.

    Args:
        pipeline: a pipeline with one source.
        reached_us: an instant behind which no lane has read a record, or promised anything.
        count: how many there are, approximately: at least one of each kind in each lane.
    """
    drawn = _Hostile(rng, pipeline, reached_us)
    # What lanes take comes first; where the limits are reached, nothing is.
    first = [*drawn.conflicting(), *drawn.taken(), *drawn.leaving()]
    rest = list[HostileRecord]()
    while not rest or len(first) + len(rest) < count:
        rest += drawn.anything()
    rng.shuffle(rest)
    return [*first, *rest]


class _Hostile:
    """The records for one pipeline."""

    def __init__(self, rng: random.Random, pipeline: Pipeline, reached_us: int) -> None:
        self._rng, self._pipeline, self._reached_us = rng, pipeline, reached_us
        self._lanes = range(pipeline.source.partitions)
        self._counter = 0

    def conflicting(self) -> Iterator[HostileRecord]:
        """Yield copies that lanes take, of which those of some lanes say something else."""
        windows = self._windows()
        for lane in self._lanes:
            query = self._query(window=windows[lane % 2])
            yield self._of("two windows under one name", lane, {"add": {"disputed": query}})

    def taken(self) -> Iterator[HostileRecord]:
        """Yield copies that all lanes take, and the same once more."""
        query = self._query()
        for what in ("a query", "a query that is there"):
            for lane in self._lanes:
                yield self._of(what, lane, {"add": {"granted": query}})

    def leaving(self) -> Iterator[HostileRecord]:
        """Yield the ends of queries, another one in each lane."""
        own = [flow.name for flow in self._pipeline.flows if flow.window is not None]
        for name, far_us in (("granted", _HOUR_US), *((name, _FAR_US) for name in own[:1])):
            for lane in self._lanes:
                until_us = self._reached_us + far_us + self._rng.randint(2, 9) * _HOUR_US
                yield self._of("an end of a query", lane, {"remove": {name: until_us}})

    def anything(self) -> Iterator[HostileRecord]:
        """Yield a record of each other kind for each lane."""
        for lane in self._lanes:
            yield from self._malformed(lane)
            yield from self._too_much(lane)
            yield from self._believed(lane)
            yield from self._signed(lane)

    def _malformed(self, lane: int) -> Iterator[HostileRecord]:
        shapes: Sequence[Any] = (
            *(None, [], 5, {}, {"end": 1}, {"end": "true"}, {"bound": "soon"}, {"bound": 1.5}),
            *({"bound": None, "on": {}}, {"now": True}, {"seen": []}, {"drop": 1}),
        )
        texts = (
            *(json.dumps(shape).encode() for shape in shapes),
            *(b"", b"{", b'{"end": true', b"\xff\xfe", b"[" * 3_000, b'{"bound": NaN}'),
        )
        text = self._rng.choice(texts)
        yield HostileRecord(lane, "no control record", [(CONTROL_HEADER, text)])
        header = (CONTROL_HEADER, b'{"end": true}')
        several: Headers = self._rng.choice([[(CONTROL_HEADER, b"")], [header, header]])
        yield HostileRecord(lane, "headers that stand twice, or are empty", several)
        said: Any = self._rng.choice(
            [None, [], {}, {"add": []}, {"add": {"x": 1}}, {"drop": {}}, {"remove": {"x": "soon"}}]
        )
        yield self._of("no change of the queries", lane, said)
        wrong: dict[str, Any] = self._rng.choice(
            [{"window": "RANGE"}, {"colour": "red"}, {"aggregates": {}}]
        )
        yield self._of("a query that no file can have", lane, self._added(**wrong))
        yield self._of("the end of nobody", lane, {"remove": {self._name(): self._later_us()}})

    def _too_much(self, lane: int) -> Iterator[HostileRecord]:
        column = self._rng.choice([*self._pipeline.source.fields, "x"])
        reference = f"python:{IMPORTED}:Imported({column})"
        yield self._of("a class of its own", lane, self._added(aggregates={"n": reference}))
        wide = f"RANGE 1000000 us SLIDE 1 us WATTR {self._time}"
        yield self._of("a million windows", lane, self._added(window=wide))
        narrow = f"RANGE {WINDOWS_MAX + 1} us SLIDE 1 us WATTR {self._time}"
        yield self._of("one window too many", lane, self._added(window=narrow))
        many = {f"{self._name()}{number}": self._query() for number in range(_QUERIES)}
        yield self._of("two thousand queries", lane, {"add": many})
        names = dict.fromkeys(many, self._later_us())
        yield self._of("two thousand ends of queries", lane, {"remove": names})
        yield self._of("a query too many", lane, self._added())
        if self._rng.random() < 0.5:
            yield self._of("huge", lane, self._added(window="x" * HUGE_BYTES))
        else:
            text = b'{"bound": ' + b"[" * HUGE_BYTES
            yield HostileRecord(lane, "huge", [(CONTROL_HEADER, text)])

    def _believed(self, lane: int) -> Iterator[HostileRecord]:
        at_us = self._rng.choice([1, 0, -1, self._reached_us - 1, self._reached_us // 2])
        yield self._other("a bound", lane, {"bound": at_us})
        yield self._other("a bound on a field", lane, {"bound": at_us, "on": {"x": at_us}})
        far_us = self._rng.choice([INT64_MIN, INT64_MAX + 1, 2**200])
        yield self._other("a bound far away", lane, {"bound": far_us})
        yield self._other("an observation", lane, {"now": at_us, "seen": {"nobody/7": at_us}})

    def _signed(self, lane: int) -> Iterator[HostileRecord]:
        """Yield bounds that are signed wrongly, or rightly for another lane, and the same again."""
        body = b'{"bound": 1}'
        self._counter += 1
        name = self._pipeline.source.lane(self._rng.choice(self._lanes))
        right = signature(_SECRET, name, self._counter, body)
        signed = self._rng.choice([right, b"", b"0" * 64, b"\xff", right.upper()])
        counter = self._rng.choice([b"%d" % self._counter, b"00", b"-1", b"\xb2", b"9" * 30])
        headers: Headers = [
            (CONTROL_HEADER, body),
            (SIGNATURE_HEADER, signed),
            (COUNTER_HEADER, counter),
        ]
        for _ in range(2):
            yield HostileRecord(lane, "signed by nobody", headers)

    @property
    def _time(self) -> str:
        return self._pipeline.source.event_time.field

    def _windows(self) -> tuple[str, str]:
        return (
            f"RANGE 1 hour SLIDE 1 hour WATTR {self._time}",
            f"RANGE 2 hours SLIDE 1 hour WATTR {self._time}",
        )

    def _name(self) -> str:
        return f"q{self._rng.randrange(10**9)}"

    def _later_us(self) -> int:
        return self._reached_us + self._rng.randint(1, 24) * _HOUR_US

    def _query(self, **wrong: Any) -> dict[str, Any]:
        """Return a query that joins behind all that lanes have had; like one of the file."""
        sliding = [query.name for query in self._pipeline.of(Query) if has_extents(query.window)]
        known = self._pipeline.document["queries"][self._rng.choice(sliding)] if sliding else {}
        kept = {key: known[key] for key in ("group_by", "late") if key in known}
        query = {"window": self._rng.choice(self._windows()), "aggregates": {"n": "count"}, **kept}
        return {**query, "from": self._reached_us + _HOUR_US, **wrong}

    def _added(self, **wrong: Any) -> dict[str, Any]:
        return {"add": {self._name(): self._query(**wrong)}}

    def _of(self, what: str, lane: int, said: Any) -> HostileRecord:
        """Return a change of the queries, which may be none."""
        return self._other(what, lane, {"queries": said})

    def _other(self, what: str, lane: int, control: Mapping[str, Any]) -> HostileRecord:
        text = json.dumps(control, separators=(",", ":")).encode()
        return HostileRecord(lane, what, [(CONTROL_HEADER, text)])
