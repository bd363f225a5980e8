"""A batch's token: the part of the log that it holds.

A number alone does not identify a batch: a checkpoint that was restored from a copy, or recreated
under an old run's name, cuts different batches under numbers that its tables already have. So every
sink keeps, per run and batch, the offsets of each lane and the ids of the topics. It accepts only
the next batch, and ignores an identical one. See `adr/0014`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, NamedTuple

from windowing.model.run_errors import TokenMismatch

NEW_RUN = "start a new run (another --run)"


class Stretch(NamedTuple):
    """A batch's offsets of a lane, both inclusive; last = `first - 1`: none."""

    first: int
    last: int

    def __str__(self) -> str:
        return f"{self.first} to {self.last}" if self.last >= self.first else f"none, {self.first}"


@dataclass(frozen=True)
class Token:
    """The identity of a batch of a run.

    Attributes:
        lanes: by name (`topic/partition`), its offsets of each lane.
        topics: by name, the broker's id of the topic, which changes if the topic is deleted and
            recreated. Empty if a log has no ids.
        pipeline: the fingerprint of the pipeline that ran it; not part of the batch's identity.
    """

    batch_id: int
    lanes: Mapping[str, Stretch]
    topics: Mapping[str, str] = field(default_factory=dict)
    pipeline: str = ""

    @cached_property
    def digest(self) -> int:
        """A 63-bit number that identifies the part of the log."""
        spelled = json.dumps([self.batch_id, self.lanes, self.topics], sort_keys=True)
        return int.from_bytes(hashlib.sha256(spelled.encode()).digest()[:8]) >> 1

    def same(self, other: Token) -> bool:
        """Return whether both hold the same part of the same log."""
        return self.digest == other.digest

    def __str__(self) -> str:
        lanes = ", ".join(f"{lane}: {part}" for lane, part in sorted(self.lanes.items()))
        return f"batch {self.batch_id} ({lanes})"


def other_topic(before: Mapping[str, str], now: Mapping[str, str]) -> str | None:
    """Return a topic that was recreated under the same name; None: there is none.

    Args:
        before: the run's ids of topics, by name.
        now: the broker's ids.
    """
    for topic, id_ in sorted(before.items()):
        if now.get(topic, id_) != id_:
            return (
                f"topic {topic} was deleted and made again: the run has read the one with id "
                f"{id_}, the broker has {now[topic]}, whose offsets count other records: {NEW_RUN}"
            )
    return None


def admit(token: Token, held: Mapping[int, Token], sink: str) -> None:
    """Decide whether a sink takes a batch, or ignores it as one that it already has.

    Args:
        held: the sink's tokens of the run, by batch; empty for a new run.
        sink: names the sink and the run, for messages.

    Raises:
        TokenMismatch: the sink has another batch under the number, or does not end where this one
            begins.
    """
    if not held:
        return
    last = held[max(held)]
    if (other := other_topic(last.topics, token.topics)) is not None:
        raise TokenMismatch(other)
    if (twin := held.get(token.batch_id)) is not None:
        if not twin.same(token):
            msg = (
                f"{sink} holds {twin}, and the job has planned {token} under the same number: the "
                "checkpoint is not the one that wrote it (an old copy, a new one under the run's "
                f"name, or a second driver's): submit the run again to compare them, or {NEW_RUN}"
            )
            raise TokenMismatch(msg)
        return
    if token.batch_id != last.batch_id + 1:
        msg = (
            f"{sink} ends with {last}, and the job brings {token}: batches between, or their "
            f"tokens, are missing; put back what was lost, or {NEW_RUN}"
        )
        raise TokenMismatch(msg)
    for lane, part in sorted(token.lanes.items()):
        before = last.lanes.get(lane)
        if before is not None and part.first <= before.last:
            msg = (
                f"{sink} ends with {last}, and the job brings {token}, which begins before it in "
                f"{lane}: the checkpoint is another's; {NEW_RUN}"
            )
            raise TokenMismatch(msg)


def due(
    token: Token, table: str, written: int | None, digest: int | None, begun: int
) -> Literal["write", "pass"]:
    """Decide what to do with a batch at one table of a sink that has admitted it.

    Args:
        table: names the table and the run, for messages.
        written: the run's last batch in the table; None: none.
        digest: that batch's; None: there is no batch.
        begun: the run's first batch with a token in the sink.

    Raises:
        TokenMismatch: the table has another batch under the number, or lacks some before it.
    """
    if written is None or written < token.batch_id:
        lacks = written is None and begun < token.batch_id
        if lacks or (written is not None and written != token.batch_id - 1):
            has = "no batch of it" if written is None else f"batches up to {written}"
            msg = (
                f"{table} has {has}, and the job brings {token}: the table was lost or put back "
                f"from an older copy; put it back as it was, or {NEW_RUN}"
            )
            raise TokenMismatch(msg)
        return "write"
    if written == token.batch_id and digest != token.digest:
        msg = (
            f"{table} holds another batch {written} than {token}: it was written by another "
            f"checkpoint; put back the table that belongs to this one, or {NEW_RUN}"
        )
        raise TokenMismatch(msg)
    return "pass"


class Kept(NamedTuple):
    """A run's last batch in a table.

    Attributes:
        batch: its number; None: none.
        digest: of its token; None: there is no batch, or the sink has one token for all its tables.
    """

    batch: int | None
    digest: int | None = None


@dataclass(frozen=True)
class Tables:
    """A sink's record of a run.

    Attributes:
        place: names the sink, for messages.
        tokens: by batch, the tokens of the run.
        tables: by name, the last batch in each; None: there is no such table.
    """

    place: str
    tokens: Mapping[int, Token]
    tables: Mapping[str, Kept | None]
