"""What an as-of join means, in words, for people who are about to run it."""

from __future__ import annotations

from collections.abc import Iterator

from windowing.engine.flow_plan import FlowPlan
from windowing.engine.windows.evaluation import past_end
from windowing.model.asof import AsofQuery
from windowing.model.lengths import spell_us


def explain_asof(flow: FlowPlan[AsofQuery]) -> Iterator[str]:
    """Give the lines of an as-of join."""
    join = flow.query
    left, right = (source.topic for source in join.sources)
    alone = "its right fields are null where there is none"
    yield f"{join.name}: as-of join: each record of {left} with the newest one of {right}; {alone}"
    equal = " and ".join(f"left.{one} = right.{other}" for one, other in join.on.items())
    old = f"at most {spell_us(join.right)} older" if join.right else "of the same instant"
    yield f"  its partner: {equal or 'any record'}, not younger than the left record, {old}"
    yield "    of several at one time the one of the last partition, and there of the last offset"
    yield f"  due: when every partition of {right} has passed the left record's time"
    yield f"  key: {', '.join(join.key)}: both records; revisions count per left record"
    yield f"  evaluated as: {flow.evaluation.way}"
    yield f"  because: {flow.evaluation.because}"
    yield "  cost of a batch: its new left records, each a search among the right ones of its key"
    yield from _kept(join)
    yield f"  late: {_late(join)}"
    if join.entries_max is not None:
        yield f"  at most {join.entries_max} records in a shard, or the batch fails"


def _kept(join: AsofQuery) -> Iterator[str]:
    """Say what is kept for how long, besides what waits for progress."""
    left, right = (source.topic for source in join.sources)
    behind, reach = past_end(join), spell_us(join.right)
    if join.late.policy != "update":
        yield f"  state: a record of {left} until its row is due"
        yield (
            f"    of {right}: what the slower topic has not passed yet, and before that the newest "
            f"of each key, for {reach} after its time"
        )
        return
    kept = spell_us(join.right + behind)
    yield f"  state: a record of {left} for {kept} after its time, as long as its row may change"
    yield (
        f"    of {right}: what is younger than {kept} behind the slower topic, and before that the "
        f"newest of each key, for {reach} more"
    )


def _late(join: AsofQuery) -> str:
    left, right = (source.topic for source in join.sources)
    if join.late.policy != "update":
        outcome = {"drop": "counted and dropped", "dead_letter": "dead letters"}[join.late.policy]
        return f"{outcome}; a row is sent once, when it is due"
    retention = join.retention_us or 0
    epochs = spell_us(join.late.every_us or 0)
    taken = spell_us(retention) if retention else "no time"
    useful = spell_us(join.right + retention) if join.right + retention else "no time"
    return (
        f"update: at epochs of {epochs}; a record of {left} is taken up to {taken} behind its "
        f"lane's progress, one of {right} less than {useful} behind, and takes back the rows that "
        "had an older one; then dead letters"
    )
