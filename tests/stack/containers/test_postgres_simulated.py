"""Simulated runs write to a real PostgreSQL, and it holds what their own sink has."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from itertools import count, islice
from typing import Any

import msgspec
import yaml

from chaos.readers.postgres import read_postgres
from chaos.simulator.case import Case
from chaos.simulator.platform.job import SimulatedJob, Tables
from chaos.simulator.platform.parts import EngineParts
from chaos.simulator.platform.tables import token
from chaos.simulator.run import draw_case, history_of
from windowing.model.errors import PipelineError
from windowing.model.file.pipeline import Pipeline, parse_pipeline
from windowing.spark.sinks import PostgresSink
from windowing.spark.sinks.written import WrittenBatch

RUNS, RUN = 12, "simulated"


class PostgresJob(SimulatedJob):
    """Writes each batch to PostgreSQL, too; its driver dies in a transaction, and behind it."""

    _there: PostgresSink | None

    def write_sink(self, batch: int, token: int, tables: Tables) -> None:
        if self._there is None:
            self._there = PostgresSink(
                self._pipeline,
                self._pipeline.output,
                RUN,
                self._token_of,
                self._in_transaction,
                on_written=self._behind,
            )
        self._there.take(self.emitted, batch)
        super().write_sink(batch, token, tables)

    def _adopt(self, pipeline: Pipeline) -> None:
        super()._adopt(pipeline)
        self._there = None

    def _restart(self, workers: int = 0, *, keep_workers: bool = False) -> None:
        super()._restart(workers, keep_workers=keep_workers)
        self._there = None

    def _token_of(self, batch: int) -> Any:
        return token(self._pipeline, self.planned, batch)

    def _in_transaction(self) -> bool:
        # It is asked when the sink is opened, too.
        if self._there is not None:
            self._fate.pass_by("driver dies among the tables")
            self._fate.pass_by("sink refuses", workers=False)
        return True

    def _behind(self, batch: WrittenBatch) -> None:
        del batch
        self._fate.pass_by("sink does not answer", workers=False)


def in_postgres() -> Iterator[Case]:
    """Yield drawn cases whose columns have names that PostgreSQL's tables can have."""
    for number in count():
        with suppress(PipelineError):
            yield _in_postgres(draw_case(20_27, number, EngineParts()), f"run_{number}")


def _in_postgres(drawn: Case, schema: str) -> Case:
    document = yaml.safe_load(drawn.pipeline) | {"sink": {"postgres": schema}}
    text = yaml.safe_dump(document, sort_keys=False, allow_unicode=True)
    parse_pipeline(text)
    return msgspec.structs.replace(drawn, pipeline=text, disk=False)


def test_postgres_holds_what_simulated_runs_have_sent(postgres: str) -> None:
    found = 0
    for case in islice(in_postgres(), RUNS):
        jobs: list[PostgresJob] = []

        def make(*args: Any, jobs: list[PostgresJob] = jobs) -> PostgresJob:
            jobs.append(PostgresJob(*args))
            return jobs[0]

        history = history_of(case, EngineParts(job=make))
        assert history.error is None or history.commits is not None
        if jobs[0].commits == 0:
            continue
        output = read_postgres(jobs[0]._pipeline, RUN)
        batches = history.batches.values()
        assert sorted(output.rows) == sorted(line for one in batches for line in one.rows)
        assert sorted(output.dead) == sorted(line for one in batches for line in one.dead)
        found += 1
    assert found > RUNS // 2
