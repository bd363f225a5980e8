"""Random small pipelines, and logs for them that are drawn to the edges of their windows.

`cases()` gives a `Case`: the text of a pipeline file and, per lane, the events of EVENTS.jsonl as
dicts. All features of a pipeline occur: every class of windows, several lanes, silent ones, holes
in offsets, generators, bounds and ends, gaps, origins, negative times, all late policies in both
modes, retention from 0, null keys, hard numbers, and bad values of every kind.
"""

from tests.strategies.logs import Case, Entry, Event, entry, events_text, interleavings
from tests.strategies.pipelines import cases
from tests.strategies.queries import KINDS, disorders
from tests.strategies.records import HARD_FLOATS

__all__ = [
    "HARD_FLOATS",
    "KINDS",
    "Case",
    "Entry",
    "Event",
    "cases",
    "disorders",
    "entry",
    "events_text",
    "interleavings",
]
