"""Punctuations in graphs of operators: the check against its definition, on arbitrary graphs."""

from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from windowing.model.operators.models import aggregate_windows
from windowing.model.operators.ports import (
    Graph,
    InputMode,
    InputPort,
    OutputMode,
    OutputPort,
    Ports,
    Stream,
    unpunctuated,
)
from windowing.model.windows.policy import Punct, count, punct, sliding, tumbling

FREE, GENERATING = OutputPort(), OutputPort(OutputMode.generating)
EXPECTING, OBLIVIOUS = InputPort(InputMode.expecting), InputPort()
SOURCE = Ports(outputs=(FREE,))
PUNCTOR = Ports((OBLIVIOUS,), (GENERATING,))
FILTER = Ports((OBLIVIOUS,), (OutputPort(OutputMode.preserving),))
SINK = Ports((EXPECTING,))


def chain(**operators: Ports) -> Graph:
    names = list(operators)
    streams = [Stream((b, 0), (a, 0)) for a, b in pairwise(names)]
    return Graph(operators, tuple(streams))


def reasons(graph: Graph) -> dict[tuple[str, int], str]:
    return {(error.operator, error.port): error.reason for error in unpunctuated(graph)}


def two_ports(preserves: int | None) -> Ports:
    return Ports((OBLIVIOUS, OBLIVIOUS), (OutputPort(OutputMode.preserving, preserves),))


def merged(preserves: int | None) -> Graph:
    """Port 0 of `both` has punctuations, port 1 has none."""
    operators = {"in": SOURCE, "punctor": PUNCTOR, "both": two_ports(preserves), "out": SINK}
    streams = (
        Stream(("punctor", 0), ("in", 0)),
        Stream(("both", 0), ("punctor", 0)),
        Stream(("both", 1), ("in", 0)),
        Stream(("out", 0), ("both", 0)),
    )
    return Graph(operators, streams)


FAN_IN = Graph(
    {"one": PUNCTOR, "other": PUNCTOR, "out": SINK},
    (
        *(Stream((name, 0), None) for name in ("one", "other")),
        *(Stream(("out", 0), (name, 0)) for name in ("one", "other")),
    ),
)
CYCLE = Graph(
    {"one": FILTER, "other": FILTER, "out": SINK},
    (
        Stream(("one", 0), ("other", 0)),
        Stream(("other", 0), ("one", 0)),
        Stream(("out", 0), ("other", 0)),
    ),
)
REASONS = [
    (chain(a=SOURCE, b=PUNCTOR, c=SINK), None),
    (chain(a=SOURCE, b=PUNCTOR, c=FILTER, d=FILTER, e=SINK), None),
    (chain(a=SOURCE, out=SINK), "output port 0 of a sends none"),
    (chain(a=SOURCE, b=FILTER, out=SINK), "output port 0 of a sends none"),
    (chain(out=SINK), "input port 0 of out has 0 streams, and must have one"),
    (Graph({"out": SINK}, (Stream(("out", 0), None),)), "the stream of input port 0 of out is imp"),
    (merged(0), None),
    (merged(1), "output port 0 of in sends none"),
    (merged(None), "output port 0 of both does not say which of 2 ports it follows"),
    (FAN_IN, "input port 0 of out has 2 streams, and must have one"),
    (CYCLE, "input port 0 of other is fed by itself, in a cycle"),
]


@pytest.mark.parametrize(("graph", "reason"), REASONS)
def test_an_error_names_port_operator_and_reason(graph: Graph, reason: str | None) -> None:
    errors = list(unpunctuated(graph))
    assert len(errors) == (reason is not None)
    for error in errors:
        text = f"input port {error.port} of {error.operator} expects window punctuations"
        assert str(error).startswith(text)
        assert reason is not None
        assert error.reason.startswith(reason)


def test_a_window_bound_port_expects_punctuations_that_evict() -> None:
    assert InputPort(InputMode.window_bound, tumbling(punct())).expects
    assert not InputPort(InputMode.window_bound, sliding(count(3))).expects
    for window in aggregate_windows():
        port = InputPort(InputMode.window_bound, window)
        assert port.expects == isinstance(window.eviction, Punct)


_MODES = st.sampled_from(list(OutputMode))


@st.composite
def _graphs(draw: st.DrawFn) -> Graph:
    operators = {}
    for name in "abcdef"[: draw(st.integers(1, 6))]:
        inputs = draw(st.lists(st.sampled_from([EXPECTING, OBLIVIOUS]), max_size=2))
        numbers = st.integers(0, len(inputs) - 1) if inputs else st.nothing()
        preserved = st.builds(OutputPort, st.just(OutputMode.preserving), st.none() | numbers)
        sent = st.sampled_from([FREE, GENERATING]) | (preserved if inputs else st.nothing())
        operators[name] = Ports(tuple(inputs), tuple(draw(st.lists(sent, max_size=2))))
    targets = [(name, n) for name, ports in operators.items() for n in range(len(ports.inputs))]
    origins = [(name, n) for name, ports in operators.items() for n in range(len(ports.outputs))]
    if not targets:
        return Graph(operators, ())
    origin = st.sampled_from([*origins, None])
    some = st.lists(st.builds(Stream, st.sampled_from(targets), origin), max_size=10, unique=True)
    return Graph(operators, tuple(draw(some)))


def punctuated(graph: Graph) -> set[tuple[str, int]]:
    """The output ports whose streams have punctuations: the least set that the rules allow."""
    found = set[tuple[str, int]]()
    while True:
        more = {
            (name, number)
            for name, ports in graph.operators.items()
            for number, output in enumerate(ports.outputs)
            if output.mode is OutputMode.generating
            or (
                output.mode is OutputMode.preserving
                and (output.preserves is not None or len(ports.inputs) == 1)
                and fed((name, output.preserves or 0), graph, found)
            )
        }
        if more == found:
            return found
        found = more


def fed(port: tuple[str, int], graph: Graph, found: set[tuple[str, int]]) -> bool:
    """Whether a single stream feeds an input port, from one of these output ports."""
    origins = [stream.origin for stream in graph.streams if stream.target == port]
    return len(origins) == 1 and origins[0] in found


@given(_graphs())
@example(CYCLE)
def test_ports_without_punctuations_are_found_in_any_graph(graph: Graph) -> None:
    sending = punctuated(graph)
    wanted = {
        (name, number)
        for name, ports in graph.operators.items()
        for number, port in enumerate(ports.inputs)
        if port.expects and not fed((name, number), graph, sending)
    }
    assert reasons(graph).keys() == wanted
