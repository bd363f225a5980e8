"""What a run is judged by, and the stack that it runs on."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from chaos.control.node_control import LocalNodeControl
from chaos.history import History
from chaos.plan import parse_plan
from chaos.run.fault_run import FaultRun
from chaos.run.job_handle import JobHandle
from chaos.run.judgement import judge
from chaos.run.stack_under_test import StackKind, StackUnderTest, stack_under_test
from chaos.verdict.check import Outcome, merged
from chaos.workload.feed import Feed
from infra.endpoints import Endpoints
from infra.errors import InfraError
from infra.layout import Layout
from tests.unit.chaos.workload.test_own_workload import SHOP
from windowing.model import parse_pipeline
from windowing.semantics.changes import UndeclaredChange

PLAN = """\
name: shop
pipeline: orders.yml
workload: {python: 'a:b', records: 200, max_offsets: 10}
faults: [kill_executor]
recovery: {within: 1 minute}
"""


def finished(tmp_path: Path) -> FaultRun:
    pipeline = parse_pipeline(SHOP)
    endpoints = Endpoints("127.0.0.1:1", "", "", "", "", "", "", tmp_path, "")
    stack = StackUnderTest(
        lambda: endpoints, endpoints, LocalNodeControl(Layout(tmp_path)), lambda _: None
    )
    job = JobHandle(pipeline, tmp_path / "p.yml", endpoints, "r", 10)
    nothing = Feed([], [], [])
    rng = random.Random(1)
    return FaultRun(parse_plan(PLAN), job, stack, History(), 0.0, rng, lambda _: None, nothing)


def test_a_job_without_a_batch_is_unknown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """This used to be an error without a report, which also stopped the following plans."""
    fault_run = finished(tmp_path)
    monkeypatch.setattr("chaos.run.judgement.read_topics", lambda *_: [])
    found = judge(fault_run, "127.0.0.1:1")
    assert found.verdict is None
    assert merged(found.checks) is Outcome.unknown
    assert any("nothing to compare: " in check.detail for check in found.checks)


def test_a_job_that_died_before_it_made_a_change_of_its_log_has_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """This, too, used to be an error without a report."""
    fault_run = finished(tmp_path)
    fault_run.context.imported.append("a class of the log")
    plan = PLAN.replace("kill_executor", "hostile_producer").replace("200", "500")
    fault_run.plan = parse_plan(plan)

    def unknown_change(*_: object) -> None:
        raise UndeclaredChange(fault_run.job.pipeline)

    monkeypatch.setattr("chaos.run.judgement._compared", unknown_change)
    checks = {check.name: check for check in judge(fault_run, "127.0.0.1:1").checks}
    assert checks["deterministic"].outcome is Outcome.failed
    assert "has not made all changes of its queries" in checks["deterministic"].detail
    assert checks["nothing_imported"].outcome is Outcome.failed


@pytest.mark.parametrize(
    ("kind", "proxied", "rule"),
    [
        ("local", False, "brokers: 3 requires containers"),
        ("containers", True, "a proxy needs a single broker, and there are 3"),
    ],
)
def test_three_brokers_take_containers_and_no_proxy(
    tmp_path: Path, kind: StackKind, proxied: bool, rule: str
) -> None:
    lines: list[str] = []
    wanted = {"components": ["kafka"], "proxied": proxied, "brokers": 3}
    with (
        pytest.raises(InfraError, match=rule),
        stack_under_test(kind, Layout(tmp_path), lines.append, **wanted),  # type: ignore[arg-type]
    ):
        pass
    assert not lines
    assert not list(tmp_path.iterdir())


def test_brokers_are_found_by_name(tmp_path: Path) -> None:
    bootstrap = "127.0.0.1:9094,127.0.0.1:9194,127.0.0.1:9294"
    endpoints = Endpoints(bootstrap, "", "", "", "", "", "", tmp_path, "")
    assert endpoints.brokers == {"kafka": 9094, "kafka-2": 9194, "kafka-3": 9294}
