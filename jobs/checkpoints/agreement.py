"""Whether checkpoint, tables and topic belong together; checked before a job runs.

A pure function of facts read elsewhere. Spark checks none of this: it continues numbering batches
from whatever checkpoint it finds, and the tables skip numbers that they already have.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from jobs.checkpoints.plans import Checkpoint
from jobs.driver.failures import gone
from windowing.runtime.token import NEW_RUN, Kept, Stretch, Tables, Token, other_topic


@dataclass(frozen=True)
class Topic:
    """A topic on the broker.

    Attributes:
        topic_id: the broker's id for it; a recreated topic has another.
        begins: by partition, the first existing offset.
        ends: by partition, the offset after the last settled record.
        compacted: whether the broker drops records that have a newer one with the same key; None:
            this user may not see that.
        record_bytes_max: how many bytes a record may have, as it was sent; None: as above.
    """

    topic_id: str
    begins: Mapping[int, int]
    ends: Mapping[int, int]
    compacted: bool | None
    record_bytes_max: int | None = None


@dataclass(frozen=True)
class Agreement:
    """The result of a comparison.

    Attributes:
        mismatches: each mismatch, with both sides and the remedies; the job must not run.
        again: tokens of batches that the tables have and the checkpoint lacks: they must be rerun
            exactly as recorded, and the tables will skip them.
    """

    mismatches: tuple[str, ...] = ()
    again: tuple[Token, ...] = ()


def compare(
    checkpoint: Checkpoint,
    tables: Tables,
    topics: Mapping[str, Topic],
    *,
    known: Mapping[str, str],
    may_be_compacted: frozenset[str],
    fingerprint: str,
    earlier: Sequence[str] = (),
) -> Agreement:
    """Compare a run's checkpoint, tables and topics.

    Args:
        tables: the sink's content for the run.
        known: by name, the ids of the topics that the run was started with, as recorded.
        may_be_compacted: the names of topics that the pipeline accepts as compacted.
        fingerprint: fingerprint of the pipeline to run.
        earlier: those that the run had before.
    """
    wrong = [*_topics_changed(tables, topics, known), *_compacted(topics, may_be_compacted)]
    if not wrong:
        wrong += _tables_wrong(checkpoint, tables) or _plans_differ(checkpoint, tables)
    again: tuple[Token, ...] = ()
    if not wrong:
        again = _ahead(checkpoint, tables)
        wrong += _not_again(checkpoint, again, (fingerprint, *earlier))
    if not wrong:
        wrong += _beyond(checkpoint, again, topics)
    return Agreement(tuple(wrong), () if wrong else again)


def _all(tables: Tables) -> list[Kept | None]:
    return list(tables.tables.values())


def _topics_changed(
    tables: Tables, topics: Mapping[str, Topic], known: Mapping[str, str]
) -> Iterator[str]:
    last = tables.tokens[max(tables.tokens)].topics if tables.tokens else {}
    changed = other_topic({**last, **known}, {name: one.topic_id for name, one in topics.items()})
    if changed is not None:
        yield changed


def _compacted(topics: Mapping[str, Topic], accepted: frozenset[str]) -> Iterator[str]:
    for name, topic in sorted(topics.items()):
        if topic.compacted and name not in accepted:
            yield (
                f"topic {name} has cleanup.policy=compact: the broker drops records that `verify`, "
                "or a batch that is run again, would need: make it delete, or accept that with "
                "compacted: true under source (see docs/tables.md)"
            )


def _tables_wrong(checkpoint: Checkpoint, tables: Tables) -> list[str]:
    done, tokens = checkpoint.committed, tables.tokens
    begun = done >= 0 or tokens or any(one and one.batch is not None for one in _all(tables))
    wrong = []
    for name, kept in tables.tables.items():
        table = f"table {name} in {tables.place}"
        if kept is None:
            if begun:
                wrong.append(
                    f"{table} is missing, and the run has {_so_far(checkpoint, tables)}: put it "
                    f"back as it was, or {NEW_RUN}"
                )
            continue
        batch = -1 if kept.batch is None else kept.batch
        if batch < done:
            has = "no batch" if batch < 0 else f"batches up to {batch}"
            wrong.append(
                f"{table} has {has} of the run, and the checkpoint {checkpoint.place} has "
                f"committed {done}: the table was lost or put back from an older copy; put it back "
                f"as it was, or {NEW_RUN}"
            )
        elif batch >= 0 and batch not in tokens:
            wrong.append(
                f"{table} has batches up to {kept.batch} of the run, of which table tokens beside "
                f"it knows nothing: tokens was lost or put back from an older copy; put it back as "
                f"it was, or {NEW_RUN}"
            )
        elif kept.digest is not None and tokens[batch].digest != kept.digest:
            wrong.append(
                f"{table} holds another batch {kept.batch} than table tokens beside it says "
                f"({tokens[batch]}): one of them was put back from a copy of something "
                f"else; put back what belongs together, or {NEW_RUN}"
            )
    if tokens and done > max(tokens):
        wrong.append(
            f"the tables in {tables.place} end with {tokens[max(tokens)]}, and the checkpoint "
            f"{checkpoint.place} has committed batch {done}: the tables were put back from an "
            f"older copy; put them back as they were, or {NEW_RUN}"
        )
    return wrong


def _so_far(checkpoint: Checkpoint, tables: Tables) -> str:
    batches = [kept.batch for kept in _all(tables) if kept and kept.batch is not None]
    in_tables = max([-1, *tables.tokens, *batches])
    return f"batch {checkpoint.committed} in its checkpoint, batch {in_tables} in its tables"


def _plans_differ(checkpoint: Checkpoint, tables: Tables) -> list[str]:
    """Describe the newest batch that checkpoint and tables have committed under different plans."""
    for batch in sorted(tables.tokens, reverse=True):
        lanes = checkpoint.lanes(batch)
        if batch > checkpoint.committed or lanes is None:
            continue
        ours = Token(batch, lanes, tables.tokens[batch].topics)
        if not _same_lanes(ours.lanes, tables.tokens[batch].lanes):
            return [
                f"the checkpoint {checkpoint.place} has committed {ours}, and the tables in "
                f"{tables.place} hold {tables.tokens[batch]}: they are of two different runs of "
                f"this name; put back what belongs together, or {NEW_RUN}"
            ]
    return []


def _same_lanes(ours: Mapping[str, Stretch], theirs: Mapping[str, Stretch]) -> bool:
    """Whether two plans are the same; one of them may lack lanes without records so far."""
    nothing = Stretch(0, -1)
    lanes = ours.keys() | theirs.keys()
    return all(ours.get(lane, nothing) == theirs.get(lane, nothing) for lane in lanes)


def _ahead(checkpoint: Checkpoint, tables: Tables) -> tuple[Token, ...]:
    """Return the batches that the tables have and the checkpoint lacks or plans differently."""
    later = [tables.tokens[b] for b in sorted(tables.tokens) if b > checkpoint.committed]
    for place, token in enumerate(later):
        planned = checkpoint.lanes(token.batch_id)
        if planned is None or not _same_lanes(planned, token.lanes):
            # Whatever follows a replanned batch is replanned too.
            return tuple(later[place:])
    # The checkpoint has all of them: Spark, or `mend`, runs them as they are.
    return ()


def _not_again(
    checkpoint: Checkpoint,
    again: tuple[Token, ...],
    fingerprints: Sequence[str],
) -> Iterator[str]:
    """Say why batches cannot be rerun as the tables have them."""
    for token in again:
        if token.pipeline not in ("", *fingerprints):
            yield (
                f"the tables hold {token} of another version of the pipeline (fingerprint "
                f"{token.pipeline}, now {fingerprints[0]}), and the checkpoint {checkpoint.place} "
                f"ends before it: {NEW_RUN}"
            )
            return
    if not again:
        return
    first = again[0]
    if [token.batch_id for token in again] != [*range(first.batch_id, first.batch_id + len(again))]:
        yield f"tokens of batches behind {first.batch_id} are missing in the tables: {NEW_RUN}"
    elif first.batch_id > checkpoint.committed + 1 and checkpoint.lanes(first.batch_id - 1) is None:
        yield (
            f"the checkpoint {checkpoint.place} has committed batch {checkpoint.committed}, and "
            f"the tables know batches from {first.batch_id} on only: {NEW_RUN}"
        )
    else:
        ends = checkpoint.ends.get(first.batch_id - 1, {})
        for lane, part in sorted(first.lanes.items()):
            if lane in ends and part.first != ends[lane]:
                yield (
                    f"the checkpoint {checkpoint.place} ends before offset {ends[lane]} of {lane} "
                    f"with batch {first.batch_id - 1}, and the tables go on with {first}: they are "
                    f"of two different runs of this name; {NEW_RUN}"
                )
                return


def _beyond(
    checkpoint: Checkpoint, again: tuple[Token, ...], topics: Mapping[str, Topic]
) -> Iterator[str]:
    """List offsets that the run needs, or has read, and the topic lacks."""
    next_ = {**checkpoint.ends.get(checkpoint.committed, {})}
    known = {**checkpoint.ends.get(checkpoint.planned, {})}
    for token in again:
        for lane, part in token.lanes.items():
            next_.setdefault(lane, part.first)
            known[lane] = part.last + 1
    for name, topic in sorted(topics.items()):
        for partition, end in sorted(topic.ends.items()):
            lane, begin = f"{name}/{partition}", topic.begins.get(partition, 0)
            if next_.get(lane, begin) < begin:
                yield gone(f"{name}-{partition}", next_[lane], begin)
            if known.get(lane, 0) > end:
                yield (
                    f"the run has read {lane} up to offset {known[lane] - 1}, and the topic ends "
                    f"before {end}: the topic has lost records or is not the one that the run has "
                    f"read; bring them back, or {NEW_RUN}"
                )
