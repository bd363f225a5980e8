"""The comparison of two sets of lines by their identities, in memory that does not grow with them.

Lines are divided by a hash of their identity, and compared division by division.
"""

from __future__ import annotations

import heapq
import json
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar
from zlib import crc32

from chaos.readers.output import Identity, Line
from chaos.verdict.point import Digest
from chaos.verdict.spool import Shelf, Spool
from windowing.model.file.pipeline import Pipeline
from windowing.model.lengths import INT64_MAX, INT64_MIN
from windowing.model.rows import of_row
from windowing.semantics import RowId

DIFFERENCES_KEPT: Final = 1000
"""Number of differences that a comparison keeps; it counts all."""

_FANOUT: Final = 256

T = TypeVar("T")


@dataclass(frozen=True)
class Difference:
    """One identity on which output and definition disagree.

    Attributes:
        expected: the definition's line; None: it has no such row.
        found: the output's lines; empty if lost, several if duplicated.
    """

    expected: str | None
    found: tuple[str, ...]

    @property
    def lost(self) -> bool:
        """Whether the output lacks it."""
        return not self.found

    @property
    def duplicated(self) -> int:
        """Number of surplus occurrences in the output."""
        return max(0, len(self.found) - 1)

    @property
    def differing(self) -> bool:
        """Whether the output has other bytes for it, or should not have it at all."""
        return any(line != self.expected for line in self.found)

    @property
    def fields(self) -> dict[str, Any]:
        """The expected line, or else the first one found, as data."""
        line = self.found[0] if self.expected is None else self.expected
        fields: dict[str, Any] = json.loads(line)
        return fields


@dataclass(frozen=True)
class Comparison:
    """The comparison of lines of one kind.

    Attributes:
        differences: where they disagree: the smallest, by the order that was asked for.
        totals: (lost, duplicated, differing), of all differences.
    """

    expected: int
    found: int
    differences: tuple[Difference, ...] = ()
    totals: tuple[int, int, int] = (0, 0, 0)


Order = Callable[[Difference], Any]
"""A sort key: which differences are shown first."""


def row_size(difference: Difference) -> tuple[object, ...]:
    """Return a row's sort key: number of records (few can be checked by hand), then window."""
    fields = difference.fields
    numbers = (_number(fields.get("records")), _number(fields["window_id"]))
    identity = (json.dumps(fields[name]) for name in ("query", "key", "revision"))
    return (*numbers, *identity, "op" not in fields)


def dead_letter_text(difference: Difference) -> str:
    """Return a dead letter's sort key."""
    return difference.expected or difference.found[0]


def _number(value: object) -> float:
    return value if isinstance(value, int | float) else -1


class LineMatch:
    """Lines that are expected and found, to be compared once all are there.

    Args:
        order: the sort key of differences.
        is_before: whether a line that was found, and that nobody expects, lies before the range.

    Attributes:
        before: the digest of the lines found that lie before the range, after `compare`.
        found: the same of all lines found.
    """

    def __init__(
        self, shelf: Shelf, order: Order, is_before: Callable[[Line], bool] = lambda _: False
    ) -> None:
        self._shelf, self._order, self._is_before = shelf, order, is_before
        self._expected: dict[int, Spool[Line]] = {}
        self._found: dict[int, Spool[Line]] = {}
        self._earlier: dict[int, Spool[Identity]] = {}
        self.before = self.found = Digest()

    def expect(self, lines: Iterable[Line]) -> None:
        """Add lines of the definition's result."""
        self._add(self._expected, lines)

    def find(self, lines: Iterable[Line]) -> None:
        """Add lines of the output."""
        self._add(self._found, lines)

    def pass_over(self, identities: Iterable[Identity]) -> None:
        """Add the identities of lines before the range."""
        for identity in identities:
            self._spool(self._earlier, identity).append(identity)

    def _add(self, spools: dict[int, Spool[Line]], lines: Iterable[Line]) -> None:
        for line in lines:
            self._spool(spools, line[0]).append(line)

    def _spool(self, spools: dict[int, Spool[T]], identity: Identity) -> Spool[T]:
        number = crc32("\0".join(identity).encode("utf-8", "surrogatepass")) % _FANOUT
        if number not in spools:
            spools[number] = Spool(self._shelf)
        return spools[number]

    def compare(self) -> Comparison:
        """Compare the lines by their identities, ignoring their order."""
        kept: list[Difference] = []
        expected = found = 0
        totals = [0, 0, 0]
        for number in sorted({*self._expected, *self._found}):
            wanted = list(self._expected.get(number, ()))
            got = self._in_range(number, {identity for identity, _ in wanted})
            expected, found = expected + len(wanted), found + len(got)
            differing = list(_differences(wanted, got))
            for at, total in enumerate(totals_of(differing)):
                totals[at] += total
            kept = heapq.nsmallest(DIFFERENCES_KEPT, [*kept, *differing], self._order)
        return Comparison(expected, found, tuple(kept), (totals[0], totals[1], totals[2]))

    def _in_range(self, number: int, wanted: Collection[Identity]) -> list[Line]:
        """Return lines that were found and are to be judged; add all to the digests."""
        earlier, judged = set(self._earlier.get(number, ())), []
        for line in self._found.get(number, ()):
            self.found = self.found.plus(line)
            known = line[0] in earlier
            if known or (line[0] not in wanted and self._is_before(line)):
                self.before = self.before.plus(line)
            else:
                judged.append(line)
        return judged


def compare(expected: Sequence[Line], found: Sequence[Line], order: Order = row_size) -> Comparison:
    """Compare lines that memory holds by their identities, ignoring their order."""
    differences = sorted(_differences(expected, found), key=order)
    return Comparison(len(expected), len(found), tuple(differences), totals_of(differences))


def totals_of(differences: Sequence[Difference]) -> tuple[int, int, int]:
    """Return (lost, duplicated, differing)."""
    return (
        sum(d.lost for d in differences),
        sum(d.duplicated for d in differences),
        sum(d.differing for d in differences),
    )


def _differences(expected: Iterable[Line], found: Iterable[Line]) -> Iterator[Difference]:
    wanted = dict(expected)
    got: dict[Identity, list[str]] = defaultdict(list)
    for identity, line in found:
        got[identity].append(line)
    for identity, line in expected:
        if got.get(identity) != [line]:
            yield Difference(line, tuple(got.get(identity, ())))
    for identity, lines in got.items():
        if identity not in wanted:
            yield Difference(None, tuple(lines))


def first_misplaced(keys: Callable[[], Iterable[Any]]) -> int | None:
    """Return the number of the first line that differs from the sorted lines; None: all are sorted.

    `keys` yields their sort keys, anew with each call.
    """
    previous: Any = None
    least: Any = None  # of the lines from the first one on that is smaller than its predecessor
    for key in keys():
        if least is not None:
            least = min(least, key)
        elif previous is not None and key < previous:
            least = key
        else:
            previous = key
    if least is None:
        return None
    return next(number for number, key in enumerate(keys(), 1) if key > least)


def typed_key(fields: dict[str, Any], pipeline: Pipeline) -> list[Any]:
    """Return the key of a row with decimals, which it has as texts."""
    flow = next((flow for flow in pipeline.flows if flow.name == fields["query"]), None)
    if flow is None:
        return [*fields["key"]]
    types = [*flow.key_types(pipeline.source.fields).values()]
    if len(types) != len(fields["key"]):
        return [*fields["key"]]
    return [of_row(part, type_.kind) for part, type_ in zip(fields["key"], types, strict=True)]


def row_id(fields: dict[str, Any], pipeline: Pipeline) -> RowId | None:
    """Return a row's identity; None: window and key are not of the contract's types."""
    wid, key = fields["window_id"], fields["key"]
    fits = _is_int64(wid) and isinstance(key, list)
    if not fits or not all(part is None or _is_scalar(part) for part in key):
        return None
    return RowId(fields["query"], wid, tuple(typed_key(fields, pipeline)), fields["revision"])


def _is_scalar(value: object) -> bool:
    return isinstance(value, str | float | bool) or _is_int64(value)


def _is_int64(value: object) -> bool:
    return type(value) is int and INT64_MIN <= value <= INT64_MAX
