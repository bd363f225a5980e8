"""Inputs that somebody might hand in: recorded ones, spoilt in their grammar or in their bytes."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

import yaml
from hypothesis import strategies as st

Place = tuple[Any, Any]
"""A container of a document, and a key or an index of it."""


class Recorded(list[Any]):
    """What was recorded, to be changed; reports do not spell all of it."""

    def __repr__(self) -> str:
        return f"<{len(self)} recorded>"


def _one(draw: st.DrawFn, recorded: Recorded) -> Any:
    return recorded[draw(st.integers(0, len(recorded) - 1))]


_DEPTH = 6
_ODD = [
    *(None, True, False, 0, -1, 1, 2**31, 2**63 - 1, 2**63, -(2**63), 2**70, 10**30, 0.5, 1e308),
    *(float("inf"), float("nan"), -0.0, "", " ", ".", "..", "../../x", "a/b", "\0", "a\0b", "\n"),
    *(
        "x" * 300,
        "x" * 10_000,
        "9" * 5000,
        "1" + " " * 4000 + "!",
        "(" * 3000,
        "é",
        "\u202e",
        "\x1b",
    ),
    *("int?", "string", "9e99 hours", "1 us", "-1 s", "0 rows", "9223372036854775807 us"),
    *("count", "sum(v)", "quantile(v, 2)", "top_k(v, 99999999)", "python:os:system(v)"),
    *("python:tests.nowhere:C(v)", "RANGE 1 us SLIDE 1 us WATTR ts", "SESSION 0 s WATTR ts"),
    *(
        "RANGE 9223372036854775807 us SLIDE 1 us WATTR ts ORIGIN -9223372036854775808 us",
        "LANDMARK",
    ),
    *("metrics", "dead_letters", "continuous", "* * * * *", "0 0 31 2 *", "@daily", "2024-02-30"),
    *("1970-01-01", "2024-01-01T00:00:00+25:00", "left.x > right.y", "left.x", "row_num", "run"),
    *([], {}, [[]], [None], {"a": {"b": {"c": []}}}, [1, 1], {"": ""}, {"query": "q"}, {1: 2}),
]
_BYTES = [
    *(b"\0", b"\xff", b"\xef\xbb\xbf", b"\t", b"\r", b"\n", b"\x1b", b"\xe2\x80\xa8", b"{", b"}"),
    *(
        b"[",
        b"]",
        b"[" * 500,
        b": ",
        b"- ",
        b"? ",
        b"&a ",
        b"*a ",
        b"<<: ",
        b"!!int ",
        b"!!binary ",
    ),
    *(b"!!python/object:os.system ", b"!!timestamp ", b"|", b">", b"'", b'"', b"#", b"%YAML 9\n"),
    *(
        b"---\n",
        b"...\n",
        b"\\u0000",
        b"\\ud800",
        b"1e999",
        b"NaN",
        b"-0",
        b"9" * 5000,
        b"{}" * 200,
    ),
    *(
        b"2024-02-30",
        b"null",
        b"0x",
        b"190:20:30",
        b"\xed\xa0\x80",
        b"\xc0\x80",
        b"$",
        b"%",
        b"<script>",
    ),
]


def places(document: object, depth: int = 0) -> Iterator[Place]:
    """The places of a document that are not too deep in it; it may contain itself."""
    keys: Any = ()
    if isinstance(document, dict):
        keys = list(document)
    elif isinstance(document, list):
        keys = range(len(document))
    for key in keys if depth < _DEPTH else ():
        yield document, key
        yield from places(document[key], depth + 1)  # type: ignore[index]


@st.composite
def documents(draw: st.DrawFn, seeds: Recorded) -> Any:
    """A recorded document with a few places changed."""
    document = copy.deepcopy(_one(draw, seeds))
    for _ in range(draw(st.integers(1, 4))):
        found = list(places(document))
        if not found:
            break
        holder, key = found[draw(st.integers(0, len(found) - 1))]
        change = draw(st.sampled_from(_CHANGES))
        change(draw, found, holder, key)
    return document


def _replace(draw: st.DrawFn, found: list[Place], holder: Any, key: Any) -> None:
    holder[key] = copy.deepcopy(draw(st.sampled_from(_ODD)))


def _borrow(draw: st.DrawFn, found: list[Place], holder: Any, key: Any) -> None:
    """What stands elsewhere, perhaps what it stands in itself: an alias, or a cycle."""
    other, at = found[draw(st.integers(0, len(found) - 1))]
    holder[key] = other[at]


def _delete(draw: st.DrawFn, found: list[Place], holder: Any, key: Any) -> None:
    del holder[key]


def _rename(draw: st.DrawFn, found: list[Place], holder: Any, key: Any) -> None:
    if isinstance(holder, dict):
        odd = draw(st.sampled_from([one for one in _ODD if isinstance(one, str | int | float)]))
        holder[odd] = holder.pop(key)
    else:
        holder.append(holder[key])


def _wrap(draw: st.DrawFn, found: list[Place], holder: Any, key: Any) -> None:
    for _ in range(draw(st.sampled_from([1, 2, 60]))):
        holder[key] = [holder[key]] if draw(st.booleans()) else {"x": holder[key]}


def _many(draw: st.DrawFn, found: list[Place], holder: Any, key: Any) -> None:
    value = holder[key]
    if isinstance(value, dict):
        value.update({f"x{number}": None for number in range(500)})
    else:
        holder[key] = [value] * 500


_CHANGES: list[Callable[..., None]] = [_replace, _replace, _replace, _borrow, _delete, _rename]
_CHANGES += [_wrap, _many]


@st.composite
def spoilt(draw: st.DrawFn, contents: bytes) -> bytes:
    """Bytes with a few of them changed."""
    for _ in range(draw(st.integers(0, 3))):
        at = draw(st.integers(0, len(contents)))
        until = min(len(contents), at + draw(st.sampled_from([0, 0, 1, 2, 10, 100])))
        more = draw(st.sampled_from(_BYTES) | st.binary(max_size=8))
        contents = contents[:at] + more + contents[until:]
    if draw(st.integers(0, 9)) == 0:
        contents = contents[: draw(st.integers(0, len(contents)))]
    return contents


@st.composite
def yaml_files(draw: st.DrawFn, seeds: Recorded, read: Recorded) -> bytes:
    """A YAML file: a changed document, a changed text, or hardly anything.

    Args:
        seeds: recorded files.
        read: the documents in them.
    """
    if draw(st.integers(0, 19)) == 0:
        return draw(st.binary(max_size=50))
    if draw(st.booleans()):
        return draw(spoilt(_one(draw, seeds)))
    document = draw(documents(read))
    text = yaml.safe_dump(document, sort_keys=False, allow_unicode=draw(st.booleans()))
    return draw(spoilt(text.encode(errors="surrogatepass")))


@st.composite
def line_files(draw: st.DrawFn, seeds: Recorded, spell: Callable[[Any], str]) -> bytes:
    """A file of JSON lines: some of a recorded one, changed."""
    lines = copy.deepcopy(_one(draw, seeds))
    begin = draw(st.integers(0, max(0, len(lines) - 1)))
    lines = lines[begin : begin + draw(st.integers(1, 12))]
    if draw(st.booleans()):
        lines = draw(documents(Recorded([lines])))
    text = "".join(spell(line) + "\n" for line in lines)
    return draw(spoilt(text.encode(errors="surrogatepass")))
