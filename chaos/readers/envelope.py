"""Decode the envelope of a line of EVENTS.jsonl, keeping the value's exact bytes.

A line is JSON, with more freedom in its value: NaN, lone surrogates, invalid UTF-8, any depth of
nesting. These make a bad value, which becomes a dead letter. Invalid JSON anywhere else breaks the
envelope, and so does a repeated name in the envelope.
"""

from __future__ import annotations

import json
import re
from typing import Annotated, Final, NamedTuple

import msgspec

from windowing.model.control import COUNTER_HEADER, SIGNATURE_HEADER, sealed
from windowing.model.metadata import NO_METADATA, Metadata

_INT64_MAX: Final = 2**63 - 1
_Int64 = Annotated[int, msgspec.Meta(ge=-_INT64_MAX - 1, le=_INT64_MAX)]
_ABSENT: Final = msgspec.Raw(b"")

_SPACE: Final = re.compile(r"[ \t\r\n]*")
_BRACKETS: Final = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"|[\[\]{}]')
_DEPTH: Final = {"[": 1, "{": 1, "]": -1, "}": -1}
# Numbers are not converted: only the extent of a value matters.
_SCANNER: Final = json.JSONDecoder(parse_int=str, parse_float=str, parse_constant=str)


class EventLine(NamedTuple):
    """The content of a line: the fields of `chaos.readers.log.LogRecord`."""

    source: str
    partition: int
    offset: int
    value: bytes | None
    control: bytes | None
    append_us: int | None
    metadata: Metadata = NO_METADATA


class _Envelope(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """A decoded line. Raw keeps the exact text: 5000.0 is not 5000, 1e400 stays 1e400."""

    source: str
    partition: Annotated[int, msgspec.Meta(ge=0, le=2**31 - 1)]
    offset: Annotated[int, msgspec.Meta(ge=0, le=_INT64_MAX)]
    value: msgspec.Raw = _ABSENT
    raw: msgspec.Raw = _ABSENT
    control: msgspec.Raw = _ABSENT
    headers: dict[str, str | None] | msgspec.UnsetType = msgspec.UNSET
    append_us: _Int64 | msgspec.UnsetType = msgspec.UNSET
    timestamp_us: _Int64 | msgspec.UnsetType | None = msgspec.UNSET
    key: str | msgspec.UnsetType | None = msgspec.UNSET


_ENVELOPE: Final = msgspec.json.Decoder(_Envelope)
_PLACE: Final = {
    *("source", "partition", "offset", "append_us", "headers"),
    *("key", "timestamp_us"),
}
_CONTENT: Final = {"value", "raw", "control"}
_NAMES: Final = tuple(b'"%s"' % name.encode() for name in sorted(_PLACE | _CONTENT))
_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"


def read_line(line: bytes) -> EventLine:
    """Decode a line.

    Raises:
        ValueError: it is not an object with `source`, `partition`, `offset`, exactly one of
            `value`, `raw` and `control`, and optionally `append_us`, `key`, `timestamp_us` and
            `headers`: beside a control, its signature and counter.
    """
    try:
        envelope = _ENVELOPE.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        envelope = _tolerant(line, error)
    else:
        # The decoder silently takes the last of repeated names.
        if b"\\u00" in line or any(line.count(name) > 1 for name in _NAMES):
            _members(line, ValueError("a name stands there twice"))
    value, control = _content(envelope)
    append_us = None if envelope.append_us is msgspec.UNSET else envelope.append_us
    place = envelope.source, envelope.partition, envelope.offset
    metadata = NO_METADATA if control is not None else _metadata(envelope)
    return EventLine(*place, value, control, append_us, metadata)


def _metadata(envelope: _Envelope) -> Metadata:
    key, time, headers = envelope.key, envelope.timestamp_us, envelope.headers
    if key is headers is msgspec.UNSET and time is msgspec.UNSET:
        return NO_METADATA
    named = {} if headers is msgspec.UNSET else headers
    return Metadata(
        None if key is None or key is msgspec.UNSET else key.encode(),
        None if time is msgspec.UNSET else time,
        tuple((name, None if one is None else one.encode()) for name, one in named.items()),
    )


def _content(envelope: _Envelope) -> tuple[bytes | None, bytes | None]:
    value, raw, control = envelope.value, envelope.raw, envelope.control
    if (value is not _ABSENT) + (raw is not _ABSENT) + (control is not _ABSENT) != 1:
        message = 'exactly one of "value", "raw" and "control" must be given'
        raise ValueError(message)
    if value is not _ABSENT:
        return bytes(value), None
    if control is not _ABSENT:
        # Take any JSON: an invalid control is a dead letter, not a broken line.
        return None, _with_signature(bytes(control), envelope)
    spelled = bytes(raw)
    if not spelled.startswith(b'"'):
        message = f'"raw" must be a string, not {_short(spelled)}'
        raise ValueError(message)
    return _text(spelled), None


def _with_signature(control: bytes, envelope: _Envelope) -> bytes:
    if envelope.headers is msgspec.UNSET:
        return control
    if other := sorted({*envelope.headers} - {SIGNATURE_HEADER, COUNTER_HEADER}):
        message = f'"headers" of a control are {SIGNATURE_HEADER} and {COUNTER_HEADER}: {other[0]}'
        raise ValueError(message)
    signed, counter = (
        None if (own := envelope.headers.get(name)) is None else own.encode()
        for name in (SIGNATURE_HEADER, COUNTER_HEADER)
    )
    return sealed(control, signed, counter)


def _text(spelled: bytes) -> bytes:
    try:
        text: str = json.loads(spelled)
    except ValueError as error:
        message = f'"raw" is not a string of JSON: {error}'
        raise ValueError(message) from error
    return text.encode("utf-8", "surrogatepass")


def _tolerant(line: bytes, reason: Exception) -> _Envelope:
    """Decode a line whose envelope may be valid although the strict decoder rejected it."""
    if isinstance(reason, msgspec.ValidationError):
        raise reason
    if line.startswith(_BYTE_ORDER_MARK):
        message = "it begins with a byte order mark: save the file as UTF-8 without one"
        raise ValueError(message) from reason
    pieces = _members(line, reason)
    place = b",".join(
        json.dumps(name).encode() + b":" + spelled
        for name, spelled in pieces.items()
        if name in _PLACE
    )
    content = {name: msgspec.Raw(text) for name, text in pieces.items() if name not in _PLACE}
    try:
        envelope = _ENVELOPE.decode(b"{" + place + b"}")
    except msgspec.ValidationError:
        raise
    except (ValueError, RecursionError):
        message = f"not an event: {reason}"
        raise ValueError(message) from reason
    if unknown := sorted(content.keys() - _CONTENT):
        message = f"unknown field {unknown[0]!r}"
        raise ValueError(message)
    return msgspec.structs.replace(envelope, **content)


def _members(line: bytes, reason: Exception) -> dict[str, bytes]:
    """Return the members of the outer object, with the exact text of their values."""
    try:
        pieces = members(line.decode("utf-8", "surrogateescape"))
    except (ValueError, RecursionError):
        message = f"not an event: {reason}"
        raise ValueError(message) from reason
    return {name: text.encode("utf-8", "surrogateescape") for name, text in pieces.items()}


def _short(spelled: bytes) -> str:
    text = spelled.decode("utf-8", "replace")
    return text if len(text) <= 40 else text[:40] + "…"


def members(text: str) -> dict[str, str]:
    """Split an object into its members, from names to the exact text of values.

    Raises:
        ValueError: the text is not a single object.
    """
    pieces: dict[str, str] = {}
    at = _skip(text, _expect(text, 0, "{"))
    while text[at : at + 1] != "}":
        name, at = _scan(text, at)
        if not isinstance(name, str) or name in pieces:
            message = "a name must be a string and occur once"
            raise ValueError(message)
        begin = _skip(text, _expect(text, at, ":"))
        at = _end(text, begin)
        pieces[name] = text[begin:at]
        at = _skip(text, at)
        if text[at : at + 1] != ",":
            break
        at = _skip(text, at + 1)
        if text[at : at + 1] == "}":
            message = "a name expected"
            raise ValueError(message)
    if _skip(text, _expect(text, at, "}")) != len(text):
        message = "text after the object"
        raise ValueError(message)
    return pieces


def elements(text: str) -> list[str]:
    """Split an array into the exact text of its elements.

    Raises:
        ValueError: the text is not a single array.
    """
    pieces: list[str] = []
    at = _skip(text, _expect(text, 0, "["))
    while text[at : at + 1] != "]":
        begin = _skip(text, _expect(text, at, ",")) if pieces else at
        at = _end(text, begin)
        pieces.append(text[begin:at])
        at = _skip(text, at)
    if _skip(text, at + 1) != len(text):
        message = "text after the array"
        raise ValueError(message)
    return pieces


def _end(text: str, at: int) -> int:
    try:
        return _scan(text, at)[1]
    except RecursionError:
        # The nesting is too deep for the scanner: count brackets outside strings instead.
        depth = 0
        for mark in _BRACKETS.finditer(text, at):
            depth += _DEPTH.get(mark.group(), 0)
            if depth == 0:
                return mark.end()
        raise


def _scan(text: str, at: int) -> tuple[object, int]:
    return _SCANNER.raw_decode(text, _skip(text, at))


def _skip(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at


def _expect(text: str, at: int, mark: str) -> int:
    at = _skip(text, at)
    if text[at : at + 1] != mark:
        message = f"{mark} expected"
        raise ValueError(message)
    return at + 1
