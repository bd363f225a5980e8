"""Why a window is as it is, in words for people and as JSON for programs."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from windowing.model import Pipeline
from windowing.model.lengths import spell_instant
from windowing.model.rows import Row, in_row
from windowing.model.standing import release
from windowing.semantics.lanes import Progress
from windowing.semantics.units import Item
from windowing.semantics.why import LaneStand, Why

_SHOWN: Final = 20
"""How many records are listed."""


@dataclass(frozen=True)
class Explanation:
    """What is known of a window."""

    spec: Pipeline
    found: Why

    def lines(self) -> Iterator[str]:
        """Yield sentences."""
        found, query = self.found, self.found.sought.query
        key = ", ".join(f"{name} {value}" for name, value in found.sought.fields.items())
        yield (
            f"query {query.name}, window {found.wid}, {key or 'no key'}: "
            f"{self._at(found.start)} to {self._at(found.end)}"
        )
        yield from self._state()
        yield from self._records()
        yield from self._joined()
        yield from self._refused()
        yield from self._withheld()

    def _state(self) -> Iterator[str]:
        found = self.found
        if found.closes_at == math.inf:
            if not found.revisions:
                yield "open: its rows are counted, and too few have come"
        elif found.is_open:
            yield (
                f"open: it closes once all lanes have passed {self._at(found.closes_at)}; they are "
                f"at {self._at(found.progress)}"
            )
            yield from map(self._held_by, found.holding_back)
        elif not found.revisions:
            yield "closed without a row: no record of it came in time"
        for number, instant, records in found.revisions:
            later = "late ones" if found.sought.join else f"revision {number}"
            what = "closed" if number == 0 else later
            due = "" if instant == math.inf else f", due at {self._at(instant)}"
            yield f"{what}{due}: {_records(records)}{self._not_as_it_is(number, records)}"
            yield from (f"  null: {said}" for of, said in found.unshown if of == number)

    def _not_as_it_is(self, revision: int, records: int) -> str:
        """Return why a row is sent without records, or is not sent, or withdraws one."""
        query = self.found.sought.query
        said = ""
        if not records and not revision and query.empty_after:
            said = f", as a window at most {query.empty_after:,} before it has some in time (empty)"
        if (stone := self.found.held_back.get(revision)) is not None:
            done = "a tombstone" if stone else "not sent"
            if query.accumulation == "retracting":
                done = "not sent, and what was is taken back"
            said += f"; {done}: having does not hold, or is null"
        return said

    def _records(self) -> Iterator[str]:
        found, members = self.found, self.found.members
        yield f"it holds {_records(len(members))}:" if members else "it holds no record of its key"
        for one in members[:_SHOWN]:
            shown = f"revision {one.revision}"
            if found.sought.join:
                shown = f"late, from {self._at(one.instant)}" if one.revision else "on time"
            if not one.sent:
                shown += f", due at {self._at(one.instant)}"
            yield f"  {self._spelled(one.item)}: {shown}"
        if len(members) > _SHOWN:
            yield f"  and {len(members) - _SHOWN:,} more: --json lists them"

    def _joined(self) -> Iterator[str]:
        """Yield the rows of a join's window."""
        rows, join = self.found.joined, self.found.sought.join
        if join is None:
            return
        yield f"it has {len(rows):,} row{'s' * (len(rows) != 1)} so far{':' * bool(rows)}"
        for row in rows[:_SHOWN]:
            named = dict(zip(join.key, row.key, strict=True))
            sides = [
                f"{named[side]} offset {named[f'{side}_offset']}"
                for side in ("left", "right")
                if named[side] is not None
            ]
            said = " with ".join(sides) if len(sides) > 1 else f"{sides[0]}, alone"
            yield f"  {said}: revision {row.revision}{', taken back' * row.retracts}"
        if len(rows) > _SHOWN:
            yield f"  and {len(rows) - _SHOWN:,} more: --json lists them"

    def _refused(self) -> Iterator[str]:
        refused = self.found.refused
        if refused:
            yield f"{_records(len(refused))} came too late for it:"
        for item, outcome in refused[:_SHOWN]:
            yield f"  {self._spelled(item)}: {outcome}"
        unwanted = self.found.unwanted
        if unwanted:
            yield f"{_records(len(unwanted))} within it {_are(len(unwanted))} refused by a class:"
        for item, reason, said in unwanted[:_SHOWN]:
            yield f"  {self._spelled(item)}: {reason}: {said}"

    def _withheld(self) -> Iterator[str]:
        withheld = self.found.withheld
        if withheld:
            yield f"{_records(len(withheld))} of its time no window sees:"
        for item, fate in withheld[:_SHOWN]:
            yield f"  {self._spelled(item)}: {fate}"

    def _held_by(self, lane: LaneStand) -> str:
        since = "" if lane.offset is None else f" since offset {lane.offset}"
        when = "" if lane.append_us is None else f", appended {spell_instant(lane.append_us)}"
        record = None if lane.released_by is None else self._at(lane.released_by)
        bound = release(record, self._at(self.found.closes_at))
        stand = f"at {self._at(lane.progress)}{since}{when}"
        return f"  {lane.name} holds it back: {stand}; {bound} releases it"

    def _spelled(self, item: Item) -> str:
        met = self._at(item.progress)
        return f"{item.lane} offset {item.offset}, {self._at(item.value)} (its lane was at {met})"

    def _at(self, where: Progress) -> str:
        if where == -math.inf:
            return "its beginning"
        if where == math.inf:
            return "its end"
        timed = self.found.sought.query.window.attribute == self.spec.source.event_time.field
        return spell_instant(int(where)) if timed else str(int(where))

    def _fulfils(self, revision: int) -> dict[str, bool]:
        if self.found.sought.query.having is None:
            return {}
        stone = self.found.held_back.get(revision)
        return {"sent": stone is not False, "tombstone": bool(stone)}

    def as_json(self) -> dict[str, object]:
        """Return all of it, with instants in microseconds; null: without bound."""
        found = self.found
        return {
            "query": found.sought.query.name,
            "window_id": found.wid,
            "start": found.start,
            "end": found.end,
            "key": [in_row(part) for part in found.sought.key],
            "open": found.is_open,
            "closes_at": _finite(found.closes_at),
            "progress": _finite(found.progress),
            "lanes": [
                {
                    "lane": lane.name,
                    "progress": _finite(lane.progress),
                    "holds_back": lane in found.holding_back,
                    "offset": lane.offset,
                    "append_us": lane.append_us,
                    "released_by": lane.released_by,
                }
                for lane in found.lanes
            ],
            "revisions": [
                {
                    "revision": number,
                    "due_at": _finite(instant),
                    "records": records,
                    **self._fulfils(number),
                }
                for number, instant, records in found.revisions
            ],
            "records": [
                {
                    **_place(one.item),
                    "revision": one.revision,
                    "due_at": _finite(one.instant),
                    "sent": one.sent,
                }
                for one in found.members
            ],
            **({"rows": [*map(_joined_row, found.joined)]} if found.sought.join else {}),
            "too_late": [{**_place(item), "outcome": outcome} for item, outcome in found.refused],
            "withheld": [{**_place(item), "outcome": fate} for item, fate in found.withheld],
            "refused": [
                {**_place(item), "reason": reason, "rule": said}
                for item, reason, said in found.unwanted
            ],
            "null": [{"revision": number, "rule": said} for number, said in found.unshown],
        }


def _records(number: int) -> str:
    return f"{number:,} record" + "s" * (number != 1)


def _are(number: int) -> str:
    return "is" if number == 1 else "are"


def _place(item: Item) -> dict[str, object]:
    place = {"lane": item.lane, "offset": item.offset, "at": item.value}
    return {**place, "lane_progress": _finite(item.progress)}


def _finite(where: Progress) -> int | None:
    return None if math.isinf(where) else int(where)


def _joined_row(row: Row) -> dict[str, object]:
    return {
        "key": [in_row(part) for part in row.key],
        "revision": row.revision,
        "retracts": row.retracts,
    }
