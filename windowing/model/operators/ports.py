"""Window punctuations between operators: the modes of ports, and the check of a graph.

A port that expects punctuations must be fed by a stream that has them. A stream has them if the
output port that sends it generates them, or preserves those of an input port whose stream has them.

Source: Gedik 2014, section 3.4.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise

from windowing.model.operators.query import OperatorQuery
from windowing.model.operators.steps import AggregateStep, DedupStep, Punctuate, SortStep, Step
from windowing.model.windows.policy import Punct, WindowClause

SOURCE = "the source"
"""The name of the operator that sends the records of a pipeline."""


class InputMode(StrEnum):
    """What an input port does with window punctuations."""

    oblivious = "oblivious"
    expecting = "expecting"
    window_bound = "window-bound"


class OutputMode(StrEnum):
    """Where the window punctuations of an output port come from."""

    free = "free"
    generating = "generating"
    preserving = "preserving"


@dataclass(frozen=True)
class InputPort:
    """An input port.

    Attributes:
        mode: window-bound ports expect punctuations if their window is evicted by them.
        window: of a window-bound port.
    """

    mode: InputMode = InputMode.oblivious
    window: WindowClause | None = None

    @property
    def expects(self) -> bool:
        """Whether the stream of this port must have window punctuations."""
        if self.mode is InputMode.window_bound:
            return self.window is not None and isinstance(self.window.eviction, Punct)
        return self.mode is InputMode.expecting


@dataclass(frozen=True)
class OutputPort:
    """An output port.

    Attributes:
        mode: where its punctuations come from.
        preserves: the number of the input port whose punctuations it forwards; needed where the
            operator has several.
    """

    mode: OutputMode = OutputMode.free
    preserves: int | None = None


@dataclass(frozen=True)
class Ports:
    """The ports of an operator, each numbered from 0."""

    inputs: tuple[InputPort, ...] = ()
    outputs: tuple[OutputPort, ...] = ()


@dataclass(frozen=True)
class Stream:
    """A stream from an output port to an input port.

    Attributes:
        target: the operator that takes it, and its port.
        origin: the operator that sends it, and its port; None: imported from another application.
    """

    target: tuple[str, int]
    origin: tuple[str, int] | None


@dataclass(frozen=True)
class Graph:
    """Operators and the streams between them; it may have cycles.

    Attributes:
        operators: by name.
        streams: each from one port to one other, both of operators of this graph.
    """

    operators: dict[str, Ports]
    streams: tuple[Stream, ...]


class PunctuationError(ValueError):
    """An input port that expects window punctuations, and cannot have them."""

    exit_code = 2

    def __init__(self, operator: str, port: int, reason: str) -> None:
        self.operator, self.port, self.reason = operator, port, reason
        super().__init__(
            f"input port {port} of {operator} expects window punctuations, and has none: {reason}"
        )


def unpunctuated(graph: Graph) -> Iterator[PunctuationError]:
    """Yield an error for each port that expects window punctuations and cannot have them."""
    for name, ports in graph.operators.items():
        for number, port in enumerate(ports.inputs):
            if port.expects and (reason := _missing(graph, name, number)) is not None:
                yield PunctuationError(name, number, reason)


def _missing(graph: Graph, operator: str, port: int) -> str | None:
    """Return why the stream of an input port has no window punctuations; None: it has."""
    seen = set[tuple[str, int]]()
    at = (operator, port)
    while True:
        if at in seen:
            return f"{_input(at)} is fed by itself, in a cycle without an operator that sends them"
        seen.add(at)
        feeding = [stream for stream in graph.streams if stream.target == at]
        if len(feeding) != 1:
            return f"{_input(at)} has {len(feeding)} streams, and must have one"
        origin = feeding[0].origin
        if origin is None:
            return f"the stream of {_input(at)} is imported"
        name, number = origin
        output = graph.operators[name].outputs[number]
        if output.mode is OutputMode.generating:
            return None
        if output.mode is not OutputMode.preserving:
            return f"output port {number} of {name} sends none"
        inputs = len(graph.operators[name].inputs)
        preserved = 0 if output.preserves is None and inputs == 1 else output.preserves
        if preserved is None:
            return f"output port {number} of {name} does not say which of {inputs} ports it follows"
        at = (name, preserved)


def _input(at: tuple[str, int]) -> str:
    return f"input port {at[1]} of {at[0]}"


def graph_of(query: OperatorQuery) -> Graph:
    """Return the graph of a query: its source, then its operators, one after another."""
    names = [SOURCE, *_names(query.steps)]
    ports = [Ports(outputs=(OutputPort(),)), *map(ports_of, query.steps)]
    streams = [Stream((target, 0), (origin, 0)) for origin, target in pairwise(names)]
    return Graph(dict(zip(names, ports, strict=True)), tuple(streams))


def ports_of(step: Step) -> Ports:
    """Return the ports of an operator of a pipeline.

    A progressive Sort, Dedup and a user's operator send tuples only.
    """
    if isinstance(step, Punctuate):
        return Ports((InputPort(),), (OutputPort(OutputMode.generating),))
    bound = (InputPort(InputMode.window_bound, step.window),)
    match step:
        case AggregateStep():
            return Ports(bound, (OutputPort(OutputMode.generating),))
        case SortStep() if step.window.kind == "tumbling":
            return Ports(bound, (OutputPort(OutputMode.generating),))
    return Ports(bound, (OutputPort(OutputMode.free),))


def name_of(step: Step) -> str:
    """Return the name of an operator, as a pipeline file spells it."""
    match step:
        case Punctuate():
            return "punctuate"
        case AggregateStep():
            return "aggregate"
        case SortStep():
            return "sort"
        case DedupStep():
            return "dedup"
    return f"python:{step.reference}"


def _names(steps: tuple[Step, ...]) -> Iterator[str]:
    """Yield a name for each step; numbered where a query has several of them."""
    names = [name_of(step) for step in steps]
    total, met = Counter(names), Counter[str]()
    for name in names:
        met[name] += 1
        yield name if total[name] == 1 else f"{name} {met[name]}"
