"""Tokens in a real PostgreSQL: what the sink keeps of a run, what it refuses, what is missing."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import psycopg
import pytest

from jobs.checkpoints.agreement import compare
from jobs.checkpoints.plans import Checkpoint
from tests.unit.sinks.test_sink_tokens import NAMES, PIPELINE, batches
from windowing.model.run_errors import TokenMismatch
from windowing.runtime.token import Kept, Stretch
from windowing.spark.sinks.postgres import PostgresSink


def filled(run: str, *cuts: int) -> None:
    sink = PostgresSink(PIPELINE, PIPELINE.output, run)
    for number, frames in enumerate(batches(*cuts)):
        sink.take(frames, number)


def told(statement: str) -> Sequence[tuple[object, ...]]:
    with psycopg.connect() as connection:
        return connection.execute(statement).fetchall()  # type: ignore[call-overload]


def test_a_batch_and_its_token_are_one_transaction(postgres: str) -> None:
    assert PostgresSink.kept(PIPELINE, Path(), "r1").tables == dict.fromkeys(NAMES)
    filled("r1", 3, 7, 9)
    found = PostgresSink.kept(PIPELINE, Path(), "r1")
    assert [*found.tokens] == [0, 1, 2]
    assert found.tokens[1].lanes == {"s/0": Stretch(3, 6)}
    assert found.tables == dict.fromkeys(NAMES, Kept(2))
    rows = told("select count(*) from p.q")
    filled("r1", 3, 7, 9)
    assert told("select count(*) from p.q") == rows

    with pytest.raises(TokenMismatch, match=r"s/0: 3 to 6.* planned .*s/0: 3 to 7"):
        filled("r1", 3, 8)
    *_, skipping = batches(3, 7, 9, 12, 14)
    with pytest.raises(TokenMismatch, match=r"ends with batch 2 .*brings batch 4"):
        PostgresSink(PIPELINE, PIPELINE.output, "r1").take(skipping, 4)
    assert told("select batch_id from p.commits") == [(2,)]
    assert told("select max(batch_id) from p.tokens") == [(2,)]
    assert told("select count(*) from p.q") == rows

    with psycopg.connect() as connection:
        connection.execute("drop table p.never cascade")
    checkpoint = Checkpoint("c", 2, 2, {})
    (said,) = compare(
        checkpoint,
        PostgresSink.kept(PIPELINE, Path(), "r1"),
        {},
        known={},
        may_be_compacted=frozenset(),
        fingerprint=PIPELINE.fingerprint,
    ).mismatches
    assert "table never in PostgreSQL schema p is missing" in said
