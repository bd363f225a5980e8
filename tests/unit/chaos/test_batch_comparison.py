"""Batch comparisons: when they pass, fail, or show nothing; and their page."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from matplotlib import image

from chaos.batch_comparison.plan import CutsPlan, load_cuts_plan, pipeline_of
from chaos.batch_comparison.report import write_cuts
from chaos.batch_comparison.run import CutsReport, Emitted, clean_log, run_cuts, shows
from chaos.plan import kind_of
from chaos.readers.log import LogRecord
from chaos.verdict.check import Outcome
from chaos.verdict.contrast import contrast
from windowing.engine.reading.batches import batches
from windowing.model import PipelineError
from windowing.runtime import local

PLANS = Path(__file__).parents[3] / "chaos" / "plans"
PLAN = load_cuts_plan(PLANS / "spark_builtin.yml").model_copy(update={"cuts": (30, 100)})
SMALL = PLAN.model_copy(update={"workload": PLAN.workload.model_copy(update={"flights": 300})})
PIPELINE = pipeline_of(PLAN, PLANS / "spark_builtin.yml")


def sound(log: Sequence[LogRecord], rows: int) -> Emitted:
    output = local.run(PIPELINE, batches(log, rows))
    return output.rows, output.dead_letters


def cut_short(log: Sequence[LogRecord], rows: int) -> Emitted:
    """Return an engine that drops an incomplete batch."""
    return sound(log[: len(log) - len(log) % rows], rows)


def report(spark: object, ours: object, plan: CutsPlan = SMALL) -> CutsReport:
    return run_cuts(plan, PIPELINE, spark=spark, ours=ours, command="again")  # type: ignore[arg-type]


def outcomes(found: CutsReport) -> list[Outcome]:
    return [check.outcome for check in found.checks]


def test_an_engine_that_depends_on_cuts_beside_one_that_does_not(tmp_path: Path) -> None:
    plan = SMALL.model_copy(update={"cuts": (70, 100)})
    found = report(cut_short, sound, plan)
    assert found.outcome is Outcome.passed
    assert found.spark.differing
    assert not found.ours.differing

    page = write_cuts(found, tmp_path).read_text()
    assert "http" not in page.replace("http-equiv", "")
    assert found.spark.summary() in page
    data = json.loads((tmp_path / "report.json").read_text())
    assert len(data["spark"]["differing"]) == len(found.spark.differing)
    assert image.imread(tmp_path / "cuts.png").shape[1] > 1000


def test_our_engine_fails_if_it_depends_on_batches() -> None:
    plan = SMALL.model_copy(update={"cuts": (70, 100)})
    assert outcomes(report(cut_short, cut_short, plan))[1:] == [Outcome.failed, Outcome.failed]


def test_two_cuts_may_agree_and_both_be_wrong() -> None:
    found = report(cut_short, lambda log, _: sound(log[:-50], 100))
    assert outcomes(found)[1:] == [Outcome.passed, Outcome.failed]


def test_where_spark_does_not_differ_nothing_is_shown() -> None:
    assert report(sound, sound).outcome is Outcome.unknown
    assert shows(contrast([], [], names=("", ""))).outcome is Outcome.unknown


def test_the_log_has_neither_poison_nor_ends() -> None:
    log = clean_log(SMALL.workload, "flights")
    assert len(log) == 300
    assert all(record.control is None and record.value for record in log)


def test_a_plan_says_what_kind_it_is() -> None:
    assert kind_of(PLANS / "spark_builtin.yml") == "cuts"
    assert kind_of(PLANS / "first.yml") == "faults"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("cuts: [75, 500]", "cuts: [75, 75]", "75 twice compares a run with itself"),
        ("cuts: [75, 500]", "cuts: [75, 0]", "cuts"),
        ("flights: 4500", "flights: many", "flights"),
        ("kind: cuts", "kind: faults", "kind"),
        ("draw:", "drawn:", "drawn"),
    ],
)
def test_mistakes_in_a_plan_are_named(tmp_path: Path, old: str, new: str, message: str) -> None:
    text = (PLANS / "spark_builtin.yml").read_text()
    assert old in text
    file = tmp_path / "plan.yml"
    file.write_text(text.replace(old, new))
    with pytest.raises(PipelineError, match=message):
        load_cuts_plan(file)


def test_what_is_to_be_drawn_must_be_there() -> None:
    plan = PLAN.model_copy(update={"draw": "mean_speed"})
    with pytest.raises(PipelineError, match="'mean_speed' is no aggregate of hourly"):
        pipeline_of(plan, PLANS / "spark_builtin.yml")
