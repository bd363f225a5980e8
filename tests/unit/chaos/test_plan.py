from pathlib import Path

import pytest
from typer.testing import CliRunner

from chaos.plan import PlannedFault, kind_of, load_plan_with_lines, parse_plan
from slackwater.main import app
from windowing.engine.plan import plan_of
from windowing.model import load_pipeline
from windowing.model.errors import PipelineError
from windowing.spark.sinks.data_files import INLINE_SETTING

FILES = sorted((Path(__file__).parents[3] / "chaos" / "plans").rglob("*.yml"))
PLANS = [file for file in FILES if file.parent.name != "pipelines" and kind_of(file) == "faults"]

GOOD = """\
name: small
pipeline: p.yml
workload: {flights: 1000, max_offsets: 10}
faults:
  - poison_records
  - {fault: kill_broker, after: 3, hold: 4 seconds}
recovery: {within: 1 minute}
"""


@pytest.mark.parametrize("path", PLANS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_our_plans_are_valid_and_name_a_pipeline(path: Path) -> None:
    assert (path.parent / load_plan_with_lines(path)[0].pipeline).is_file()


def test_a_plan_has_its_defaults() -> None:
    plan = parse_plan(GOOD)
    assert plan.faults == (
        PlannedFault(fault="poison_records"),
        PlannedFault(fault="kill_broker", after=3, hold="4 seconds"),
    )
    assert plan.faults[1].hold_us == 4_000_000
    assert plan.recovery.within_us == 60_000_000
    assert plan.checks == (
        *("deterministic", "exactly_once", "state", "progress", "poison", "recovered"),
        *("named", "one_job", "nothing_imported"),
    )
    assert (plan.order, plan.rounds, plan.give_up_us) == ("listed", 1, 300_000_000)


@pytest.mark.parametrize(
    ("old", "new", "where", "rule"),
    [
        ("poison_records", "kill_moon", 5, "'kill_moon' is not allowed: input should be"),
        ("hold: 4 seconds", "hold: 4", 6, "4 is not a length of time: it needs a unit"),
        ("after: 3", "records: 9", 6, "kill_broker takes no records: take it out"),
        ("poison_records", "{fault: lose_last_commit, after: 1}", 5, "needs two committed batches"),
        ("poison_records", "delete_records", 1, "delete_records ends the run: list it last"),
        ("poison_records", "{fault: rewind_offsets, after: 1}", 5, "needs two committed batches"),
        ("poison_records", "lose_table", 5, "lose_table needs expect"),
        ("poison_records", "{fault: lose_table, expect: luck}", 5, "'luck' is not allowed"),
        ("after: 3", "expect: named", 6, "kill_broker takes no expect"),
        ("poison_records", "{fault: recreate_topic, expect: named}", 1, "ends the run: list it"),
        ("flights: 1000", "flights: 100", 1, "are 10 batches, and the faults need 11"),
        ("after: 3", "after: 0", 6, "0 is not allowed"),
        ("name: small\n", "", 1, "name is missing"),
        ("recovery: {within", "recovery: {inside", 7, "unknown key 'inside'"),
        ("pipeline: p.yml", "pipeline: p.yml\nname: twice", 3, "given twice (first on line 1)"),
        ("faults:", "faults: [", 5, "not YAML"),
        ("pipeline: p.yml", "pipeline: p.yml\nbrokers: 2", 3, "2 is not allowed"),
    ],
)
def test_mistakes_are_named_with_line_and_rule(old: str, new: str, where: int, rule: str) -> None:
    assert old in GOOD
    with pytest.raises(PipelineError) as raised:
        parse_plan(GOOD.replace(old, new, 1), "plan.yml")
    assert any(
        f"plan.yml:{where}" in str(one) and rule in str(one) for one in raised.value.problems
    ), str(raised.value)


def test_no_plan_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(PipelineError, match=r"plan\.yml: cannot be read"):
        load_plan_with_lines(tmp_path / "plan.yml")
    with pytest.raises(PipelineError, match="a plan is a mapping"):
        parse_plan("- kill_driver")


def test_plans_of_one_name_are_refused_together() -> None:
    """They would share a report."""
    plans = [str(path) for path in PLANS if path.stem == "sessions"]
    assert len(plans) == 2
    answer = CliRunner().invoke(app, ["chaos", "run", *plans])
    assert answer.exit_code == 2
    assert "two plans are called sessions.yml" in answer.output


@pytest.mark.parametrize(
    ("old", "new", "field"),
    [
        ("name: small", "name: ../small", "name"),
        ("name: small", f"name: {'x' * 101}", "name"),
        ("name: small", "name: !!binary Li4v", ""),
        ("pipeline: p.yml", "pipeline: [p.yml]", "pipeline"),
        ("pipeline: p.yml", 'pipeline: "p\\0.yml"', "pipeline"),
        ("pipeline: p.yml", "pipeline: ''", "pipeline"),
        ("flights: 1000", "flights: 10000000", "workload.flights"),
        ("max_offsets: 10", "max_offsets: 9999999999999999999999", "workload.max_offsets"),
        ("max_offsets: 10", "max_offsets: 1.5", "workload.max_offsets"),
        ("- poison_records", "- [poison_records]", "faults.0"),
        ("- poison_records", "- {fault: poison_records, after: 10000}", "faults.0.after"),
        ("hold: 4 seconds", "hold: 100000 days", "faults.1.hold"),
        ("hold: 4 seconds", "hold: 4", "faults.1.hold"),
        ("within: 1 minute", "within: 3 days", "recovery.within"),
        ("recovery:", "give_up: 30 days\nrecovery:", "give_up"),
        ("recovery:", "jitter: 30 days\nrecovery:", "jitter"),
        ("recovery:", "rounds: true\nrecovery:", "rounds"),
        ("recovery:", "brokers: 2\nrecovery:", "brokers"),
        ("recovery:", "checks: [nonsense]\nrecovery:", "checks.0"),
        ("recovery:", "order: [1]\nrecovery:", "order"),
        ("recovery:", "spark: {a b: 1}\nrecovery:", "spark"),
        ("recovery:", "spark: {spark.x: [1]}\nrecovery:", "spark"),
    ],
)
def test_every_key_of_a_plan_has_a_rule(old: str, new: str, field: str) -> None:
    with pytest.raises(PipelineError, match=f"^plan.yml:[0-9]+: {field}") as raised:
        parse_plan(GOOD.replace(old, new), "plan.yml")
    assert all(line.startswith("plan.yml:") for line in str(raised.value).splitlines())


def test_both_plans_of_the_engine_meet_real_kills() -> None:
    """`make test-chaos` runs these files: some of their pipelines are fused, others need lanes."""
    files = [file for file in PLANS if file.stem == "first" or file.parent.name == "quick"]
    pipelines = [file.parent / load_plan_with_lines(file)[0].pipeline for file in files]
    found = [plan_of(load_pipeline(pipeline)).why_lanes for pipeline in pipelines]
    assert None in found
    assert any(found)


def test_executors_write_tables_in_a_quick_plan() -> None:
    (plan,) = (
        load_plan_with_lines(file)[0]
        for file in PLANS
        if file.parent.name == "quick" and INLINE_SETTING in file.read_text()
    )
    assert plan.spark == {INLINE_SETTING: 0}


def test_settings_of_spark_reach_no_job_that_airflow_submits() -> None:
    plan = GOOD.replace("recovery:", "spark: {spark.x: 1}\nrecovery:")
    assert parse_plan(plan, "plan.yml").spark == {"spark.x": 1}
    with pytest.raises(PipelineError, match="kill_airflow_task lets Airflow submit the job"):
        parse_plan(plan.replace("faults:", "faults:\n  - kill_airflow_task"), "plan.yml")
