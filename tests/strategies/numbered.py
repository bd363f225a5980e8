"""A case whose windows lie over a plain number of the records, `seq`, instead of their time."""

from __future__ import annotations

from hypothesis import strategies as st

from tests.strategies.logs import Event
from tests.strategies.scales import Clock

Lanes = tuple[tuple[Event, ...], ...]


@st.composite
def over_a_number(
    draw: st.DrawFn, document: Event, lanes: Lanes, clock: Clock, values: st.SearchStrategy[int]
) -> Lanes:
    """Turn a case's queries, or some of them, into ones over `seq`; gives lanes that have it.

    Args:
        draw: given by Hypothesis.
        document: the pipeline file, which is changed.
        lanes: the log.
        clock: the case's scale; steps of `seq` are the microseconds of a tick.
        values: what `seq` may be.
    """
    source, tick = document["source"], clock.tick_us
    source["fields"]["seq"] = "int"
    slack = draw(st.sampled_from([0, 2, 13])) * tick
    attr = draw(st.sampled_from(["g", "h"]))
    generators = ["ordered", {"slack": slack}, {"slack": "2 rows"}]
    generators += [{"adaptive": {"late": "10%", "over": "5 rows"}}]
    generators += [{"ordered_per": {"attr": attr, "members": _members(source, attr)}}]
    keyed = isinstance(source["disorder"], dict) and "punctuation" in source["disorder"]
    own = {"ordered_per": "g"} if keyed or source["disorder"] == {"ordered_per": "g"} else None
    source["disorder_of"] = {"seq": own or draw(st.sampled_from(generators))}
    chosen = draw(st.sets(st.sampled_from(sorted(document["queries"])), min_size=1))
    for name in chosen:
        _turn(document, document["queries"][name])
    return tuple(draw(_lane(lane, tick, values)) for lane in lanes)


def _members(source: Event, attr: str) -> Event:
    members = {"g": ["a", "b"], "h": [0, 1]}[attr]
    return {f"{source['topic']}/{lane}": members for lane in range(source["partitions"])}


def _turn(document: Event, query: Event) -> None:
    """Make a query one over `seq`: lengths lose their unit, and late records get steps of it."""
    query["window"] = query["window"].replace(" us", "").replace("ts", "seq")
    late = dict(query.get("late", document["late"]))
    if "every" in late:
        late["every"] = int(late["every"].removesuffix(" us"))
    query["late"] = late
    retention = query.get("retention", document["retention"])
    query["retention"] = int(retention.removesuffix(" us"))


@st.composite
def _lane(
    draw: st.DrawFn, lane: tuple[Event, ...], tick: int, values: st.SearchStrategy[int]
) -> tuple[Event, ...]:
    """The lane with nearly sorted numbers, one of them missing now and then."""
    delays = st.sampled_from([0, 0, 1, 4, 16])
    drawn = [(draw(values), draw(delays) * tick) for event in lane if "value" in event]
    numbers = [number for number, _ in sorted(drawn, key=sum)]
    if numbers and draw(st.integers(0, 9)) == 0:
        numbers[draw(st.integers(0, len(numbers) - 1))] = None
    left = iter(numbers)
    return tuple(
        {**event, "value": {**event["value"], "seq": next(left)}} if "value" in event else event
        for event in lane
    )
