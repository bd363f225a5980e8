"""What a join over policy windows means, in words, for people who are about to run it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from windowing.engine.windows.evaluation import Evaluation
from windowing.explain.join import conditions_of
from windowing.explain.lengths import speller
from windowing.explain.operators import described, kept, partitions
from windowing.model.operators.join import SIDES, PolicyJoinQuery

_ALONE: Final = {
    "inner": "no record is sent alone",
    "left": "a left record that leaves its window without a partner is sent, too",
    "right": "a right record that leaves its window without a partner is sent, too",
    "full": "a record that leaves its window without a partner is sent, too",
}

_LATE: Final = {"drop": "it is counted and dropped", "dead_letter": "it is a dead letter"}


def explain_policy_join(join: PolicyJoinQuery, evaluation: Evaluation) -> Iterator[str]:
    """Give the lines of a join over policy windows.

    Args:
        join: the join.
        evaluation: how it is run.
    """
    left, right = (source.topic for source in join.sources)
    yield f"{join.name}: {join.kind} join of {left} (left), {right} (right); {_ALONE[join.kind]}"
    yield f"  a pair: {conditions_of(join) or 'any two records that meet'}"
    for side in SIDES:
        source, window = join.source(side), join.side_window(side)
        spell = speller(source.event_time.field, source)
        yield f"  {side} window: {described(window, source.event_time.field, spell)}"
        yield f"    kept: {kept(window, spell)}"
        if window.partition_eviction is not None:
            yield f"    partitions: {partitions(window, spell)}; their records are never sent alone"
    yield f"  on each record: its own window evicts and stores; then it probes {_probed(join)}"
    yield "  order: canonical: by event time, topic, partition and offset, once progress has passed"
    yield f"  unit: {_unit(join)}"
    yield f"  key: {', '.join(join.key)}: both records, so that a pair is sent once"
    late = _LATE[join.late.policy]
    yield f"  late: a record behind the progress of its lane takes no part: {late}"
    yield f"  evaluated as: {evaluation.way}"
    yield f"  because: {evaluation.because}"
    if join.entries_max is not None:
        yield f"  at most {join.entries_max} records in a shard, or the batch fails"


def _probed(join: PolicyJoinQuery) -> str:
    if join.partitions:
        return "the opposite window's partition of its own key"
    return "the opposite window, all partitions of it"


def _unit(join: PolicyJoinQuery) -> str:
    if join.sharded_by:
        fields = " and ".join(f"left.{a} = right.{b}" for a, b in join.sharded_by.items())
        return f"each {fields} by itself, on its shard"
    if join.partitions:
        return "the whole stream on one shard, because partition eviction looks at all partitions"
    return "the whole stream on one shard, because a window is not partitioned"
