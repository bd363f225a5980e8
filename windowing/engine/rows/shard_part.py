"""The shard's part of a query of operators: it hosts their chain for each unit.

State: records that no operator has processed yet; records that operators hold; and per unit, the
state of its operators as JSON, in which records are references to the latter.
"""

from __future__ import annotations

import polars as pl

from windowing.engine.columns import AT, OFFSET, PARTITION, field_column
from windowing.engine.progress.reached import Progress, StreamProgress
from windowing.engine.rows.lane_part import ROWS, read_fields, unit_columns
from windowing.engine.rows.report_rows import ReportRows
from windowing.engine.rows.units import DUE, HELD, UNITS, Units
from windowing.engine.wids import ENDED, NOTHING_YET
from windowing.engine.windows.part import Tables
from windowing.model import Pipeline
from windowing.model.operators.query import OperatorQuery


class RowShardPart:
    """The operators of one query in a shard.

    Args:
        query: the query.
        pipeline: its pipeline.
    """

    def __init__(self, query: OperatorQuery, pipeline: Pipeline) -> None:
        self._query, self._event_time = query, pipeline.source.event_time.field
        self._columns, self._rows = unit_columns(query), ReportRows(query, pipeline)
        self._read = [AT, *(field_column(name) for name in read_fields(query, pipeline))]
        self._by_lane = query.order == "lane"

    def advance(
        self, tables: Tables, after: Progress, wall_us: int | None
    ) -> tuple[pl.DataFrame, Tables]:
        """Process what progress has reached; return the rows and the new state.

        Raises:
            ResultOverflow: a sum of integers overflows 64 bits.
            UserOperatorError: a user's operator failed.
        """
        assert isinstance(after, StreamProgress)  # noqa: S101 - operators go by event time
        waiting, until_us = tables[ROWS], after.stream_us
        if self._by_lane:
            reached, order = pl.lit(value=True), [PARTITION, OFFSET]
        else:
            reached, order = pl.col(AT) < until_us, [AT, PARTITION, OFFSET]
        new = waiting.filter(reached).sort(order)
        # A caller without a clock leaves the records' own.
        now_us = wall_us if self._query.clock == "wall" else None
        units = Units(
            self._query, self._event_time, self._columns, self._read, tables=tables, new=new
        )
        units.feed(new[AT].to_list() if now_us is None else [now_us] * len(new))
        self._pass_time(units, after, now_us)
        found = self._rows.of(units.reports, units.records)
        return found, {ROWS: waiting.filter(~reached), **units.tables()}

    def _pass_time(self, units: Units, after: StreamProgress, wall_us: int | None) -> None:
        """Do what is due by the clock, and what ends."""
        ended = after.stream_us == ENDED
        if wall_us is not None:
            units.advance(wall_us)
        elif not self._by_lane:
            # At the end of all lanes, the clock shows what no interleaving of them can change.
            furthest_us = max(lane.furthest_us for lane in after.lanes)
            units.advance(furthest_us if ended else after.stream_us)
        if self._by_lane:
            lanes = (n for n, lane in enumerate(after.lanes) if lane.progress_us == ENDED)
            units.finish(frozenset(lanes))
        elif ended:
            units.finish(None)

    def next_due_us(self, tables: Tables, after: Progress) -> int:
        """Return a lower bound of the stream's progress at which the next row is due."""
        del after
        rows, units = tables[ROWS], tables[UNITS]
        if self._by_lane or self._query.clock == "wall":
            # Neither the end of a lane nor the machine's clock is progress of the stream.
            return NOTHING_YET if len(rows) or len(units) else ENDED
        at = int(rows[AT].to_numpy().min(initial=ENDED - 1)) + 1
        return min(at, int(units[DUE].to_numpy().min(initial=ENDED)))

    def held(self, tables: Tables) -> Tables:
        """Return the state in an order that does not depend on batches."""
        by_place, by_unit = [AT, PARTITION, OFFSET], self._columns
        order = {ROWS: by_place, HELD: by_place, UNITS: by_unit}
        return {
            name: frame.sort(order[name]) if order[name] else frame
            for name, frame in tables.items()
        }
