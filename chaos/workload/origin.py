"""Read the records of a workload: flights, a file, a range of a topic, what a function yields."""

from __future__ import annotations

import importlib
import json
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from chaos.readers.log import EventsFileError, LogError
from chaos.readers.topic import committed_ends, read_topic
from chaos.workload.feed import departed
from chaos.workload.kinds import RECORDS_MAX, Edge, Workload
from chaos.workload.records import WorkloadRecord, read_records
from jobs.brokers.topics import offsets_at
from windowing.model import Pipeline


@dataclass(frozen=True)
class Origin:
    """The origin of a workload's records.

    Attributes:
        pipeline: the user's pipeline, whose log the records are.
        folder: the plan's folder, to which files and modules are relative.
        bootstrap: returns the broker that has the topic; called only if there is a topic.
    """

    workload: Workload
    pipeline: Pipeline
    folder: Path
    seed: int
    bootstrap: Callable[[], str]

    def records(self) -> list[WorkloadRecord]:
        """Read the records, without the ends of partitions.

        Raises:
            FlightsError: the data set is missing.
            LogError: a file or a topic cannot be read, or is no log of this pipeline.
            GeneratorError: the generator is not there, or fails.
            BrokerError: no broker answers.
        """
        workload, pipeline = self.workload, self.pipeline
        if workload.flights is not None:
            return departed(workload, pipeline)
        if workload.topic is not None:
            return self._first(read_range(self.bootstrap(), workload, pipeline))
        by = workload.partition_by
        if workload.events is not None:
            return self._first(
                read_records(self.folder / workload.events, pipeline, partition_by=by)
            )
        with tempfile.TemporaryDirectory(prefix="slackwater-generated-") as folder:
            file = Path(folder) / "generated.jsonl"
            reference, limit = str(workload.python), workload.records or RECORDS_MAX
            write_generated(reference, self.folder, self.seed, limit, file)
            return self._first(read_records(file, pipeline, partition_by=by))

    def _first(self, records: Iterable[WorkloadRecord]) -> list[WorkloadRecord]:
        """Return as many records as the workload wants; reject more than the maximum."""
        found = list(islice(records, self.workload.records or RECORDS_MAX + 1))
        if len(found) > RECORDS_MAX:
            msg = (
                f"{self.workload}: more than {RECORDS_MAX:,}, which is what a plan can send at the "
                f"most: take the first ones, as records: {RECORDS_MAX}"
            )
            raise EventsFileError(msg)
        return found


class GeneratorError(RuntimeError):
    """A generator function that is missing, fails, or yields something other than records."""

    exit_code = 2


def write_generated(reference: str, folder: Path, seed: int, records: int, file: Path) -> None:
    """Write what a generator function yields, one line each.

    Args:
        reference: `module:function`, which takes a seed and yields dicts: lines of EVENTS.jsonl,
            or values alone.
        folder: where to look for the module if Python does not find it as always; then in the
            working directory.
        seed: argument of the function, which should yield the same records for the same seed.

    Raises:
        GeneratorError: the function is missing, fails, or yields something other than records.
    """
    with file.open("w", encoding="utf-8") as opened, _importable(folder):
        opened.writelines(_lines(reference, folder, seed, records))
        is_empty = not opened.tell()
    if is_empty:
        msg = f"python: {reference} yields nothing with seed {seed}: it must yield records"
        raise GeneratorError(msg)


def _lines(reference: str, folder: Path, seed: int, records: int) -> Iterator[str]:
    module, _, name = reference.partition(":")
    try:
        function = getattr(importlib.import_module(module), name)
        for made in islice(function(seed), records):
            yield f"{_spelled(made, reference)}\n"
    except GeneratorError:
        raise
    except (Exception, SystemExit) as error:
        msg = (
            f"python: {reference}(seed={seed}) failed: {type(error).__name__}: {error}; the "
            f"module is looked for in Python's own folders, then in {folder}, then where you stand"
        )
        raise GeneratorError(msg) from error


def _spelled(made: object, reference: str) -> str:
    if not isinstance(made, dict):
        msg = (
            f"python: {reference} yields {made!r:.80}, and a record is a dict: a value, or "
            "{'source': …, 'partition': …, 'offset': …, 'value': …}"
        )
        raise GeneratorError(msg)
    return json.dumps(made, ensure_ascii=False, separators=(",", ":"))


@contextmanager
def _importable(folder: Path) -> Iterator[None]:
    """Make modules of a folder and of the working directory importable in a block.

    After all others: a file that lies there must not stand in for a module of Python's own, which
    anybody's code may import meanwhile.
    """
    before = list(sys.path)
    sys.path += [str(folder.resolve()), str(Path.cwd())]
    try:
        yield
    finally:
        sys.path[:] = before


class RangeError(LogError):
    """A range that is not in the topic, or a topic that does not fit the pipeline."""

    exit_code = 2


def read_range(bootstrap: str, workload: Workload, pipeline: Pipeline) -> Iterator[WorkloadRecord]:
    """Yield the records of a range, without the ends of partitions.

    Partitions interleave as the broker delivers them, each in its own order.

    Args:
        bootstrap: address of the broker that has the topic.
        pipeline: a pipeline with one source, with the topic's number of partitions.

    Raises:
        RangeError: the range or the number of partitions does not fit.
        LogError: the topic cannot be read.
        BrokerError: no broker answers.
    """
    topic, wanted = str(workload.topic), pipeline.source.partitions
    if not pipeline.one_topic:
        msg = f"topic {topic}: a join reads two topics: record both into a file, and give events"
        raise RangeError(msg)
    settled = committed_ends(bootstrap, topic)
    if len(settled) != wanted:
        msg = (
            f"topic {topic!r} has {len(settled)} partitions, the pipeline declares {wanted}: name "
            "another topic, or declare as many"
        )
        raise RangeError(msg)
    begins = _offsets(bootstrap, topic, workload.from_, settled) or dict.fromkeys(settled, 0)
    ends = {**settled, **(_offsets(bootstrap, topic, workload.to, settled) or {})}
    for lane, end in ends.items():
        if end > settled[lane]:
            msg = f"to {end} of {topic}/{lane}: it ends at {settled[lane]}: say an earlier end"
            raise RangeError(msg)
    for record in read_topic(bootstrap, topic, ends=ends):
        if record.offset >= begins.get(record.partition, 0):
            sent = WorkloadRecord(0, record.partition, record.value, record.control)
            if not sent.is_end:
                yield sent


def _offsets(
    bootstrap: str, topic: str, edge: Edge | None, settled: Mapping[int, int]
) -> dict[int, int] | None:
    if edge is None or isinstance(edge, dict):
        if strange := sorted((edge or {}).keys() - settled.keys()):
            msg = f"there is no partition {topic}/{strange[0]}: it has {len(settled)}, from 0"
            raise RangeError(msg)
        return edge
    return offsets_at(bootstrap, topic, edge)
