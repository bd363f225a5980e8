"""Whole cases: a pipeline, and lanes for it."""

from __future__ import annotations

import yaml
from hypothesis import strategies as st

from tests.strategies.logs import TOPIC, Case
from tests.strategies.numbered import over_a_number
from tests.strategies.queries import AS_THEY_ARRIVE, disorders, late, queries
from tests.strategies.records import Log, lanes
from tests.strategies.scales import clocks, event_time, spans, times


@st.composite
def cases(
    draw: st.DrawFn,
    *,
    kind: str = "sliding",
    wide: bool = False,
    bad_values: bool = True,
    records_max: int = 40,
    number: bool = False,
) -> Case:
    """A pipeline and a log for it.

    Args:
        draw: given by Hypothesis.
        kind: the class of all windows, one of `KINDS`; for others than sliding ones, PATTR and
            progress per key occur as well.
        wide: windows may be aligned at their starts, later rows discarding or retracting.
        bad_values: whether spoilt values occur (times out of range and records after the end may
            occur in any case).
        records_max: the greatest number of data records; at most 63.
        number: some windows lie over a plain number instead of the event time.
    """
    clock = draw(clocks(bounded=kind == "landmark"))
    # Queries of one class are alike, and each costs as much as the whole log.
    lengths = draw(st.lists(spans(clock), min_size=1, max_size=3 if kind == "sliding" else 2))
    partitions = draw(st.integers(1, 1 if kind in AS_THEY_ARRIVE and draw(st.booleans()) else 3))
    nullable_key = draw(st.booleans())
    per_key = kind != "sliding" and draw(st.sampled_from([False, False, True]))
    keyed = st.sampled_from([{"ordered_per": "g"}, {"punctuation": {"attr": "g"}}])
    epochs = draw(st.sampled_from([1, 1, 2, 3, 7])) * clock.tick_us
    retention = draw(st.sampled_from([0, 2, 10, 40, 1000])) * clock.tick_us
    document = {
        "name": "case",
        "source": {
            "topic": TOPIC,
            "partitions": partitions,
            "format": "json",
            "event_time": event_time(clock),
            "fields": {
                "g": "string?" if nullable_key else "string",
                "p": "int?",
                "h": "int?",
                "v": "int?",
                "w": "int?",
                "x": "float?",
            },
            "disorder": draw(keyed if per_key else disorders(partitions, clock.tick_us)),
            "unknown_fields": draw(st.sampled_from(["dead_letter", "ignore"])),
        },
        "late": draw(late(kind, epochs)),
        "retention": f"{retention} us",
        "shards": draw(st.sampled_from([1, 2, 2, 4] if kind == "sliding" else [1, 1, 2, 3])),
        "queries": {
            f"q{n}": draw(queries(kind, span, epochs, clock, per_key=per_key, wide=wide))
            for n, span in enumerate(lengths)
        },
    }
    log = Log(clock, times(clock, lengths), partitions, nullable_key, bad_values, records_max)
    drawn = draw(lanes(log))
    if number:
        drawn = draw(over_a_number(document, drawn, clock, log.times))
    return Case(yaml.safe_dump(document, sort_keys=False, allow_unicode=True), drawn)
