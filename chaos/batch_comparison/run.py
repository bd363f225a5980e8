"""Run both batch sizes on both engines, and compare the results."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from chaos.batch_comparison.plan import CutsPlan, Flights
from chaos.readers.log import LogRecord
from chaos.readers.output import Output, output_of
from chaos.verdict.check import Check, Outcome, merged
from chaos.verdict.contrast import Contrast, contrast
from chaos.verdict.verify import verify
from jobs.datasets import flights
from windowing.model import Pipeline
from windowing.model.rows import DeadLetter, Row

Emitted = tuple[Sequence[Row], Sequence[DeadLetter]]
Engine = Callable[[Sequence[LogRecord], int], Emitted]
"""Computes all rows and dead letters from a log and a number of records per batch."""
News = Callable[[str], None]


@dataclass(frozen=True)
class CutsReport:
    """The results of both engines with both batch sizes.

    Attributes:
        spark, ours: the windows of the first batch size beside those of the second.
        checks: whether Spark's windows differ, and whether ours do not.
    """

    plan: CutsPlan
    command: str
    records: int
    spark: Contrast
    ours: Contrast
    checks: tuple[Check, ...]

    @property
    def outcome(self) -> Outcome:
        """The worst outcome of the checks."""
        return merged(self.checks)


def run_cuts(
    plan: CutsPlan,
    pipeline: Pipeline,
    *,
    spark: Engine,
    ours: Engine,
    command: str,
    news: News = lambda _: None,
) -> CutsReport:
    """Run a batch comparison.

    Args:
        spark: Spark's own `window()`.

    Raises:
        FlightsError: the data set is missing.
    """
    log = clean_log(plan.workload, pipeline.source.topic)
    outputs = {}
    for title, engine in (("Spark's window()", spark), ("slackwater", ours)):
        for rows in plan.cuts:
            rows_found, dead = engine(log, rows)
            outputs[title, rows] = output_of(rows_found, dead, f"{title}, {rows} records a batch")
            news(f"{outputs[title, rows].name}: {len(rows_found):,} rows")
    first, second = plan.cuts
    names = (f"{first} records a batch", f"{second} records a batch")
    contrasts = {
        title: contrast(outputs[title, first].rows, outputs[title, second].rows, names=names)
        for title, _ in outputs
    }
    found = contrasts["Spark's window()"], contrasts["slackwater"]
    defined = {rows: outputs["slackwater", rows] for rows in plan.cuts}
    checks = (shows(found[0]), holds(found[1]), as_defined(pipeline, log, defined))
    return CutsReport(plan, command, len(log), *found, checks)


def clean_log(workload: Flights, topic: str) -> list[LogRecord]:
    """Return the flights in order of arrival, without poison and ends; last windows stay open."""
    log = flights.flights(workload.flights)
    kept = log.filter(pl.col("control").is_null() & pl.col("reason").is_null())
    columns = kept.select("partition", "offset", "value", "append_us").iter_rows()
    return [
        LogRecord(topic, partition, offset, value.encode(), None, append_us)
        for partition, offset, value, append_us in columns
    ]


def shows(spark: Contrast) -> Check:
    """Check that Spark's windows depend on the batch size; otherwise nothing is shown."""
    outcome = Outcome.passed if spark.differing else Outcome.unknown
    return Check("spark_depends_on_batches", outcome, spark.summary())


def holds(ours: Contrast) -> Check:
    """Check that our windows are the same with both batch sizes, and that there are some."""
    evidence = tuple(line for pair in ours.differing[:1] for line in (*pair.before, *pair.after))
    outcome = Outcome.passed if ours.pairs else Outcome.unknown
    if ours.differing:
        outcome = Outcome.failed
    return Check("ours_does_not", outcome, ours.summary(), evidence)


def as_defined(
    pipeline: Pipeline, log: Sequence[LogRecord], outputs: Mapping[int, Output]
) -> Check:
    """Check that both of our outputs equal the definition's result, byte for byte."""
    verdicts = {rows: verify(pipeline, log, output) for rows, output in outputs.items()}
    bad = [verdict for verdict in verdicts.values() if not verdict.ok]
    detail = "; ".join(f"{n} a batch: {v.lines()[-1]}" for n, v in verdicts.items())
    evidence = tuple(bad[0].lines()) if bad else ()
    return Check("as_defined", Outcome.failed if bad else Outcome.passed, detail, evidence)
