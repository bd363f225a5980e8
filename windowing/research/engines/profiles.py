"""What is known of each engine: its parameters for time windows and for tuple windows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from windowing.research.engines.parameters import (
    Behaviour,
    Domain,
    Report,
    Tick,
    Windows,
)


class UnknownEngineError(ValueError):
    """An engine, or a kind of window of it, that no profile describes."""

    exit_code = 2


@dataclass(frozen=True)
class Start:
    """How the lower bound of the first window follows from size, slide and first time.

    Attributes:
        formula: for people, with w (size), b (slide) and f (application time of the first tuple).
        of: the function of size, slide and f.
        follows_first: whether the phase of windows, not only the first one, depends on f.
    """

    formula: str
    of: Callable[[int, int, int], int] = field(compare=False)
    follows_first: bool = False


def _up(value: int, step: int) -> int:
    return -(-value // step) * step


ALIGNED_ENDS = Start("b - w - 1", lambda w, b, f: b - w - 1)
ALIGNED_STARTS = Start("ceil((f - w) / b) * b - 1", lambda w, b, f: _up(f - w, b) - 1)
CLOSED_ENDS = Start("b - w", lambda w, b, f: b - w)
FIRST_TUPLE = Start("f - w", lambda w, b, f: f - w, follows_first=True)
NEXT_END = Start("ceil(f / b) * b - w", lambda w, b, f: _up(f, b) - w)
FROM_ZERO = Start(
    "floor(max(0, f - w + b) / b) * b - 1", lambda w, b, f: max(0, f - w + b) // b * b - 1
)
ZERO = Start("0", lambda w, b, f: 0)
BEFORE_ZERO = Start("-w", lambda w, b, f: -w)


@dataclass(frozen=True)
class Operator:
    """The window operator of an engine for one domain."""

    start: Start
    behaviour: Behaviour


@dataclass(frozen=True)
class Profile:
    """An engine in SECRET.

    Attributes:
        name: as in commands; case does not matter.
        time, tuple: the operators for time and tuple windows; None: the engine has none.
        note: what the model leaves out, or where it differs from the product.
        drops_late: whether the product drops late tuples by default; None: not known.
        sessions_touch: whether sessions exactly a gap apart are one; None: no sessions known.
    """

    name: str
    title: str
    time: Operator | None
    tuple: Operator | None
    note: str = ""
    drops_late: bool | None = None
    sessions_touch: bool | None = None

    def operator(self, domain: Domain) -> Operator:
        """Return the operator for a domain.

        Raises:
            UnknownEngineError: the engine has no such windows.
        """
        found = self.time if domain is Domain.time else self.tuple
        if found is None:
            msg = f"{self.title} has no {domain} windows: ask for its other windows"
            raise UnknownEngineError(msg)
        return found

    def windows(self, domain: Domain, size: int, slide: int, first: int) -> Windows:
        """Return windows of a size and a slide.

        Args:
            first: application time of the first tuple.
        """
        start = self.operator(domain).start.of(size, slide, first)
        return Windows(domain, size, slide, start)


_CLOSED = Report(non_empty=True, window_close=True)
_CHANGED_CLOSED = Report(content_change=True, window_close=True)
_STREAM = Report(content_change=True, non_empty=True, window_close=True)
_CHANGED = Report(content_change=True, non_empty=True)
_SHIFTED = (
    "The simulator aligns ends, the product starts: equal only if the slide divides the size; "
    "see {}."
)


def _simulated(tick: Tick, report: Report, start: Start) -> Operator:
    return Operator(start, Behaviour(tick, report, lower_bound_closes=True))


_FLINK_TIME = _simulated(Tick.time, _CLOSED, ALIGNED_ENDS)
_FLINK_TUPLE = _simulated(Tick.tuple, _CLOSED, CLOSED_ENDS)
_REAL_TIME = Operator(ALIGNED_STARTS, Behaviour(Tick.time, _CLOSED, flush=True))

SIMULATED = (
    Profile(
        "Coral8",
        "Coral8",
        _simulated(Tick.batch, _CHANGED, ALIGNED_STARTS),
        _simulated(Tick.batch, _CHANGED, ZERO),
    ),
    Profile(
        "OracleCEP",
        "Oracle CEP",
        _simulated(Tick.time, _CHANGED_CLOSED, NEXT_END),
        _simulated(Tick.time, _CHANGED_CLOSED, CLOSED_ENDS),
    ),
    Profile(
        "STREAM",
        "STREAM",
        _simulated(Tick.time, _STREAM, FIRST_TUPLE),
        _simulated(Tick.time, _STREAM, BEFORE_ZERO),
    ),
    Profile(
        "StreamBase",
        "StreamBase",
        _simulated(Tick.tuple, _CLOSED, ALIGNED_STARTS),
        _simulated(Tick.tuple, _CLOSED, ZERO),
    ),
    Profile(
        "Flink",
        "Flink",
        _FLINK_TIME,
        _FLINK_TUPLE,
        _SHIFTED.format("flink-real"),
        drops_late=True,
        sessions_touch=True,
    ),
    Profile(
        "Dataflow",
        "Google Dataflow",
        _FLINK_TIME,
        _FLINK_TUPLE,
        _SHIFTED.format("beam-real") + " The product has no tuple windows.",
        drops_late=True,
        sessions_touch=False,
    ),
    Profile(
        "Storm",
        "Storm",
        _simulated(Tick.time, _CLOSED, CLOSED_ENDS),
        _simulated(Tick.tuple, _CLOSED, CLOSED_ENDS),
        "No recorded output of the product confirms these windows.",
    ),
    Profile(
        "KafkaStreams",
        "Kafka Streams",
        _simulated(Tick.tuple, Report(non_empty=True, period=1), FROM_ZERO),
        _simulated(Tick.tuple, Report(non_empty=True, period=1), ZERO),
        "The product updates every window of a tuple, the model shows the oldest open one only; "
        "it has no tuple windows.",
        drops_late=True,
        sessions_touch=True,
    ),
    Profile(
        "Spark16",
        "Spark DStreams",
        _simulated(Tick.time, Report(window_close=True), ALIGNED_ENDS),
        _simulated(Tick.time, Report(window_close=True), ZERO),
        "The product's windows are of arrival times, with a phase that depends on when the "
        "receiver started; it has no tuple windows.",
    ),
)
"""The engines in the simulator of the sources, by the simulator's names."""

KNOWN = (
    Profile(
        "Azure",
        "Azure Stream Analytics",
        Operator(ALIGNED_ENDS, Behaviour(Tick.time, _CLOSED)),
        None,
        "The sources could not determine where windows start: aligned ends are assumed.",
    ),
    Profile(
        "flink-real",
        "Flink, the product",
        _REAL_TIME,
        Operator(CLOSED_ENDS, replace(_FLINK_TUPLE.behaviour, flush=True)),
        "A count window fires on its last element at once; the model needs the next one.",
        drops_late=True,
        sessions_touch=True,
    ),
    Profile(
        "beam-real", "Beam, the product", _REAL_TIME, None, drops_late=True, sessions_touch=False
    ),
    Profile(
        "spark-structured",
        "Spark Structured Streaming, append",
        Operator(ALIGNED_STARTS, Behaviour(Tick.batch_end, _CLOSED)),
        None,
        "Output modes update and complete report several windows at one instant: not expressible.",
        drops_late=True,
        sessions_touch=True,
    ),
    Profile(
        "slackwater",
        "Slackwater",
        Operator(ALIGNED_ENDS, Behaviour(Tick.batch_end, _CLOSED, flush=True)),
        Operator(CLOSED_ENDS, Behaviour(Tick.tuple, _CLOSED)),
        "One partition in order, ALIGN end, ORIGIN 0; times from 0 on. A window of tuples is sent "
        "with its last tuple; the model needs the next one.",
        drops_late=False,
        sessions_touch=False,
    ),
)
"""What is known beyond that simulator: products, and this runtime."""

_BY_NAME = {profile.name.lower(): profile for profile in (*SIMULATED, *KNOWN)}


def profile_of(name: str) -> Profile:
    """Return the profile of an engine.

    Raises:
        UnknownEngineError: there is none of this name.
    """
    try:
        return _BY_NAME[name.lower()]
    except KeyError:
        names = ", ".join(_BY_NAME)
        msg = f"{name!r} is not an engine with a profile: use one of {names}"
        raise UnknownEngineError(msg) from None
