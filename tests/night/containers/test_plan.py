"""A plan on containers: a real job under faults, verified against the definition.

Its report, and those of the other plans, are kept by the nights that run them as such.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from chaos.run.fitting import make_order
from chaos.run.runner import run_plans
from chaos.verdict.check import Outcome
from infra.layout import ROOT, Layout

pytestmark = pytest.mark.usefixtures("docker_engine")


def test_every_fault_leaves_evidence_and_no_window_differs(tmp_path: Path) -> None:
    file = ROOT / "chaos" / "plans" / "containers" / "core.yml"
    order = make_order(file, tmp_path, seed=1, kind="containers", bootstrap=str)
    (report,) = run_plans(
        [order], seed=1, layout=Layout(tmp_path / "state"), news=print, kind="containers"
    )
    struck = list(report.history.of("fault"))
    assert [one["name"] for one in struck] == [step.fault for step in order.plan.faults]
    assert all(one["evidence"] for one in struck)
    assert report.outcome is Outcome.passed, [(c.name, c.detail) for c in report.checks]
