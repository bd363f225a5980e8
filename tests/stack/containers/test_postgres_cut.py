"""Every judgement is made at one cut, where rows are in a real PostgreSQL and batches commit.

As `tests/unit/slackwater/test_cut.py` has it for Delta tables: the cluster is pretended.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from jobs import runs
from tests.unit.life.machine import GOOD
from tests.unit.slackwater.test_cut import MORE, SIZE
from tests.unit.slackwater.test_overview import answer
from tests.unit.slackwater.test_run_commands import Desk, commit, desk, topic
from windowing.engine.reading.batches import batches, checked
from windowing.runtime.local import LocalEngine
from windowing.runtime.output import tagged
from windowing.spark.sinks import PostgresSink

__all__ = ["desk", "topic"]

# Great Expectations is itself built on what its libraries deprecate.
pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.usefixtures("topic"),
]


def written(run: runs.Run, desk: Desk, judge: Callable[[int], None]) -> None:
    """Write the log batch by batch; judge before each table of a batch, and before its commit.

    `judge` is given how many batches are committed.
    """
    from chaos.readers.log import read_events

    pipeline, done = run.own_pipeline(), 0
    run.checkpoint.mkdir()
    engine, sink = LocalEngine(pipeline), PostgresSink(pipeline, pipeline.output, run.run)
    upsert = PostgresSink._upsert

    def judged(sink: PostgresSink, connection: Any, name: str, rows: pa.Table) -> None:
        judge(done)  # in the transaction of the batch
        upsert(sink, connection, name, rows)

    log = [*checked(read_events(desk.events, pipeline.source), pipeline)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(PostgresSink, "_upsert", judged)
        for number, batch in enumerate(batches(log, SIZE, pipeline)):
            sink.take([one for sent in engine.feed(batch) for one in tagged(sent)], number)
            judge(done)  # the rows are there, and Spark knows nothing of it yet
            done = number + 1
            commit(run, done, min(SIZE * done, len(log)))
            judge(done)


def test_judgements_agree_while_batches_commit(
    postgres: str, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    del postgres
    desk.edit("sink: {table: tide}", f"{MORE.strip()}\nsink: {{postgres: tide}}")
    lines = desk.events.read_text().splitlines()
    for at in range(0, len(lines), 7):
        value = {"ts": "x"} if at % 2 else {"ts": max(0, at - 30) * 10**6, "v": 1}
        lines[at] = json.dumps({**json.loads(lines[at]), "value": value})
    desk.events.write_text("\n".join(lines) + "\n")
    monkeypatch.setattr("slackwater.quality.stack_for", lambda *_: desk.cluster.endpoints)
    monkeypatch.setattr("chaos.quality.docs.Site.publish", lambda _: Path("index.html"))
    run = desk.submit("r1")
    seen: list[int] = []

    def judge(done: int) -> None:
        if not done:
            return
        at = f"up to batch {done - 1}: {GOOD}/0 offset {min(SIZE * done, 100)}"
        assert at in desk.call("verify", desk.file)
        found = answer(desk)
        assert found["batches"]["count"] == done
        assert [lane["records"] for lane in found["lanes"]] == [min(SIZE * done, 100)]
        if done == 2:  # one batch says it: each check takes a second
            assert at in desk.call("quality", desk.file)
        seen.append(done)

    written(run, desk, judge)
    # Two tables at least in each batch, then what Spark does not know of yet, then its commit.
    assert seen.count(1) >= 4
    assert seen[-1] == 3
