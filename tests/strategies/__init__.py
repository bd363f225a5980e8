"""Random small pipelines, and logs for them that are drawn to the edges of their windows.

`cases()` gives a `Case`: the text of a pipeline file and, per lane, the events of EVENTS.jsonl as
dicts. They are the simulator's: `chaos.simulator.draw` is the one generator, and every feature that
it knows occurs here, too.
"""

from chaos.simulator.draw import KINDS
from chaos.simulator.draw.values import HARD_FLOATS
from chaos.simulator.draw.wish import OPERATORS
from tests.strategies.cases import (
    Case,
    Entry,
    Event,
    any_thresholds,
    cases,
    entry,
    events_text,
    interleavings,
    join_cases,
    lane_of,
    thresholds,
)

__all__ = [
    "HARD_FLOATS",
    "KINDS",
    "OPERATORS",
    "Case",
    "Entry",
    "Event",
    "any_thresholds",
    "cases",
    "entry",
    "events_text",
    "interleavings",
    "join_cases",
    "lane_of",
    "thresholds",
]
