"""A checkpoint before Spark opens it: what it continues, how far it is, whether it is whole.

Spark numbers the batches of every checkpoint from 0. Tables, tokens and people count those of the
run: the checkpoint's, plus those of the base that it continues.

Spark writes `offsets/N` when it plans batch N and `commits/N` when N is done, and on a restart
resumes from the newest planned batch. If the plan of a committed batch is lost, it would plan
another batch under the same number, and the tables, which already have that number, would skip its
rows. So this is checked before anything runs.

If the commit of a batch is lost while the next one was planned, Spark cannot find that batch's
state, and the job fails again and again. The plan of the later batch must not be lost either, since
the tables may hold its rows under its number. So the plan is set aside, the batch is rerun alone,
and the plan is restored.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

from windowing.model.run_errors import CheckpointDamaged
from windowing.model.source import Source

_FILE, _SEED = "base.json", "seed"


@dataclass(frozen=True)
class Base:
    """What a checkpoint continues; by default nothing, as in a run's first one.

    Attributes:
        batch: the number of its first batch.
        ends: by lane name, the offset that it begins with.
        fingerprints: of the pipelines that wrote the run's earlier batches.
        after: the name of the folder beside it in which the other checkpoint is kept.
    """

    batch: int = 0
    ends: Mapping[str, int] = field(default_factory=dict)
    fingerprints: tuple[str, ...] = ()
    after: str = ""


def read_base(checkpoint: Path) -> Base:
    """Return what a checkpoint, which may not exist yet, continues."""
    file = checkpoint / _FILE
    if not file.exists():
        return Base()
    said = json.loads(file.read_text(encoding="utf-8"))
    return Base(said["batch"], said["ends"], tuple(said["fingerprints"]), said["after"])


def write_base(checkpoint: Path, base: Base) -> None:
    """Write what a new checkpoint continues, into its folder."""
    (checkpoint / _FILE).write_text(json.dumps(asdict(base)), encoding="utf-8")


def seed_of(checkpoint: Path) -> Path:
    """Return the folder of the state that a checkpoint with a base begins with."""
    return checkpoint / _SEED


def committed_offsets(checkpoint: Path, source: Source | None = None) -> tuple[int, dict[int, int]]:
    """Return the committed part of a checkpoint: number of batches, and next offset per lane.

    Args:
        source: numbers the lanes; None: one topic, whose partitions they are.
    """
    return _newest(checkpoint, "commits", source)


@dataclass(frozen=True)
class Cut:
    """Up to where a run is judged: the last batch that is committed everywhere.

    Spark commits a batch once its sink has all of it. So what is read after the cut was taken
    (rows, dead letters, metrics, tokens) has every batch before it, and perhaps more, which the
    readers leave out. It is taken once for a judgement, and given to all that read.

    Attributes:
        batches: the number of batches; the run's later ones are left out.
        ends: by lane, the first offset behind them.
    """

    batches: int
    ends: Mapping[int, int]

    @classmethod
    def of(cls, checkpoint: Path, source: Source) -> Cut:
        """Take the cut of a run, by its checkpoint."""
        batches, ends = committed_offsets(checkpoint, source)
        return cls(batches, {lane: ends.get(lane, 0) for lane in range(source.partitions)})

    def behind(self, ends: Mapping[int, int]) -> int:
        """Return the number of offsets up to some ends that the cut leaves out."""
        return sum(max(0, end - self.ends.get(lane, 0)) for lane, end in ends.items())

    def __str__(self) -> str:
        return f"up to batch {self.batches - 1}"


def planned_offsets(checkpoint: Path, source: Source | None = None) -> dict[int, int]:
    """Return the next offset per lane after the newest planned batch, which may be written already.

    Args: as for `committed_offsets`.
    """
    return _newest(checkpoint, "offsets", source)[1]


def _newest(checkpoint: Path, log: str, source: Source | None) -> tuple[int, dict[int, int]]:
    base, numbers = read_base(checkpoint), [int(p.name) for p in (checkpoint / log).glob("[0-9]*")]
    ends = _plan(checkpoint / "offsets" / str(max(numbers))) if numbers else base.ends
    offsets: dict[int, int] = {}
    for lane, offset in ends.items():
        topic, _, partition = lane.rpartition("/")
        number = int(partition) if source is None else source.number(topic, int(partition))
        if number is not None:
            offsets[number] = int(offset)
    return base.batch + max(numbers, default=-1) + 1, offsets


def _plan(file: Path) -> dict[str, int]:
    by_topic = json.loads(file.read_text(encoding="utf-8").splitlines()[-1])
    return {
        f"{topic}/{partition}": offset
        for topic, partitions in by_topic.items()
        for partition, offset in partitions.items()
    }


def examine(checkpoint: Path) -> None:
    """Check that the newest entries of the offset log exist and are readable.

    Args:
        checkpoint: the checkpoint of a job that is not running; may not exist yet.

    Raises:
        CheckpointDamaged: one is not; names it and the remedy.
    """
    committed, planned = newest(checkpoint / "commits"), newest(checkpoint / "offsets")
    for batch in sorted({committed, max(committed, planned)} - {-1}):
        _read_plan(checkpoint / "offsets" / str(batch))


def _read_plan(path: Path) -> None:
    # Restoring this file alone is enough; an older checkpoint as a whole must be compared with
    # the tables, which `jobs.checkpoints.agreement` does at the next start.
    cure = "put this very file back, or the checkpoint as a whole, or start a new run to replay"
    try:
        head, *_, ends = path.read_text(encoding="utf-8").splitlines()
        if head != "v1" or not isinstance(json.loads(ends), dict):
            raise ValueError(head)
    except FileNotFoundError:
        msg = f"the plan {path} of a committed batch is missing: {cure}"
        raise CheckpointDamaged(msg) from None
    except ValueError as error:
        msg = f"the plan {path} cannot be read ({type(error).__name__}): {cure}"
        raise CheckpointDamaged(msg) from None


_ASIDE = "offsets-aside"


def mend(checkpoint: Path, run_one: Callable[[], None]) -> list[int]:
    """Rerun batches whose commits are lost; return their numbers, usually none.

    The next call continues an interrupted one.

    Args:
        checkpoint: the checkpoint of a job that is not running.
        run_one: runs only the newest planned batch, which is not committed.

    Raises:
        RuntimeError: `run_one` committed nothing.
    """
    mended: list[int] = []
    while True:
        _put_back(checkpoint)
        first = newest(checkpoint / "commits") + 1
        if newest(checkpoint / "offsets") <= first:
            return mended
        _put_aside(checkpoint, beyond=first)
        run_one()
        if newest(checkpoint / "commits") < first:
            msg = f"batch {first} of {checkpoint}, whose commit is lost, could not be run again"
            raise RuntimeError(msg)
        mended.append(first)


def newest(log: Path) -> int:
    """Return the number of the newest entry of a log of the checkpoint; -1 if there is none."""
    return max((int(path.name) for path in log.glob("[0-9]*") if path.name.isdigit()), default=-1)


def _put_aside(checkpoint: Path, *, beyond: int) -> None:
    aside = checkpoint / _ASIDE
    aside.mkdir(exist_ok=True)
    for path in (checkpoint / "offsets").glob("[0-9]*"):
        if path.name.isdigit() and int(path.name) > beyond:
            path.rename(aside / path.name)


def _put_back(checkpoint: Path) -> None:
    for path in (checkpoint / _ASIDE).glob("[0-9]*"):
        path.rename(checkpoint / "offsets" / path.name)
