"""What a join means, in words, for people who are about to run it; also one over policy windows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from windowing.engine.flow_plan import FlowPlan
from windowing.engine.windows.evaluation import Evaluation, past_end
from windowing.explain.operators import described, kept, partitions
from windowing.explain.words import speller
from windowing.model.join import Comparison, Operand, Side
from windowing.model.lengths import spell_us
from windowing.model.operators.join import SIDES, PolicyJoinQuery
from windowing.model.query import JoinQuery

_SIDES: tuple[Side, Side] = ("left", "right")
_ALONE = {
    "inner": "no record is sent alone",
    "left": "left records without a partner are sent, too",
    "right": "right records without a partner are sent, too",
    "full": "records without a partner are sent, too",
}


def explain_join(flow: FlowPlan[JoinQuery]) -> Iterator[str]:
    """Give the lines of a join."""
    join = flow.query
    left, right = (source.topic for source in join.sources)
    yield f"{join.name}: {join.kind} join of {left} (left), {right} (right); {_ALONE[join.kind]}"
    yield f"  a pair: {conditions_of(join) or 'any two records in reach'}"
    for side in _SIDES:
        yield f"  a {side} record is seen from later ones for {_reach(join, side)}"
    yield f"  key: {', '.join(join.key)}: both records, so that a pair is sent once"
    yield f"  evaluated as: {flow.evaluation.way}"
    yield f"  cost of a batch: its new records, each beside {_beside(join)}"
    yield f"  state: {_kept(join)}"
    if join.kind != "inner":
        yield (
            "  alone: said once every partner on time has come; a late one takes that row back "
            "before the pair is sent"
        )


def conditions_of(join: JoinQuery) -> str:
    """Give what must hold for two records to match; empty: nothing."""
    conditions = [f"left.{one} = right.{other}" for one, other in join.on.items()]
    return " and ".join([*conditions, *map(_spelled, join.where)])


def _spelled(comparison: Comparison) -> str:
    second = comparison.second
    other = second.name if isinstance(second, Operand) else repr(second)
    return f"{comparison.first.name} {comparison.operator} {other}"


def _reach(join: JoinQuery, side: Side) -> str:
    window = join.seen_for(side)
    if window is not None:
        return spell_us(window) if window else "no time: only from those of the same instant"
    if join.retention_us is None:
        return "ever"
    return f"{spell_us(join.retention_us)}, the retention"


def _beside(join: JoinQuery) -> str:
    """Which of the kept records a new one is compared with."""
    if join.on:
        return "the kept ones of the other side with equal fields"
    here = "in one shard, as nothing must be equal"
    if any(join.reach(side) is not None for side in _SIDES):
        return f"the other side's in reach, found by their times; all {here}"
    return f"all that are kept, {here}: name what is equal, or give a side a window"


def _kept(join: JoinQuery) -> str:
    given = [join.reach(side) for side in _SIDES]
    known = [reach for reach in given if reach is not None]
    if len(known) < len(given):
        return "records are kept forever, as one side is seen forever: give it a window"
    return f"a record is kept for {spell_us(2 * max(known) + past_end(join))} after its time"


_LEAVING: Final = {
    "inner": "no record is sent alone",
    "left": "a left record that leaves its window without a partner is sent, too",
    "right": "a right record that leaves its window without a partner is sent, too",
    "full": "a record that leaves its window without a partner is sent, too",
}

_LATE: Final = {"drop": "it is counted and dropped", "dead_letter": "it is a dead letter"}


def explain_policy_join(join: PolicyJoinQuery, evaluation: Evaluation) -> Iterator[str]:
    """Give the lines of a join over policy windows."""
    left, right = (source.topic for source in join.sources)
    yield f"{join.name}: {join.kind} join of {left} (left), {right} (right); {_LEAVING[join.kind]}"
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
    first, second = sorted((left, right))
    yield (
        f"    at the same time {first} comes before {second}, by the topics' names: so it is "
        "settled which of two such records meets the other"
    )
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
