"""A run of a plan: how it is judged, and the first plan as a whole."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from chaos.control.node_control import LocalNodeControl
from chaos.faults import FAULTS
from chaos.history import History
from chaos.plan import load_plan_with_lines, parse_plan
from chaos.run.fault_run import FaultRun
from chaos.run.first_plan import FirstPlanError, PlanLog, first_plan
from chaos.run.fitting import fitting_faults, forecast, make_order, seconds
from chaos.run.job_handle import JobHandle
from chaos.run.judgement import judge
from chaos.run.stack_under_test import StackKind, StackUnderTest, stack_under_test
from chaos.verdict.check import Outcome, merged
from chaos.workload.feed import Feed
from chaos.workload.records import read_records
from infra.endpoints import Endpoints
from infra.errors import InfraError
from infra.layout import PLANS_VARIABLE, Layout
from slackwater.main import app
from tests.unit.chaos.workload.test_own_workload import PLAN, SHOP, event, write
from windowing.model import PipelineError, load_pipeline, parse_pipeline
from windowing.semantics.changes import UndeclaredChange

JUDGED_PLAN = """\
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
    return FaultRun(
        parse_plan(JUDGED_PLAN), job, stack, History(), 0.0, rng, lambda _: None, nothing
    )


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
    plan = JUDGED_PLAN.replace("kill_executor", "hostile_producer").replace("200", "500")
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


ROOT = Path(__file__).parents[3]
PIPELINES = sorted((ROOT / "pipelines").glob("*.yml")) + sorted(
    (ROOT / "tests" / "data" / "pipelines").glob("*/pipeline.yml")
)


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    (tmp_path / "orders.yml").write_text(SHOP)
    write(tmp_path / "events.jsonl", [event(number) for number in range(600)])
    (tmp_path / "plans").mkdir()
    return tmp_path


@pytest.mark.parametrize("file", PIPELINES, ids=lambda file: f"{file.parent.name}-{file.stem}")
def test_every_pipeline_has_a_first_plan_that_fits_it(file: Path, tmp_path: Path) -> None:
    pipeline = load_pipeline(file)
    log = PlanLog(tmp_path / "e.jsonl", 5_000) if pipeline.join is not None else PlanLog()
    (tmp_path / "plan.yml").write_text(first_plan(pipeline, file, log, tmp_path))
    plan, found, _ = fitting_faults(tmp_path / "plan.yml", "local")
    assert found.fingerprint == pipeline.fingerprint
    assert {"kill_executor", "kill_driver"} <= {step.fault for step in plan.faults}


@pytest.mark.parametrize("records", [40, 55, 200, 2_000, 100_000])
def test_a_plan_has_as_many_faults_as_its_log_is_long_enough_for(
    records: int, tmp_path: Path
) -> None:
    file = ROOT / "pipelines" / "flight_delays.yml"
    plan = parse_plan(first_plan(load_pipeline(file), file, PlanLog(file, records), tmp_path))
    assert plan.too_short(records) is None
    assert len(plan.faults) == {40: 1, 55: 1, 200: 5}.get(records, 7)


def test_of_too_few_records_there_is_no_plan(tmp_path: Path) -> None:
    file = ROOT / "pipelines" / "flight_delays.yml"
    with pytest.raises(
        FirstPlanError, match=r"11 records are too few for any fault: give at least 12"
    ):
        first_plan(load_pipeline(file), file, PlanLog(file, 11), tmp_path)


@pytest.mark.parametrize("records", [1, 2, 3, 4, 10, 47, 48, 100, 119, 120, 5_000])
@pytest.mark.parametrize("partitions", [1, 2, 5, 12])
@pytest.mark.parametrize("of_topic", [True, False])
def test_a_first_plan_is_taken_by_its_dry_run(
    records: int, partitions: int, of_topic: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = re.sub("disorder:.*", "disorder: ordered", SHOP)
    text = text.replace("partitions: 2", f"partitions: {partitions}")
    (tmp_path / "orders.yml").write_text(text)
    lines = [event(at, partition=at % partitions, offset=at // partitions) for at in range(records)]
    file = write(tmp_path / "events.jsonl", lines)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv(PLANS_VARIABLE, raising=False)
    command = ["chaos", "init", "orders.yml"]
    if of_topic:
        log = [*read_records(file, load_pipeline(tmp_path / "orders.yml"))]
        monkeypatch.setattr("chaos.workload.origin.read_range", lambda *_: iter(log))
        monkeypatch.setattr("slackwater.chaos_run._broker", lambda: "127.0.0.1:1")
    else:
        command += ["--events", file.name]
    made = CliRunner().invoke(app, command)
    plan = tmp_path / "plans" / "shop.chaos.yml"
    if records < 4 * partitions:
        assert isinstance(made.exception, FirstPlanError)
        assert f"give at least {4 * partitions}" in str(made.exception)
        assert not plan.parent.exists()
        return
    assert made.exit_code == 0, made.output
    dry = CliRunner().invoke(app, ["chaos", "run", str(plan), "--dry-run"])
    assert dry.exit_code == 0, f"{dry.output}{dry.exception}"
    assert parse_plan(plan.read_text()).workload.max_offsets >= partitions


def test_init_writes_a_plan_that_runs_and_never_over_a_file(shop: Path) -> None:
    plan = shop / "plans" / "first.yml"
    command = ["chaos", "init", str(shop / "orders.yml"), "--events", str(shop / "events.jsonl")]
    answer = CliRunner().invoke(app, [*command, "--out", str(plan)])
    assert answer.exit_code == 0, answer.output
    assert load_plan_with_lines(plan)[0].pipeline == "../orders.yml"
    order = make_order(plan, shop, seed=1, kind="local", bootstrap=str)
    assert len(order.records) == 600
    assert [path.name for path in plan.parent.iterdir()] == ["first.yml"]
    before = plan.read_text()
    answer = CliRunner().invoke(app, [*command, "--out", str(plan)])
    assert answer.exit_code == 2
    assert "is there already" in answer.output
    assert plan.read_text() == before
    answer = CliRunner().invoke(app, [*command, "--out", str(shop / "no" / "p.yml")])
    assert answer.exit_code == 2


def test_init_writes_nothing_for_records_of_another_pipeline(
    shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(shop / "values.jsonl", [{"time": number} for number in range(600)])
    monkeypatch.chdir(shop / "plans")
    command = ["chaos", "init", "../orders.yml", "--events", "../values.jsonl"]
    answer = CliRunner().invoke(app, command)
    assert isinstance(answer.exception, PipelineError)
    assert "600 of 600 records would be dead letters" in str(answer.exception)
    assert not list((shop / "plans").iterdir())
    answer = CliRunner().invoke(app, ["chaos", "init", "../orders.yml"])
    assert answer.exit_code == 0, answer.output
    assert load_plan_with_lines("plans/shop.chaos.yml")[0].workload.topic == "orders"


def test_a_dry_run_says_what_would_happen_and_makes_nothing(shop: Path) -> None:
    plan = PLAN.replace(
        "- kill_executor", "- {fault: kill_broker, hold: 7 s}\n  - silent_partition"
    )
    (shop / "plan.yml").write_text(plan)
    before = sorted(shop.rglob("*"))
    places = ["--state-dir", str(shop / "state"), "--report", str(shop / "report")]
    command = ["chaos", "run", str(shop / "plan.yml"), "--dry-run", *places]
    answer = CliRunner().invoke(app, command)
    assert answer.exit_code == 0, answer.output
    said = " ".join(answer.output.split())
    assert "540 sent first, 54 batches of 10 at the most" in said
    assert "60 held back" in said
    assert "after 2 batches: kill_broker, for 7 s" in said
    assert "about 5 min on two cores" in said
    assert sorted(shop.rglob("*")) == before


def test_every_fault_has_a_time_and_takes_part_in_the_sum(shop: Path) -> None:
    assert all(kind.back_s > 0 for kind in FAULTS.values())
    short, long = (
        PLAN.replace("kill_executor", fault).replace("events: events.jsonl", "flights: 100")
        for fault in ("kill_python_worker", "kill_driver")
    )
    assert seconds(parse_plan(long), 100) - seconds(parse_plan(short), 100) == pytest.approx(90)
    first = ROOT / "chaos" / "plans" / "first.yml"
    order = make_order(first, shop, seed=1, kind="local", bootstrap=str)
    # Measured alone: 292 s less what nobody waits for (chaos/README.md).
    assert 240 < seconds(order.plan, len(order.records)) < 600
    assert json.dumps(list(forecast(order))).count("lose_last_commit") == 1
