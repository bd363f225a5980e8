"""How far a log has brought a pipeline: its lanes, and the windows that are open."""

from __future__ import annotations

from dataclasses import dataclass

from windowing.model.lengths import spell_instant
from windowing.model.progress import Slack
from windowing.model.query import Flow
from windowing.model.source import Source
from windowing.model.windows.traits import Ends


@dataclass
class LaneEnd:
    """How far a lane is.

    Attributes:
        progress_us: its progress by event time; None: it has none yet.
        ended: whether it has ended.
        last_offset: of its last record; None: it had none.
    """

    progress_us: int | None = None
    ended: bool = False
    last_offset: int | None = None


@dataclass(frozen=True)
class Waiting:
    """What a query has not sent yet.

    Attributes:
        windows: how many are open; None: nobody has counted them.
        rows: how many rows they will have; None: nobody has counted them.
        revisions: rows of late records that wait for the end of their epoch.
        first_end: where the first of the windows ends, on the query's attribute; None: unknown.
    """

    windows: int | None = None
    rows: int | None = None
    revisions: int = 0
    first_end: int | None = None


def is_timed(source: Source, flow: Flow) -> bool:
    """Whether progress of event time makes a flow's rows final."""
    if len(source.parts) > 1:
        return True
    if flow.window is None or flow.attribute != source.event_time.field:
        return False
    return flow.window.traits.ends not in (Ends.ROWS, Ends.AT_RECORDS)


def release(record: str | None, bound: str) -> str:
    """Return what lets a lane release a window.

    Args:
        record: the least time of a record that does; None: no single record does.
        bound: the window's end.
    """
    if record is None:
        return f"a bound of {bound}"
    return f"a record of {record}, or a bound of {bound},"


def released_by(source: Source, end_us: int) -> str:
    """Return what lets a lane of a source release a window that ends then."""
    slack = source.disorder.slack_us if isinstance(source.disorder, Slack) else None
    record = None if slack is None else spell_instant(end_us + slack)
    return release(record, spell_instant(end_us))
