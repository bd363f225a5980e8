"""The part of the log in each batch of a checkpoint: reads and writes Spark's own files.

Spark's Kafka source writes the start of a query to `sources/0/0`, and the end of batch N to
`offsets/N` before running it. Ends are exclusive there; a token's are inclusive.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jobs.checkpoints.checkpoint import newest, read_base
from windowing.model.run_errors import CheckpointDamaged
from windowing.runtime.token import Stretch, Token

Ends = Mapping[str, int]
"""By lane name, the offset after its last record."""


@dataclass(frozen=True)
class Checkpoint:
    """A checkpoint's plans and commits.

    Attributes:
        place: its folder.
        committed: the newest committed batch; the one before the first: none.
        planned: the newest planned batch; the one before the first: none.
        ends: by batch, its end; under the one before the first, where that starts. Spark deletes
            old plans.
        begins: its first batch, as the run counts; 0 unless it continues another checkpoint.
    """

    place: str
    committed: int
    planned: int
    ends: Mapping[int, Ends]
    begins: int = 0

    def lanes(self, batch: int) -> dict[str, Stretch] | None:
        """Return the offsets of each lane in a batch; None if they are no longer known."""
        before, end = self.ends.get(batch - 1), self.ends.get(batch)
        if before is None or end is None:
            return None
        # Spark starts a new partition at offset 0.
        return {lane: Stretch(before.get(lane, 0), last - 1) for lane, last in end.items()}


def read_checkpoint(checkpoint: Path) -> Checkpoint:
    """Read all plans of a checkpoint, which may not exist yet.

    Raises:
        CheckpointDamaged: a plan cannot be read.
    """
    base, plans = read_base(checkpoint), checkpoint / "offsets"
    numbers = sorted(int(path.name) for path in plans.glob("[0-9]*") if path.name.isdigit())
    ends = {base.batch + number: _ends(plans / str(number)) for number in numbers}
    beginning = checkpoint / "sources" / "0" / "0"
    if beginning.exists():
        ends[base.batch - 1] = _ends(beginning)
    elif base.batch:
        ends[base.batch - 1] = base.ends
    committed = base.batch + newest(checkpoint / "commits")
    return Checkpoint(str(checkpoint), committed, max([committed, *ends]), ends, base.batch)


def lanes_of(checkpoint: Path, batch: int) -> dict[str, Stretch]:
    """Return the offsets of each lane in the batch that is running.

    Raises:
        CheckpointDamaged: its plan, or that of the batch before, is missing or cannot be read.
    """
    begins, plans = read_base(checkpoint).batch, checkpoint / "offsets"
    number = batch - begins
    before = plans / str(number - 1) if number else checkpoint / "sources" / "0" / "0"
    known = {batch - 1: _ends(before), batch: _ends(plans / str(number))}
    return Checkpoint(str(checkpoint), batch - 1, batch, known, begins).lanes(batch) or {}


def rewrite(checkpoint: Path, tokens: list[Token]) -> None:
    """Rewrite the plans after the newest committed batch to be exactly those of the tokens.

    Args:
        checkpoint: the checkpoint of a job that is not running, with at least one plan, whose
            settings are kept.
        tokens: tokens of the batches to run, in order.

    Raises:
        CheckpointDamaged: a plan cannot be read.
    """
    begins, plans = read_base(checkpoint).batch, checkpoint / "offsets"
    model = plans / str(max(newest(checkpoint / "commits"), min(newest(plans), 0)))
    head = _text(model).rsplit("\n", 1)[0]
    for token in tokens:
        by_topic: dict[str, dict[str, int]] = {}
        for lane, part in sorted(token.lanes.items()):
            topic, _, partition = lane.rpartition("/")
            by_topic.setdefault(topic, {})[partition] = part.last + 1
        path = plans / str(token.batch_id - begins)
        # Spark reads only numbers; and Hadoop's checksum of the old plan must not remain.
        written = path.with_name(f".{path.name}.new")
        written.write_text(f"{head}\n{json.dumps(by_topic)}", encoding="utf-8")
        path.with_name(f".{path.name}.crc").unlink(missing_ok=True)
        written.replace(path)
    for path in plans.glob("[0-9]*"):
        if path.name.isdigit() and begins + int(path.name) > tokens[-1].batch_id:
            # Planned after a batch that has changed, and never executed.
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
