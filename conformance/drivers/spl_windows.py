"""Run scenarios of policy windows with our windows.

Every scenario is run as given, and again with the window rebuilt from a snapshot between any two
steps: nothing may change.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from conformance import spl
from conformance.cases import Driver, Verdict
from conformance.spl import (
    AdvanceCase,
    InsertCase,
    Logged,
    MarkCase,
    PolicyCase,
    PunctCase,
    ResetCase,
    SavedCase,
    WatermarkCase,
    WindowCase,
    WindowStep,
)
from windowing.engine.rows import policies
from windowing.engine.rows.policies import (
    Event,
    Marker,
    PolicyError,
    Profile,
    Storage,
    WindowEvent,
)

_SECOND_US = 1_000_000
_LIBRARY_STORAGE = Storage()

AnyWindow = policies.TumblingWindow | policies.SlidingWindow | policies.IntervalWindow


def judge(case: WindowCase) -> list[Verdict]:
    """Run a scenario in both ways; return the first difference, or the first way's verdicts."""
    rebuilding = partial(drive, rebuild=True)
    ways = (("windows", drive), ("windows, rebuilt between steps", rebuilding))
    return spl.first_failed(spl.judge_window(case, way, by) for by, way in ways)


WINDOWS = Driver("windows", judge)


def drive(
    case: WindowCase, profile: str, *, rebuild: bool = False
) -> tuple[Sequence[Logged], spl.Final]:
    """Run a scenario with one window, or with another one for every step."""
    return Drive(case, Profile(profile), rebuild=rebuild).run()


def policy(case: PolicyCase | None) -> Any:
    """Return the policy that a scenario names."""
    if case is None:
        return None
    if case.kind == "count":
        return policies.count(int(case.size))
    if case.kind == "delta":
        return policies.delta(case.attr, case.size)
    if case.kind == "time":
        return policies.time(case.size)
    return policies.punct()


def partition_eviction(case: PolicyCase | None) -> Any:
    """Return the partition eviction policy that a scenario names."""
    if case is None:
        return None
    if isinstance(case.selection, MarkCase):
        selection = policies.Selection.user
    else:
        selection = policies.Selection((case.selection or "LRU").lower())
    if case.kind == "partitionCount":
        return policies.partition_count(int(case.size), selection)
    if case.kind == "tupleCount":
        return policies.tuple_count(int(case.size), selection)
    return policies.partition_age(case.size)


class Drive:
    """A run of one scenario.

    Args:
        rebuild: whether to make a new window from a snapshot before every step.

    Attributes:
        muted: whether a window is being rebuilt, which logs no events.
    """

    def __init__(
        self,
        case: WindowCase,
        profile: Profile,
        *,
        rebuild: bool = False,
        storage: Storage = _LIBRARY_STORAGE,
    ) -> None:
        self._case, self._profile = case, profile
        self._rebuild, self._storage = rebuild, storage
        self._clock = policies.ManualClock()
        self._log: list[Logged] = []
        self.muted = False
        self._step = self._tuples = self._summarizers = self._handled = 0
        self._snapshots: dict[str, Any] = {}
        self._window = self._build()

    def run(self) -> tuple[Sequence[Logged], spl.Final]:
        """Apply every operation."""
        for number, operation in enumerate(self._case.input):
            if self._rebuild:
                self._renew()
            self._step = number
            self._apply(operation)
        if isinstance(self._window, policies.IntervalWindow):
            return self._log, self._case.final or {}
        stored = {
            "null" if key is None else str(key): [row["id"] for row in rows]
            for key, rows in self._window
        }
        return self._log, stored

    def log(self, event: str, **fields: Any) -> None:
        """Log one event of this step."""
        if not self.muted:
            time = {"t": self._clock.now_us / _SECOND_US} if self._case.timed else {}
            self._log.append({"step": self._step, "event": event, **fields, **time})

    def number_summarizer(self) -> int:
        """Return the ordinal of a new summarizer."""
        self._summarizers += 1
        return self._summarizers - 1

    # --- operations ---------------------------------------------------------------------------

    def _apply(self, operation: WindowStep) -> None:
        try:
            self._do(operation)
        except PolicyError:
            self.log("exception")

    def _do(self, operation: WindowStep) -> None:
        window = self._window
        match operation:
            case InsertCase():
                self._tuples += 1
                window.insert({"id": self._tuples, **operation.model_dump()})
            case PunctCase():
                window.punctuate(Marker(operation.punct))
            case WatermarkCase() if isinstance(window, policies.IntervalWindow):
                window.advance_watermark(operation.value)
            case AdvanceCase() if not isinstance(window, policies.IntervalWindow):
                window.advance(round(operation.to * _SECOND_US))
            case SavedCase(op="checkpoint"):
                # Through JSON: a snapshot consists of plain values.
                self._snapshots[operation.name] = json.dumps(window.snapshot())
            case SavedCase():
                window.restore(json.loads(self._snapshots[operation.name]))
            case ResetCase() if not isinstance(window, policies.IntervalWindow):
                window.reset()
            case _:
                msg = f"{operation.op} means nothing to this window"
                raise PolicyError(msg)

    def _renew(self) -> None:
        snapshot = json.loads(json.dumps(self._window.snapshot()))
        self.muted = True
        numbered = self._summarizers
        self._window = self._build()
        if isinstance(self._window, policies.IntervalWindow):
            self._window.restore(snapshot)
        else:
            self._window.restore(snapshot, timers=True)
        self.muted, self._summarizers = False, numbered

    # --- the window ---------------------------------------------------------------------------

    def _build(self) -> AnyWindow:
        case, by = self._case, "partition" if self._case.partitioned else None
        window: AnyWindow
        if case.interval is not None:
            window = policies.IntervalWindow(
                "value",
                case.interval.interval_duration,
                period=case.interval.creation_period,
                offset=case.interval.interval_offset,
                discard_age=case.interval.discard_age,
                partition_by=by,
            )
        else:
            evicts = partition_eviction(case.partition_eviction)
            common = {"partition_by": by, "partition_eviction": evicts, "clock": self._clock}
            common |= {"profile": self._profile, "storage": self._storage}
            eviction = policy(case.eviction)
            if case.window == "sliding":
                window = policies.SlidingWindow(eviction, policy(case.trigger), **common)
            else:
                summarizer = (lambda key: LoggingSummarizer(self, key)) if case.summarizer else None
                window = policies.TumblingWindow(eviction, summarizer=summarizer, **common)
            window.on_selection(self._selection())
        for kind in Event:
            window.on(kind, self._handle)
        return window

    def _selection(self) -> Callable[[Sequence[tuple[Any, int]]], Sequence[Any]] | None:
        case = self._case.partition_eviction
        if case is None or not isinstance(case.selection, MarkCase):
            return None
        mark, most = case.selection.mark, case.selection.n

        def select(candidates: Sequence[tuple[Any, int]]) -> Sequence[Any]:
            keys = [key for key, _ in candidates]
            marked = {
                "oldest": keys[:most],
                "second": keys[1:2],
                "largest": [max(keys, key=self._size)] if keys else [],
                "all": keys,
                "none": [],
            }[mark]
            self.log("partitionEvictionSelection", candidates=keys, marked=marked)
            return marked

        return select

    def _size(self, key: Any) -> int:
        assert not isinstance(self._window, policies.IntervalWindow)  # noqa: S101 - has no eviction
        return self._window.size(key)

    # --- events -------------------------------------------------------------------------------

    def _handle(self, event: WindowEvent) -> None:
        self.log(event.kind.value, **self._fields(event))
        if event.kind in (Event.trigger, Event.before_flush):
            self._take_time()

    def _fields(self, event: WindowEvent) -> Logged:
        window = self._window
        if event.kind is Event.empty_window_punct:
            return {}
        if event.kind is Event.partition_eviction:
            return {"partitions": [self._victim(key) for key in event.victims]}
        fields: Logged = {"partition": event.key}
        if event.row is not None:
            fields["tuple"] = event.row["id"]
        if isinstance(window, policies.IntervalWindow):
            assert event.pane is not None  # noqa: S101 - of an interval window
            fields["pane"] = [event.pane.start, event.pane.end]
            fields["window"] = _ids(window.rows(event.pane, event.key))
            if event.kind in (Event.trigger, Event.initial_full):
                fields |= {"timing": event.pane.timing, "index": event.pane.index}
        elif not self._case.summarizer:
            fields["window"] = _ids(window.rows(event.key))
        elif isinstance(window, policies.TumblingWindow) and event.kind in _FLUSHES:
            fields["tupleCount"] = window.size(event.key)
            summary = window.summary(event.key)
            if isinstance(summary, LoggingSummarizer):
                fields["summarizer"] = summary.number
        return fields

    def _victim(self, key: Any) -> Logged:
        assert not isinstance(self._window, policies.IntervalWindow)  # noqa: S101 - has no eviction
        if self._case.summarizer:
            return {"partition": key, "tupleCount": self._window.size(key)}
        return {"partition": key, "window": _ids(self._window.rows(key))}

    def _take_time(self) -> None:
        durations = self._case.handler_duration
        if isinstance(durations, list):
            at, self._handled = self._handled, self._handled + 1
            durations = durations[at] if at < len(durations) else 0
        self._clock.now_us += round((durations or 0) * _SECOND_US)


_FLUSHES = (Event.before_flush, Event.after_flush)


def _ids(rows: Sequence[Any] | None) -> list[int] | None:
    return None if rows is None else [row["id"] for row in rows]


class LoggingSummarizer:
    """A summarizer that remembers the ids of its tuples, and logs its calls."""

    def __init__(self, drive: Drive, key: Any) -> None:
        self._drive, self._key = drive, key
        self._ids: list[int] = []
        self.number = drive.number_summarizer()

    def open(self) -> None:
        """Log that the window opens."""
        self._log("Open")

    def insert(self, row: Any) -> None:
        """Log a tuple."""
        self._ids.append(row["id"])
        self._log("Insert", tuple=row["id"])

    def close(self) -> None:
        """Log that the window flushes."""
        self._log("Close", tuples=[*self._ids])

    def destroy(self) -> None:
        """Log that the summarizer is discarded."""
        self._log("Destroy", tuples=[*self._ids])

    def state(self) -> dict[str, Any]:
        """Return the ids and their summarizer."""
        return {"number": self.number, "ids": [*self._ids]}

    def restore(self, state: dict[str, Any]) -> None:
        """Restore ids and identity in a rebuilt window."""
        self._ids = [*state["ids"]]
        if self._drive.muted:
            self.number = state["number"]
        self._log("Restore", tuples=[*self._ids])

    def _log(self, what: str, **fields: Any) -> None:
        about = {"summarizer": self.number, "partition": self._key}
        self._drive.log(f"summarizer{what}", **about, **fields)
