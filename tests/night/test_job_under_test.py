"""The pytest fixtures on the real stack, as a user has them: a job of theirs is hurt and proved."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest_plugins = ["pytester"]

ROOT = Path(__file__).parents[2]
ORDERS = """\
name: shop
source:
  topic: orders
  partitions: 2
  format: json
  event_time: {field: at, unit: ms}
  fields: {shop: string, amount: float, coupon: "string?"}
  disorder: {heartbeat: {orders/0: {max_delay: 2 minutes}, orders/1: {max_delay: 2 minutes}}}
late: {policy: update, every: 10 minutes}
retention: 2 hours
queries:
  per_shop:
    window: RANGE 30 minutes SLIDE 10 minutes WATTR at
    group_by: [shop]
    aggregates: {orders: count, turnover: sum(amount)}
"""
TEST = """
import json
import pytest
from chaos.job_under_test import JobUnderTestError


def test_my_pipeline_survives(chaos):
    job = chaos.job("orders.yml", "orders.jsonl", max_offsets=200)
    with pytest.raises(JobUnderTestError, match="silent_partition cannot strike"):
        job.strike("silent_partition")
    assert job.strike("kill_executor") > 0
    assert job.strike("poison_records") > 0
    verdict = job.finish()
    assert verdict.ok, "\\n".join(verdict.lines())
    assert verdict.rows.found > 100
    report = json.loads(job.report.with_name("report.json").read_text())
    assert report["outcome"] == "passed", report["checks"]
    assert job.report.with_name("junit.xml").is_file()
"""


def orders() -> Iterator[str]:
    """A value a line, as the topic has it: some late, one bad."""
    rng = random.Random(5)
    for number in range(2_000):
        lag_ms = rng.randrange(3_600_000) if number % 50 == 7 else rng.randrange(100_000)
        at = 1_750_000_000_000 + number * 10_000 - lag_ms
        amount = "free" if number == 900 else round(rng.uniform(1, 90), 2)
        yield json.dumps({"at": at, "shop": rng.choice("abc"), "amount": amount})


def test_a_job_of_a_user_is_hurt_and_proved(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    (pytester.path / "orders.yml").write_text(ORDERS)
    (pytester.path / "orders.jsonl").write_text("\n".join(orders()))
    pytester.makepyfile(TEST)
    arguments = ("-p", "chaos.pytest_plugin", "--chaos-report", "reports")
    result = pytester.runpytest_subprocess(*arguments, timeout=1_500)
    result.assert_outcomes(passed=1)
    page = (pytester.path / "reports" / "test_my_pipeline_survives" / "report.html").read_text()
    assert "2 of 2 faults took effect" in page
    assert "--chaos-seed 1" in page
