"""The job of another engine, described by a pipeline file."""

from __future__ import annotations

from dataclasses import dataclass

from windowing.model import Pipeline, Query
from windowing.model.progress.generators import Slack
from windowing.model.windows.sliding import is_sliding
from windowing.research.engines.schedules import ENGINES, WatermarkEngine


class AuditError(RuntimeError):
    """A job, or an output, that cannot be audited."""

    exit_code = 2


@dataclass(frozen=True)
class Job:
    """What another engine computes.

    Attributes:
        pipeline: its source: topic, event time, fields.
        query: its windows, key and aggregates.
        delay_us: how far its clock stays behind the event time: the delay of a watermark, or grace.
        lateness_us: how long after its end a window still takes records.
    """

    engine: WatermarkEngine
    pipeline: Pipeline
    query: Query
    delay_us: int
    lateness_us: int

    @property
    def updates(self) -> bool:
        """Whether a window may have several rows, of which the last one counts."""
        return self.engine.updates or self.lateness_us > 0

    @classmethod
    def of(cls, engine: str, pipeline: Pipeline, query: str | None) -> Job:
        """Return the job that a file describes.

        Args:
            pipeline: the file; its slack is the delay or the grace, and the retention of
                `late: {policy: update}` the allowed lateness.
            query: the query; None: the only one.

        Raises:
            AuditError: the engine is not known, or the file describes what it cannot compute.
        """
        if engine not in ENGINES:
            msg = f"--like {engine}: that engine is not known: {', '.join(ENGINES)}"
            raise AuditError(msg)
        found, disorder = _query(pipeline, query), pipeline.source.disorder
        window = found.window
        if (
            not is_sliding(window)
            or window.pattr
            or window.attribute != pipeline.source.event_time.field
        ):
            msg = f"query {found.name}: only tumbling and sliding windows of event time are audited"
            raise AuditError(msg)
        if not isinstance(disorder, Slack):
            msg = (
                "source.disorder is the delay of the engine's watermark, or its grace: write it as "
                "disorder: {slack: 30 seconds}, or disorder: ordered if there is none"
            )
            raise AuditError(msg)
        lateness_us = (found.retention_us or 0) if found.late.policy == "update" else 0
        if lateness_us and engine == "spark-window":
            msg = f"query {found.name}: Spark's window() has no allowed lateness: leave late out"
            raise AuditError(msg)
        return cls(ENGINES[engine], pipeline, found, disorder.slack_us, lateness_us)


def _query(pipeline: Pipeline, name: str | None) -> Query:
    names = [query.name for query in pipeline.of(Query)]
    if name is None and len(names) == 1:
        name = names[0]
    for query in pipeline.of(Query):
        if query.name == name:
            return query
    problem = f"there is no query {name!r}" if name else "say by --query which one is meant"
    msg = f"pipeline {pipeline.name}: {problem}; it has {', '.join(names) or 'none with windows'}"
    raise AuditError(msg)
