"""The lane's part of a family: one partial state per key and slice, for all of its queries."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from windowing.engine import wids
from windowing.engine.columns import AT, OFFSET, RELEASE
from windowing.engine.families.cells import Cells, Verdicts
from windowing.engine.families.family import Family, QueriesInLane
from windowing.engine.storage.frames import where
from windowing.engine.storage.parcel import DEAD_LETTER_SCHEMA
from windowing.engine.wids import ON_TIME, Flags, Ints
from windowing.engine.windows.classes import numbering_by
from windowing.engine.windows.part import Outcome, Scan, Tables, counts_of, dead_letters
from windowing.engine.windows.sliding_lane import KEPT, OPEN, PARTIALS, UNSETTLED, SlidingLanePart
from windowing.model import Pipeline, Query


@dataclass(frozen=True)
class Placement:
    """A chunk's records, by cells.

    Attributes:
        cells: of each record.
        release: the late epoch that each record waits for, or ON_TIME.
    """

    cells: Cells
    release: Ints


class FamilyLanePart(SlidingLanePart):
    """The lane's part: finds the slices of a chunk's records, and pre-aggregates by slice."""

    def __init__(self, family: Family, query: Query, pipeline: Pipeline) -> None:
        super().__init__(query, pipeline, numbering_by(query.window))
        self._family, self._source = family, pipeline.source
        self._in_lane: dict[int, QueriesInLane] = {}

    def assign(self, scan: Scan) -> tuple[Outcome, Tables]:
        """Find slices, and judge the records in every query."""
        found = self._found(scan)
        outcome, wanted = self._verdicts(scan, found)
        return outcome, {PARTIALS: self._partials(scan, found, wanted)}

    def judge(self, scan: Scan) -> Outcome:
        """Return what becomes of records in every query, without the windows' contents."""
        return self._verdicts(scan, self._found(scan))[0]

    def scan(self, scan: Scan) -> Tables:
        """Find slices as if nothing came before the chunk."""
        found = self._found(scan)
        late, wanted = found.cells.late, self._verdicts(scan, found)[1]
        tables = {PARTIALS: self._partials(scan, found, wanted & ~late)}
        if (wanted & late).any():
            tables[UNSETTLED] = self._partials(scan, found, wanted & late)
        return tables

    def settle(self, tables: Tables, before: int, partition: int) -> Tables:
        """Return the tables that `assign` would have made."""
        scanned = self._accumulators.concat(list(tables.values()))
        found = self._reached(self._cells_of(scanned), scanned[RELEASE].to_numpy(), before)
        cells, wanted = found.cells, np.ones(len(scanned), dtype=bool)
        late = cells.late
        if late.any():
            zeros, policy = np.zeros(int(late.sum()), np.int64), self._query.late
            lane = self._lane(partition)
            wanted[late] = Verdicts.of(lane, cells.where(late), zeros, zeros, policy).wanted
        raised = where(
            scanned.with_columns(
                pl.Series(OPEN, cells.open),
                pl.Series(KEPT, cells.kept),
                pl.Series(RELEASE, found.release),
            ),
            wanted,
        )
        return {PARTIALS: self._accumulators.merge(raised, self._named)}

    @property
    def _named(self) -> list[str]:
        return [*self._keys, AT, OPEN, KEPT, RELEASE]

    def _lane(self, partition: int) -> QueriesInLane:
        if partition not in self._in_lane:
            self._in_lane[partition] = QueriesInLane.of(self._family, self._source, partition)
        return self._in_lane[partition]

    def _cells_of(self, table: pl.DataFrame) -> Cells:
        at, opened, kept = (table[name].to_numpy() for name in (AT, OPEN, KEPT))
        return Cells(at, self._family.ends.after(at), opened, kept)

    def _found(self, scan: Scan) -> Placement:
        # No window ends within a slice.
        places = self._family.places(scan.values)
        at, end = self._family.boundaries.before(places), self._family.ends.after(places)
        cells = Cells(at, end, end, end)
        return self._reached(cells, np.full(len(at), ON_TIME), scan.progress_us)

    def _reached(self, cells: Cells, release: Ints, progress_us: int | Ints) -> Placement:
        """Return what follows from the larger of two progresses: of the cells, and another one."""
        progress = np.broadcast_to(np.asarray(progress_us, np.int64), cells.at.shape)
        late = self._family.places(progress) >= cells.end
        if not late.any():
            return Placement(cells, release)
        policy, reached, opened = self._query.late, progress[late], cells.open.copy()
        opened[late] = np.maximum(opened[late], self._next_end(reached))
        if policy.policy != "update":
            return Placement(Cells(cells.at, cells.end, opened, opened), release)
        assert policy.every_us is not None  # noqa: S101 - `update` has it, as checked
        kept, waits = cells.kept.copy(), release.copy()
        oldest = wids.lowered(reached, self._query.retention_us or 0)
        kept[late] = np.maximum(kept[late], self._next_end(oldest))
        waits[late] = np.maximum(waits[late], wids.release_us(reached, policy.every_us))
        return Placement(Cells(cells.at, cells.end, opened, kept), waits)

    def _next_end(self, instants: Ints) -> Ints:
        """Return the place of the first window end after each instant."""
        return self._family.ends.after(self._family.places(instants))

    def _verdicts(self, scan: Scan, found: Placement) -> tuple[Outcome, Flags]:
        """Judge a chunk's records in every query, and say which of them any takes."""
        cells, lane = found.cells, self._lane(scan.partition)
        distinct, known, cell_of = _distinct(cells, lane.known(scan.data[OFFSET].to_numpy()))
        counts = np.bincount(cell_of, minlength=len(distinct))
        verdicts = Verdicts.of(lane, distinct, known, counts, self._query.late)
        by_variant = np.array([variant.member for variant in self._family.variants])
        refused, outside = verdicts.refused[by_variant], verdicts.outside[by_variant]
        applied = len(cells) - refused - outside
        outcome = Outcome(
            dead_letters=self._dead_letters(scan, verdicts, cell_of),
            counts=counts_of(self._query.late, applied=applied, outside=outside, refused=refused),
        )
        return outcome, verdicts.wanted[cell_of]

    def _dead_letters(self, scan: Scan, verdicts: Verdicts, cell_of: Ints) -> pl.DataFrame:
        parts = [pl.DataFrame(schema=DEAD_LETTER_SCHEMA)]
        for number, cells in verdicts.refuses.items():
            member = self._family.members[number]
            own = dead_letters(member.query, scan.data, cells[cell_of], scan.partition)
            names = [v.names for v in self._family.variants if v.member == number]
            query = pl.Series("query", [name for some in names for name in some])
            if len(own):
                each = own.drop("query").join(query.to_frame(), how="cross")
                parts.append(each.select(*DEAD_LETTER_SCHEMA))
        return pl.concat(parts)

    def _partials(self, scan: Scan, found: Placement, chosen: Flags) -> pl.DataFrame:
        records, cells = where(scan.data, chosen), found.cells.where(chosen)
        keys = (records[key] for key in self._keys)
        columns = [
            pl.Series(AT, cells.at),
            pl.Series(OPEN, cells.open),
            pl.Series(KEPT, cells.kept),
            pl.Series(RELEASE, found.release[chosen]),
        ]
        lifted = pl.DataFrame([*keys, *columns, *self._accumulators.lift(records)])
        return self._accumulators.merge(lifted, self._named)

    def due_us(self, table: pl.DataFrame) -> Ints:
        """Return the earliest progress at which each row of a table may make a row due."""
        return earliest(self._family, table)


def earliest(family: Family, table: pl.DataFrame) -> Ints:
    """Return a lower bound of the progress at which rows of state are first needed."""
    due_us = family.instants(table[OPEN].to_numpy())
    if family.query.late.policy == "update":
        release = table[RELEASE].to_numpy()
        due_us = np.where(release == ON_TIME, due_us, np.minimum(due_us, release))
    return due_us


def _distinct(cells: Cells, known: Ints) -> tuple[Cells, Ints, Ints]:
    """Return each cell once, by what was known before it, and the number of each record's."""
    named = {AT: cells.at, "end": cells.end, OPEN: cells.open, KEPT: cells.kept, "known": known}
    frame = pl.DataFrame(named)
    each = frame.unique(maintain_order=True).with_row_index("number")
    placed = frame.join(each, on=frame.columns, how="left", maintain_order="left")
    *columns, known = (each[name].to_numpy() for name in named)
    return Cells(*columns), known, placed["number"].to_numpy().astype(np.int64)
