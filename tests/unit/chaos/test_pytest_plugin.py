"""The fixtures that users get, in a test session of a user."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest_plugins = ["pytester"]

PIPELINE = Path(__file__).parents[2] / "data" / "pipelines" / "tumbling" / "pipeline.yml"


@pytest.fixture
def session(pytester: pytest.Pytester) -> pytest.Pytester:
    """A user's folder, with one test."""
    pytester.makepyfile(f"""
        def test_my_pipeline(chaos):
            report = chaos.simulate({str(PIPELINE)!r}, runs=5)
            assert report.ok, report.lines()
            assert report.passed == 5
            print("seed", chaos.seed)
    """)
    return pytester


def test_a_pipeline_is_simulated_without_a_stack(session: pytest.Pytester) -> None:
    result = session.runpytest_inprocess("-p", "chaos.pytest_plugin", "-s", "--chaos-seed", "3")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["*seed 3*"])


def test_the_fixtures_say_what_they_are(session: pytest.Pytester) -> None:
    result = session.runpytest_inprocess("-p", "chaos.pytest_plugin", "--fixtures")
    result.stdout.fnmatch_lines(["slackwater_stack*", "chaos*"])
