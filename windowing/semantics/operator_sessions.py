"""Sessions of an operator, by definition: instant by instant, all sessions drawn anew each time.

At instant x: (a) every session that has ended and whose content is not what its row showed; (b) the
late records released at x join; (c) shown starts that are none any more get a tombstone; (d) ended
sessions whose content is not what was shown, as late rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from windowing.semantics.operator_log import Met, on_axis, release
from windowing.semantics.operator_rows import Window, shows
from windowing.spec.operator import AggregatorSpec, RowSessions, TimeSessions
from windowing.spec.operator_rows import Bound, Record, WindowRow, null_first

_Identity = tuple[str | None, int]


@dataclass(frozen=True)
class _Shown:
    """What the last row of an identity said."""

    content: Sequence[Met]
    row: WindowRow
    revision: int


def rows_of(
    spec: AggregatorSpec, log: Iterable[Record | Bound]
) -> tuple[list[WindowRow], list[Record]]:
    """All full and late rows and tombstones in their order, and the records that are refused."""
    assert isinstance(spec.windows, TimeSessions | RowSessions)  # noqa: S101 - windows differ
    read = on_axis(spec, log)
    on_time = [met for met in read.met if met.at >= met.before]
    late: list[tuple[int, Met]] = []
    refused = []
    for met in (met for met in read.met if met.at < met.before):
        reach = met.at + spec.windows.gap_of(_key(spec, met))
        kept = spec.retention.time is None or met.before < reach + spec.retention.time
        if spec.late.policy == "update" and kept:
            late.append((release(met.before, spec.late.every), met))
        else:
            refused.append(met.record)
    ends = {met.at + spec.windows.gap_of(_key(spec, met)) for met in read.met}
    instants = sorted({*ends, *(instant for instant, _ in late)})
    rows: list[WindowRow] = []
    shown: dict[_Identity, _Shown] = {}
    for x in (instant for instant in instants if instant <= read.progress):
        before = on_time + [met for instant, met in late if instant < x]
        rows += _ended(spec, sessions_of(spec, before), x, shown, closing=True)
        after = sessions_of(spec, on_time + [met for instant, met in late if instant <= x])
        rows += _tombstones(spec, after, shown)
        rows += _ended(spec, after, x, shown, closing=False)
    return rows, refused


def sessions_of(spec: AggregatorSpec, met: Iterable[Met]) -> dict[Window, list[Met]]:
    """The sessions of some records: chains of distances below the gap, key by key."""
    assert isinstance(spec.windows, TimeSessions | RowSessions)  # noqa: S101 - windows differ
    chains: dict[str | None, list[list[Met]]] = {}
    for one in sorted(met, key=lambda one: one.place):
        key = _key(spec, one)
        own = chains.setdefault(key, [])
        if own and one.at - own[-1][-1].at < spec.windows.gap_of(key):
            own[-1].append(one)
        else:
            own.append([one])
    return {
        (chain[0].at, chain[-1].at + spec.windows.gap_of(key), key): chain
        for key, own in chains.items()
        for chain in own
    }


def _ended(
    spec: AggregatorSpec,
    sessions: dict[Window, list[Met]],
    x: int,
    shown: dict[_Identity, _Shown],
    *,
    closing: bool,
) -> list[WindowRow]:
    rows = []
    for window in sorted(sessions, key=lambda w: (w[0], w[1], null_first(w[2]))):
        start, end, key = window
        last, content = shown.get((key, start)), sessions[window]
        if end > x or (last is not None and list(last.content) == content):
            continue
        full = closing and last is None
        revision = 0 if full else 1 if last is None else last.revision + 1
        known, previous = ([], None) if last is None else (last.content, last.row)
        sent = shows(
            spec,
            window,
            pane="full" if full else "late",
            revision=revision,
            content=content,
            known=known,
            previous=previous,
        )
        shown[key, start] = _Shown(content, sent[-1], revision)
        rows += sent
    return rows


def _tombstones(
    spec: AggregatorSpec, sessions: dict[Window, list[Met]], shown: dict[_Identity, _Shown]
) -> list[WindowRow]:
    starts = {(key, start) for start, _, key in sessions}
    gone = [identity for identity in shown if identity not in starts]
    rows = []
    for key, start in sorted(gone, key=lambda i: (i[1], shown[i].row.end, null_first(i[0]))):
        last = shown.pop((key, start))
        into = next(s for s, end, k in sessions if k == key and s <= start < end)
        if spec.accumulation == "retracting":
            rows.append(replace(last.row, retracts=True))
        revision = last.revision + 1
        end = last.row.end
        rows.append(WindowRow(start, end, key, "late", revision, 0, None, {}, absorbed_by=into))
    return rows


def _key(spec: AggregatorSpec, met: Met) -> str | None:
    return met.record.key if spec.group else None
