"""What a window join means, in words, for people who are about to run it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from windowing.engine.flow_plan import FlowPlan
from windowing.engine.windows.evaluation import past_end
from windowing.explain.join import conditions_of
from windowing.explain.words import speller
from windowing.model.lengths import spell_us
from windowing.model.window_join import WindowJoinQuery

_ALONE: Final = {
    "inner": "no record is sent alone",
    "left": "left records are sent, too, in windows in which they have no partner",
    "right": "right records are sent, too, in windows in which they have no partner",
    "full": "records are sent, too, in windows in which they have no partner",
}


def explain_window_join(flow: FlowPlan[WindowJoinQuery], late: str) -> Iterator[str]:
    """Give the lines of a window join.

    Args:
        late: what becomes of late records.
    """
    join = flow.query
    left, right = (source.topic for source in join.sources)
    spell = speller(join.attribute, join.sources[0])
    yield f"{join.name}: window join of {left} (left), {right} (right); {_ALONE[join.kind]}"
    yield f"  windows: {join.over.title(spell)}, and over the right side's event time"
    conditions = conditions_of(join)
    yield f"  a pair: in the same window{f', {conditions}' if conditions else ''}; a row in each"
    yield "  due: when the slowest partition of both topics has passed the window's end"
    yield f"  key: {', '.join(join.key)}: both records, so that a window has a pair once"
    yield f"  evaluated as: {flow.evaluation.way}"
    yield f"  because: {flow.evaluation.because}"
    beside = "those of its key" if join.on else "all of the other side, as nothing must be equal"
    yield f"  cost of a batch: the records of the windows that end in it, each beside {beside}"
    yield f"  state: {_kept(join)}"
    yield f"  late: {late}"
    if join.kind != "inner":
        yield "    a late partner takes back that a record was alone, before the pair is sent"
    if join.entries_max is not None:
        yield f"  at most {join.entries_max} records in a shard, or the batch fails"


def _kept(join: WindowJoinQuery) -> str:
    """Say how long a record is kept."""
    behind = past_end(join)
    more = f", and {spell_us(behind)} more for late ones" if behind else ""
    until = "until the slowest partition has passed the end of its last window"
    return f"a record of either topic is kept {until}{more}"
