"""Lines that a test expects beside those that there are: which belong together, and what differs.

What an expectation names is compared, and nothing else. Numbers are compared by value, so that 3 is
3.0; true is no number.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from windowing.model.file.file_tests import LETTERS, Expectation

Fields = Mapping[str, Any]
"""Of a line: its members by name, those of a mapping in it by `NAME.MEMBER`."""

_ABSENT: Final = {"overflow": [], "tombstone": False}
"""What a member of a line is that only some lines have; of all others null."""

_ALIGNED_MAX: Final = 1_000_000
"""The most pairs of lines that are looked at to find out which belong together."""

_IDENTITY: Final = (
    *("window_id", "window_start", "window_end", "key", "pane", "revision", "op"),
    *("source", "partition", "offset", "query", "reason"),
)
"""What tells a line from others: shown of one that nobody expects, with its values."""


@dataclass(frozen=True)
class Pair:
    """A line that is expected, and the one that stands for it.

    Attributes:
        expected: what it has to be; None: nothing more is expected.
        actual: the same members of the line that there is; None: there is none.
        differing: the members that differ.
    """

    expected: Fields | None
    actual: Fields | None
    differing: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether the line is as expected."""
        return self.expected is not None and self.actual is not None and not self.differing


@dataclass(frozen=True)
class Part:
    """What a test expects of a query, of the dead letters, or of a number.

    Attributes:
        name: as under `expect`.
        pairs: in the order of the output.
        number: that which is expected, and that which there is; None: lines are.
    """

    name: str
    pairs: tuple[Pair, ...] = ()
    number: tuple[int, int] | None = None

    @property
    def ok(self) -> bool:
        """Whether all of it is as expected."""
        same = self.number is None or self.number[0] == self.number[1]
        return same and all(pair.ok for pair in self.pairs)

    @property
    def missing(self) -> bool:
        """Whether there are fewer lines than are expected."""
        return any(pair.actual is None for pair in self.pairs)


@dataclass(frozen=True)
class Found:
    """An output, as lines that have been parsed.

    Attributes:
        rows: by query, in the order of OUT.jsonl.
        dead: in the order of OUT.dead.jsonl, with what `--explain-dead` adds.
        counted: how many records reading has counted, by the name of what became of them.
    """

    rows: Mapping[str, Sequence[dict[str, Any]]]
    dead: Sequence[dict[str, Any]]
    counted: Mapping[str, int]


def matched(expect: Mapping[str, Expectation], found: Found) -> list[Part]:
    """Return an output beside what is expected of it."""
    parts = []
    for name, expected in expect.items():
        if isinstance(expected, int):
            parts.append(Part(name, number=(expected, found.counted.get(name, 0))))
        else:
            lines = found.dead if name == LETTERS else found.rows.get(name, ())
            pairs = paired([one.named for one in expected], [_fields(line) for line in lines])
            parts.append(Part(name, tuple(pairs)))
    return parts


def paired(expected: Sequence[Fields], actual: Sequence[Fields]) -> list[Pair]:
    """Return lines beside each other, in their order, so that little differs."""
    ahead = 0
    while ahead < min(len(expected), len(actual)) and _same(expected[ahead], actual[ahead]):
        ahead += 1
    head = [_pair(*both) for both in zip(expected[:ahead], actual[:ahead], strict=True)]
    return [*head, *_aligned(expected[ahead:], actual[ahead:])]


def _aligned(expected: Sequence[Fields], actual: Sequence[Fields]) -> Iterator[Pair]:
    """Align lines by the fewest differences; very many by their places."""
    many, more = len(expected), len(actual)
    if many * more > _ALIGNED_MAX:
        for place in range(max(many, more)):
            yield _pair(
                expected[place] if place < many else None, actual[place] if place < more else None
            )
        return
    # costs[i][j]: of the lines from expected[i] and actual[j] on; a line without another costs 1.
    costs = [[float(more - j) for j in range(more + 1)]]
    for i in reversed(range(many)):
        below, row = costs[-1], [0.0] * more + [float(many - i)]
        for j in reversed(range(more)):
            both = below[j + 1] + _cost(expected[i], actual[j])
            row[j] = min(both, below[j] + 1, row[j + 1] + 1)
        costs.append(row)
    costs.reverse()
    i = j = 0
    while i < many or j < more:
        if (
            i < many
            and j < more
            and costs[i][j] == costs[i + 1][j + 1] + _cost(expected[i], actual[j])
        ):
            yield _pair(expected[i], actual[j])
            i, j = i + 1, j + 1
        elif i < many and costs[i][j] == costs[i + 1][j] + 1:
            yield _pair(expected[i], None)
            i += 1
        else:
            yield _pair(None, actual[j])
            j += 1


def _cost(expected: Fields, actual: Fields) -> float:
    """Return how little two lines belong together: 0 if nothing differs, 2 if everything does."""
    if not expected:
        return 0
    return 2 * sum(not _named_same(name, expected, actual) for name in expected) / len(expected)


def _pair(expected: Fields | None, actual: Fields | None) -> Pair:
    if expected is None or actual is None:
        shown = [*_IDENTITY, *(name for name in actual or () if name.startswith("values."))]
        return Pair(expected, actual and {one: actual[one] for one in shown if one in actual})
    own = {name: _member(name, actual) for name in expected}
    names = tuple(name for name in expected if not _named_same(name, expected, actual))
    return Pair(expected, own, names)


def _same(expected: Fields, actual: Fields) -> bool:
    return all(_named_same(name, expected, actual) for name in expected)


def _named_same(name: str, expected: Fields, actual: Fields) -> bool:
    return is_same(expected[name], _member(name, actual))


def _member(name: str, line: Fields) -> Any:
    return line.get(name, _ABSENT.get(name))


def is_same(expected: object, actual: object) -> bool:
    """Whether a value of a file and one of an output are the same."""
    if isinstance(expected, list) and isinstance(actual, list):
        return len(expected) == len(actual) and all(map(is_same, expected, actual))
    if isinstance(expected, bool) or isinstance(actual, bool):
        return expected is actual
    return expected == actual


def _fields(line: Mapping[str, Any]) -> dict[str, Any]:
    """Return the members of a line; of a mapping in it also each of its own."""
    found = dict(line)
    for name, value in line.items():
        if isinstance(value, dict):
            found |= {f"{name}.{member}": one for member, one in value.items()}
    return found


def spelled(value: object) -> str:
    """Return a value as lines of output have it."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
