"""Parts of a log that Spark's executors evaluate get the verdict that they get here."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from typer.testing import CliRunner

from chaos.readers.output import output_of
from chaos.verdict.in_parts import Means
from chaos.verdict.part_lines import PartError
from chaos.verdict.point import read_point
from chaos.verdict.verify import verify
from slackwater.main import app
from tests.strategies import entry
from tests.unit.slackwater.test_results import RECORDS, TEXT, log_of
from windowing.model import parse_pipeline
from windowing.semantics import evaluate
from windowing.semantics.aggregates import IntSumError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

P = parse_pipeline(TEXT)
LATER = [(ts + 20_000 * turn, origin) for turn in range(40) for ts, origin in RECORDS]
LOG = sorted(log_of(LATER), key=lambda one: one.offset)


def on(spark: SparkSession) -> Means:
    """Return little memory, so that there are many parts, and Spark to evaluate them."""
    from jobs.spread import spread

    return Means(memory_bytes=1, cluster=partial(spread, spark))


def test_executors_find_what_this_process_does(spark: SparkSession) -> None:
    whole = evaluate(P, LOG)
    for rows in (whole.rows, whole.rows[1:], [*whole.rows, whole.rows[3]]):
        output = output_of(rows, whole.dead, "output")
        here = verify(P, LOG, output)
        assert verify(P, LOG, output, on(spark)) == here
        assert here.ok == (len(rows) == len(whole.rows))


def test_ranges_on_executors(spark: SparkSession, tmp_path: Path) -> None:
    half, file = len(LOG) // 2, tmp_path / "point"
    found = evaluate(P, LOG[:half])
    output = output_of(found.rows, found.dead, "output")
    assert verify(P, LOG[:half], output, on(spark), keep=file).ok
    whole = evaluate(P, LOG)
    output = output_of(whole.rows, whole.dead, "output")
    since = read_point(file)
    verdict = verify(P, LOG, output, on(spark), since=since)
    assert verdict.ok, verdict.lines()
    assert 0 < verdict.rows.expected < len(whole.rows)
    assert verdict == verify(P, LOG, output, since=since)


def test_a_sum_that_overflows_is_refused_in_the_same_words(spark: SparkSession) -> None:
    pipeline = parse_pipeline(TEXT.replace("delay: float", "delay: int"))
    places = [("flights", lane, at) for at in (0, 1) for lane in (0, 1)]
    value = {"ts": 1, "origin": "EWR", "delay": 2**62}
    log = [
        entry({"source": source, "partition": lane, "offset": at, "value": value})
        for source, lane, at in places
    ]
    ends = [{"source": "flights", "partition": lane, "offset": 2} for lane in (0, 1)]
    log += [entry({**end, "control": {"end": True}}) for end in ends]
    nothing = output_of([], [], "nothing")
    with pytest.raises(IntSumError) as here:
        verify(pipeline, log, nothing)
    with pytest.raises(PartError) as there:
        verify(pipeline, log, nothing, on(spark))
    assert str(there.value) == str(here.value)


def test_the_command_spreads_the_parts(spark: SparkSession, tmp_path: Path) -> None:
    pipeline, events, output = (tmp_path / name for name in ("p.yml", "e.jsonl", "o.jsonl"))
    pipeline.write_text(TEXT)
    with events.open("w") as file:
        for one in LOG:
            place = {"source": one.source, "partition": one.partition, "offset": one.offset}
            assert one.value is not None
            file.write(json.dumps({**place, "value": json.loads(one.value)}) + "\n")
    for command in (("run",), ("verify", "--engine", "spark", "--memory", "1MB")):
        arguments = [command[0], pipeline, "--input", events, "--output", output, *command[1:]]
        done = CliRunner().invoke(app, [str(argument) for argument in arguments])
        assert done.exit_code == 0, done.output
    assert "lost 0, duplicated 0, differing 0" in done.output
    # A session that was there goes on.
    assert spark.range(3).count() == 3
