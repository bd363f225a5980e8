"""Inputs of models, and what is wrong with them."""

from __future__ import annotations

import pytest

from windowing.research.engines.parameters import StreamTuple
from windowing.research.engines.streams import StreamError, parse_stream, stream_of_times


def test_times_are_tuples_in_batches_of_their_own() -> None:
    assert stream_of_times("4, 4,9") == [
        StreamTuple(1, 1, 4, 1),
        StreamTuple(2, 2, 4, 2),
        StreamTuple(3, 3, 9, 3),
    ]


def test_a_file_has_four_fields_in_each_line() -> None:
    assert parse_stream(["10,1,5,1\n", "\n", "20,2,6,1\n"]) == [
        StreamTuple(10, 1, 5, 1),
        StreamTuple(20, 2, 6, 1),
    ]


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (["1,1,1"], "line 1: '1,1,1' has not four fields"),
        (["1,1,1,x"], "line 1: a field is an integer, not 'x'"),
        (["1,2,1,1"], "the first tuple has id 2"),
        (["1,1,1,1", "1,2,1,1"], "arrivals rise"),
        (["1,1,1,1", "2,3,1,1"], "ids are consecutive"),
        (["1,1,5,1", "2,2,4,1"], "times and batches never fall"),
        (["1,1,5,2", "2,2,5,1"], "times and batches never fall"),
    ],
)
def test_an_input_that_breaks_a_rule_is_refused(lines: list[str], said: str) -> None:
    with pytest.raises(StreamError, match=said):
        parse_stream(lines)
