"""What differs between an output and what a test expects of it, for people: side by side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from chaos.file_tests.matching import Fields, Pair, Part, spelled

_DIFFERS, _NOTHING = "!", "-"
_WIDTH_MAX = 60


def lines_of(parts: Sequence[Part]) -> Iterator[str]:
    """Yield what is not as expected; each line that differs begins with an exclamation mark."""
    for part in parts:
        if part.ok:
            continue
        if part.number is not None:
            yield f"{part.name}: {part.number[0]} expected, {part.number[1]} found"
            continue
        wanted = sum(pair.expected is not None for pair in part.pairs)
        found = sum(pair.actual is not None for pair in part.pairs)
        good = sum(pair.ok for pair in part.pairs)
        yield f"{part.name}: {wanted} expected, {found} found, {good} as expected"
        yield from _table(part)


def _table(part: Part) -> Iterator[str]:
    """Yield a line for each member of each line that is not as expected, in columns."""
    rows = [("", "", "expected", "actual")]
    for number, pair in enumerate(part.pairs, 1):
        if not pair.ok:
            rows += [("", f"line {number}", *_of_line(pair)), *_members(pair)]
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    for row in rows:
        mark, name, expected, actual = row
        cells = (mark.ljust(1), name.ljust(widths[1]), expected.ljust(widths[2]), actual)
        yield "  ".join(cells).rstrip()


def _of_line(pair: Pair) -> tuple[str, str]:
    if pair.actual is None:
        return "", "missing"
    return ("none", "") if pair.expected is None else ("", "")


def _members(pair: Pair) -> Iterator[tuple[str, str, str, str]]:
    either: Fields = pair.expected or pair.actual or {}
    alone = pair.expected is None or pair.actual is None
    for name in either:
        expected, actual = (
            _NOTHING if side is None else _short(spelled(side[name]))
            for side in (pair.expected, pair.actual)
        )
        mark = _DIFFERS if alone or name in pair.differing else ""
        yield mark, f"  {name}", expected, actual


def _short(text: str) -> str:
    return text if len(text) <= _WIDTH_MAX else f"{text[: _WIDTH_MAX - 1]}…"
