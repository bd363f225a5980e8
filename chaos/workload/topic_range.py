"""A range of an external topic, which is read once and never changed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from chaos.readers.log import LogError
from chaos.readers.topic import committed_ends, read_topic
from chaos.workload.kinds import Edge, Workload
from chaos.workload.records import WorkloadRecord
from jobs.brokers.topics import offsets_at
from windowing.model import Pipeline


class RangeError(LogError):
    """A range that is not in the topic, or a topic that does not fit the pipeline."""

    exit_code = 2


def read_range(bootstrap: str, workload: Workload, pipeline: Pipeline) -> Iterator[WorkloadRecord]:
    """Yield the records of a range, without the ends of partitions.

    Partitions interleave as the broker delivers them, each in its own order.

    Args:
        bootstrap: address of the broker that has the topic.
        workload: names the topic and the range.
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
