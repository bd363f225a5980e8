"""Control headers as brokers hand them over: null, twice, of no known shape; one verdict of all."""

from __future__ import annotations

from pathlib import Path

import pytest

from chaos.readers.log import LogRecord, read_events
from chaos.readers.topic import _control
from jobs.brokers.producing import control_of
from jobs.brokers.producing import headers as headers_of
from jobs.tools.recording import Event, event_line
from windowing.engine.reading.control import ControlError, read_control
from windowing.model.control import (
    CONTROL_HEADER,
    COUNTER_HEADER,
    SIGNATURE_HEADER,
    ControlEnvelope,
    sealed,
    unsealed,
)
from windowing.semantics.controls import read_control as read_defined

BOUND = b'{"bound":40}'
Headers = list[tuple[str, bytes | None]]
# Of each record the headers, and whether it is a dead letter.
VARIANTS: list[tuple[Headers, bool]] = [
    ([(CONTROL_HEADER, b'{"bund":7}')], True),
    ([(CONTROL_HEADER, None)], True),
    ([(CONTROL_HEADER, b"")], True),
    ([(CONTROL_HEADER, b"\xff{}")], True),
    ([(CONTROL_HEADER, b'{"bound":40')], True),
    ([(CONTROL_HEADER, BOUND), (CONTROL_HEADER, BOUND)], True),
    ([(CONTROL_HEADER, BOUND), (CONTROL_HEADER, b'{"end":true}')], True),
    ([(CONTROL_HEADER, None), (CONTROL_HEADER, BOUND)], True),
    ([("other", b"x"), (CONTROL_HEADER, b'{"bound":5}')], False),
]


@pytest.mark.parametrize(("headers", "refused"), VARIANTS)
def test_a_client_reads_them_alike(headers: Headers, refused: bool) -> None:
    control = control_of(headers)
    assert control is not None
    assert (read_defined(control) is None) == refused
    if refused:
        with pytest.raises(ControlError, match="is not a control record"):
            read_control(control)
    assert control_of([("other", b"x")]) is None


SIGNED: list[tuple[Headers, ControlEnvelope]] = [
    (
        [(SIGNATURE_HEADER, b"ab"), (CONTROL_HEADER, BOUND), (COUNTER_HEADER, b"7")],
        ControlEnvelope(BOUND, b"ab", b"7"),
    ),
    ([(CONTROL_HEADER, BOUND), (SIGNATURE_HEADER, b"ab")], ControlEnvelope(BOUND)),
    ([(CONTROL_HEADER, BOUND), (COUNTER_HEADER, b"7")], ControlEnvelope(BOUND)),
    (
        [(CONTROL_HEADER, BOUND), (SIGNATURE_HEADER, None), (COUNTER_HEADER, b"7")],
        ControlEnvelope(BOUND),
    ),
    (
        [(CONTROL_HEADER, BOUND), *[(SIGNATURE_HEADER, b"ab")] * 2, (COUNTER_HEADER, b"7")],
        ControlEnvelope(BOUND),
    ),
    (
        [(CONTROL_HEADER, BOUND), (SIGNATURE_HEADER, b"a\x00b"), (COUNTER_HEADER, b"7")],
        ControlEnvelope(BOUND),
    ),
    (
        [(CONTROL_HEADER, BOUND), (SIGNATURE_HEADER, b""), (COUNTER_HEADER, b"\xff")],
        ControlEnvelope(BOUND, b"", b"\xff"),
    ),
    ([(CONTROL_HEADER, b"\x00ab\x007\x00{}")], ControlEnvelope(b"null")),
    (
        [(CONTROL_HEADER, b"\x00{}"), (SIGNATURE_HEADER, b"ab"), (COUNTER_HEADER, b"7")],
        ControlEnvelope(b"null"),
    ),
]
"""Headers, and what every reader hands on of them."""


@pytest.mark.parametrize(("headers", "read"), SIGNED)
def test_readers_hand_on_what_signs_a_record(headers: Headers, read: ControlEnvelope) -> None:
    by_client, by_reader = control_of(headers), _control(headers)
    assert by_client is not None
    assert by_reader is not None
    assert unsealed(by_client) == unsealed(by_reader) == read
    # And it is sent as it came.
    assert control_of(headers_of(by_client)) == by_client


@pytest.mark.parametrize(
    "control", [b"", b"{", b"\xff", b"null", b'["a"]', b'{"bound":NaN}', BOUND]
)
def test_whatever_a_header_holds_can_be_recorded(control: bytes, tmp_path: Path) -> None:
    event = Event("s", 0, 3, None, control, None)
    (tmp_path / "events.jsonl").write_bytes(event_line(event) + b"\n")
    (again,) = read_events(tmp_path / "events.jsonl")
    assert isinstance(again, LogRecord)
    assert again.control is not None
    assert again.value is None
    assert read_defined(again.control) == read_defined(control)


@pytest.mark.parametrize("signed", [(b"ab", b"7"), (b"", b""), (b"\xc3\xa9", b"x")])
def test_a_signature_is_recorded(signed: tuple[bytes, bytes], tmp_path: Path) -> None:
    event = Event("s", 0, 3, None, sealed(BOUND, *signed), None)
    (tmp_path / "events.jsonl").write_bytes(event_line(event) + b"\n")
    (again,) = read_events(tmp_path / "events.jsonl")
    assert again.control == event.control
