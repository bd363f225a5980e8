"""Keys of the stores: bytes in the order of the values that they encode.

Components are self-delimiting, so they are simply concatenated:

    i64        8 bytes, big-endian, of v + 2^63
    partition  4 bytes, big-endian, of v + 2^31
    text       UTF-8 with 00 escaped as 00 FF, then 00 01
    key        01 for null; 02 and an i64; 03 and text

Source: SAMZA-552, sections on the message store and the window store; the encoding is ours.
"""

from __future__ import annotations

from typing import Literal

from windowing.model.record import lane_order

Layout = Literal[
    "offset", "eq_offset", "ts_offset", "eq_ts_offset", "ts_eq_offset", "session_ts_offset"
]
"""A component of message keys; `eq` is the join key, `offset` means lane and offset."""

_COMPONENTS: dict[Layout, tuple[str, ...]] = {
    "offset": ("place",),
    "eq_offset": ("key", "place"),
    "ts_offset": ("ts", "place"),
    "eq_ts_offset": ("key", "ts", "place"),
    "ts_eq_offset": ("ts", "key", "place"),
    "session_ts_offset": ("key", "ts", "place"),
}


def i64(value: int) -> bytes:
    """Encode a 64-bit integer, negative before positive."""
    return (value + 2**63).to_bytes(8, "big")


def text(value: str) -> bytes:
    """Encode text in the order of its UTF-8 bytes; a prefix sorts first."""
    return value.encode().replace(b"\x00", b"\x00\xff") + b"\x00\x01"


def key(value: str | int | None) -> bytes:
    """Encode a key: null first, then integers, then text."""
    if value is None:
        return b"\x01"
    return b"\x02" + i64(value) if isinstance(value, int) else b"\x03" + text(value)


def place(lane: str, offset: int) -> bytes:
    """Encode lane and offset."""
    source, partition = lane_order(lane)
    return text(source) + (partition + 2**31).to_bytes(4, "big") + i64(offset)


def message_key(
    layout: Layout, *, ts: int, group: str | int | None, lane: str, offset: int
) -> bytes:
    """Return the key of a message; components outside the layout are ignored."""
    parts = {
        "ts": lambda: i64(ts),
        "key": lambda: key(group),
        "place": lambda: place(lane, offset),
    }
    return b"".join(parts[name]() for name in _COMPONENTS[layout])


def window_start(start: int, group: str | None) -> bytes:
    """Return the key of a window: in the order of expiry, then of group keys."""
    return i64(start) + key(group)


def session_start(group: str | int | None, start: int) -> bytes:
    """Return the key of a session; those of one session key are adjacent."""
    return key(group) + i64(start)


def shared_prefix(low: bytes, high: bytes) -> bytes:
    """Return the common prefix of all keys between two keys."""
    length = next((i for i, (a, b) in enumerate(zip(low, high, strict=False)) if a != b), None)
    return low[:length] if length is not None else min(low, high, key=len)


def by_time_first(layout: Layout) -> bool:
    """Return whether a range of time is one range of keys."""
    return _COMPONENTS[layout][0] == "ts"


def by_key_first(layout: Layout) -> bool:
    """Return whether one key's messages are adjacent."""
    return _COMPONENTS[layout][0] == "key"
