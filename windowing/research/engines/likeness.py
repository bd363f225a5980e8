"""What to write in a pipeline file so that its windows are those of another engine.

Sources: SECRET for where windows lie; `docs/coming-from.md` for late records and sessions, of which
SECRET knows nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from windowing.model.file.pipeline import EventTime, Pipeline, Query
from windowing.model.lengths import spell_us
from windowing.model.windows.traits import Ends, Order
from windowing.model.windows.window import Align, Window
from windowing.research.engines.parameters import Domain, Report
from windowing.research.engines.profiles import Profile, UnknownEngineError

_CLOSED = Report(non_empty=True, window_close=True)


@dataclass(frozen=True)
class Proposal:
    """What a query needs so that its windows are those of an engine.

    Attributes:
        window: the window to write, in the window language; None: leave it as it is.
        late: the late policy to write; None: leave it as it is.
        differences: what remains different, as sentences.
    """

    query: str
    window: str | None
    late: str | None
    differences: tuple[str, ...]

    def lines(self) -> Iterator[str]:
        """Yield the proposal as YAML, with differences as comments."""
        yield f"{self.query}:"
        yield f"  window: {self.window}" if self.window else "  # window: as it is"
        yield f"  late: {self.late}" if self.late else "  # late: as it is"
        yield from (f"  # differs: {difference}" for difference in self.differences)


def propose(profile: Profile, pipeline: Pipeline, first_us: int | None = None) -> list[Proposal]:
    """Return a proposal for each query with windows.

    Args:
        pipeline: its queries keep their sizes, slides and keys.
        first_us: event time of the first record, in microseconds, for engines whose windows begin
            there; None: not known.
    """
    return [
        _QueryLikeness(profile, pipeline.source.event_time, query, first_us).proposal()
        for query in pipeline.of(Query)
    ]


@dataclass(frozen=True)
class _QueryLikeness:
    profile: Profile
    event_time: EventTime
    query: Query
    first_us: int | None

    def proposal(self) -> Proposal:
        window, traits = self.query.window, self.query.window.traits
        changed: str | None = None
        if traits.merging:
            changed, differences = self._session(window)
        elif traits.ends is Ends.SLIDES and window.range_ is not None:
            changed, differences = self._sliding(window, window.range_)
        elif traits.ends is Ends.ROWS:
            changed, differences = self._rows(window)
        else:
            differences = [f"nothing is known of {window.kind} windows in {self.profile.title}"]
        return Proposal(self.query.name, changed, self._late(), tuple(differences))

    def _late(self) -> str | None:
        """Return a policy that drops late records, if the engine does and the query does not.

        Such engines judge a late record for each of its windows. A dead letter is in no window.
        """
        late = self.query.late
        differs = late.policy == "update" or late.mode == "consistent"
        return "{policy: drop}" if self.profile.drops_late and differs else None

    def _sliding(self, window: Window, range_: int) -> tuple[str | None, list[str]]:
        unit = self._unit(window.attribute)
        if range_ % unit or window.slide % unit:
            return None, [f"range and slide must be whole {self.event_time.spelling.name}"]
        start, differences = self._start(Domain.time, range_ // unit, window.slide // unit)
        if start is None:
            return None, differences
        # Our windows hold their start, the model's `(start, …]` begin one unit after it.
        origin = (start + 1) * unit % window.slide
        first = window.origin if window.align == "start" else window.origin - range_
        if origin == first % window.slide:
            return None, differences
        return self._spelled(window, origin, "start"), differences

    def _rows(self, window: Window) -> tuple[str | None, list[str]]:
        if window.range_ is None:
            return None, [f"{self.profile.title} has no windows of all rows"]
        start, differences = self._start(Domain.tuple, window.range_, window.slide)
        if start is None:
            return None, differences
        first_end = start + window.range_
        aligned: dict[int, Align] = {window.range_: "start", window.slide: "end"}
        align = aligned.get(first_end)
        if align is None:
            return None, [*differences, f"its first window ends at row {first_end}"]
        same = first_end == (window.range_ if window.align == "start" else window.slide)
        return (None if same else self._spelled(window, window.origin, align)), differences

    def _session(self, window: Window) -> tuple[str | None, list[str]]:
        touch = self.profile.sessions_touch
        if touch is None:
            return None, [f"nothing is known of sessions in {self.profile.title}"]
        if not touch:
            return None, []
        if window.gaps:
            return None, ["it merges sessions exactly a gap apart: make each gap one unit longer"]
        unit = self._unit(window.attribute)
        gap = self._length((window.range_ or 0) + unit, window.attribute)
        return f"SESSION {gap} WATTR {window.attribute}{_pattr(window)}", []

    def _start(self, domain: Domain, size: int, slide: int) -> tuple[int | None, list[str]]:
        """Return the engine's start, if it has one, and what our reports cannot be like."""
        try:
            operator = self.profile.operator(domain)
        except UnknownEngineError as error:
            return None, [str(error)]
        differences = []
        report = operator.behaviour.report
        if not report.window_close:
            differences.append("it reports open windows too; ours appear there only with `early`")
        elif report.content_change and not report.non_empty:
            differences.append("it reports one empty window when a window's content ends")
        elif not report.non_empty:
            differences.append("it reports empty windows, of which we send no rows")
        first = self._first(domain)
        if operator.start.follows_first and first is None:
            differences.append(
                "its windows begin at the first record: give its event time with --first"
            )
            return None, differences
        return operator.start.of(size, slide, first or 0), differences

    def _first(self, domain: Domain) -> int | None:
        if domain is Domain.tuple:
            return 1
        unit = self._unit(self.query.window.attribute)
        return None if self.first_us is None else self.first_us // unit

    def _unit(self, attribute: str) -> int:
        """Return the smallest step of an attribute, in our unit for it."""
        return self.event_time.spelling.unit_us if attribute == self.event_time.field else 1

    def _length(self, length: int, attribute: str) -> str:
        return spell_us(length) if attribute == self.event_time.field else str(length)

    def _spelled(self, window: Window, origin: int, align: Align) -> str:
        rows = " rows" if window.traits.ends is Ends.ROWS else ""
        lengths = (window.range_ or 0, window.slide, origin)
        range_, slide, begins = (self._length(n, window.attribute) + rows for n in lengths)
        text = f"RANGE {range_} SLIDE {slide} WATTR {window.attribute}{_pattr(window)}"
        text += f" ORIGIN {begins}" if origin else ""
        if rows and window.traits.order is Order.CANONICAL:
            text += " ORDER event_time"
        return f"{text} ALIGN {align}"


def _pattr(window: Window) -> str:
    return f" PATTR {window.pattr}" if window.pattr else ""
