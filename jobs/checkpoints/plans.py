"""Which part of the log each batch of a checkpoint is, read from Spark's own files, and written.

Spark's Kafka source writes where a query begins into `sources/0/0`, and where batch N ends into
`offsets/N` before it runs it. Ends are exclusive there; a token's are inclusive.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jobs.checkpoints.mend import newest
from windowing.model.run_errors import CheckpointDamaged
from windowing.runtime.token import Stretch, Token

Ends = Mapping[str, int]
"""By name of the lane, the offset after its last."""


@dataclass(frozen=True)
class Checkpoint:
    """What a checkpoint says of the log.

    Attributes:
        place: its folder.
        committed: the newest batch that is done; -1: none.
        planned: the newest batch that was begun; -1: none.
        ends: by batch, where it ends; under -1 where the first one begins. Spark clears the plans
            of old batches away.
    """

    place: str
    committed: int
    planned: int
    ends: Mapping[int, Ends]

    def lanes(self, batch: int) -> dict[str, Stretch] | None:
        """The offsets of each lane in a batch; None where they are not known any more."""
        before, end = self.ends.get(batch - 1), self.ends.get(batch)
        if before is None or end is None:
            return None
        # Spark begins at offset 0 where a partition is new to it.
        return {lane: Stretch(before.get(lane, 0), last - 1) for lane, last in end.items()}


def read_checkpoint(checkpoint: Path) -> Checkpoint:
    """Read all plans that a checkpoint has; there may be no checkpoint yet.

    Raises:
        CheckpointDamaged: a plan cannot be read.
    """
    plans = checkpoint / "offsets"
    numbers = sorted(int(path.name) for path in plans.glob("[0-9]*") if path.name.isdigit())
    ends = {number: _ends(plans / str(number)) for number in numbers}
    beginning = checkpoint / "sources" / "0" / "0"
    if beginning.exists():
        ends[-1] = _ends(beginning)
    committed = newest(checkpoint / "commits")
    return Checkpoint(str(checkpoint), committed, max([committed, *numbers]), ends)


def lanes_of(checkpoint: Path, batch: int) -> dict[str, Stretch]:
    """The offsets of each lane in a batch that is being run.

    Raises:
        CheckpointDamaged: its plan, or that of the batch before, is missing or cannot be read.
    """
    plans = checkpoint / "offsets"
    before = plans / str(batch - 1) if batch else checkpoint / "sources" / "0" / "0"
    known = {batch - 1: _ends(before), batch: _ends(plans / str(batch))}
    return Checkpoint(str(checkpoint), batch - 1, batch, known).lanes(batch) or {}


def rewrite(checkpoint: Path, tokens: list[Token]) -> None:
    """Plan the batches behind the newest committed one as tokens say, and no others.

    Args:
        checkpoint: of a job that does not run; it has at least one plan, whose settings are kept.
        tokens: of the batches to be run, in order.

    Raises:
        CheckpointDamaged: a plan cannot be read.
    """
    plans = checkpoint / "offsets"
    model = plans / str(max(newest(checkpoint / "commits"), min(newest(plans), 0)))
    head = _text(model).rsplit("\n", 1)[0]
    for token in tokens:
        by_topic: dict[str, dict[str, int]] = {}
        for lane, part in sorted(token.lanes.items()):
            topic, _, partition = lane.rpartition("/")
            by_topic.setdefault(topic, {})[partition] = part.last + 1
        path = plans / str(token.batch_id)
        # Spark reads numbers only; and Hadoop's sum of the old plan must not outlive it.
        written = path.with_name(f".{path.name}.new")
        written.write_text(f"{head}\n{json.dumps(by_topic)}", encoding="utf-8")
        path.with_name(f".{path.name}.crc").unlink(missing_ok=True)
        written.replace(path)
    for path in plans.glob("[0-9]*"):
        if path.name.isdigit() and int(path.name) > tokens[-1].batch_id:
            # Planned behind a batch that is another one now, and never carried out.
            path.unlink()
            path.with_name(f".{path.name}.crc").unlink(missing_ok=True)


def _ends(path: Path) -> Ends:
    try:
        by_topic: dict[str, dict[str, Any]] = json.loads(_text(path).rsplit("\n", 1)[-1])
        return {
            f"{topic}/{partition}": int(end)
            for topic, partitions in by_topic.items()
            for partition, end in partitions.items()
        }
    except (ValueError, AttributeError, TypeError) as error:
        msg = f"the plan {path} cannot be read ({type(error).__name__}): start a new run to replay"
        raise CheckpointDamaged(msg) from None


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8").rstrip("\n")
    except FileNotFoundError:
        msg = f"the plan {path} is missing: start a new run to replay"
        raise CheckpointDamaged(msg) from None
