"""Which of our expectations make sense for which queries."""

from __future__ import annotations

from chaos.quality.names import COMPLETE, FRESH, WINDOW_SET
from windowing.model.query import Flow
from windowing.model.rules import ends_at_a_time
from windowing.model.source import Source
from windowing.model.windows.traits import Ends

_NUMBERED = (Ends.SLIDES, Ends.ROWS, Ends.NUMBERED)


def misfit(name: str, query: Flow, source: Source) -> str | None:
    """Say why an expectation makes no sense for a query, and what to do; None: it does.

    Args:
        name: the expectation.
        query: the query.
        source: the pipeline's source.
    """
    if name == COMPLETE and not _is_numbered(query):
        return (
            f"the windows of {query.name} are not numbered in a row, so that none can be missing "
            f"between two: use {WINDOW_SET}"
        )
    if name == FRESH and not _ends_in_time(query, source):
        return (
            f"the windows of {query.name} do not end at event times ({source.event_time.field}), "
            "so that they have no age: take it out"
        )
    return None


def _is_numbered(query: Flow) -> bool:
    return query.window is not None and query.window.traits.ends in _NUMBERED


def _ends_in_time(query: Flow, source: Source) -> bool:
    return ends_at_a_time(query, source.event_time.field)
