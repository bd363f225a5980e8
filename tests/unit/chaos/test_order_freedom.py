"""The search for order dependence: it finds small counterexamples, and no false ones."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from chaos.order_freedom import changed_states, counter_example, kinds_of, old_version
from slackwater.main import app
from windowing.model.user.user_aggregate import UserAggregateError, source_digest

HERE = "tests.unit.engine.user_classes"


@pytest.mark.parametrize("reference", [f"{HERE}:Span", "pipelines.swing:Swing"])
def test_a_correct_class_has_no_counterexample(reference: str) -> None:
    assert counter_example(reference, kinds_of(reference), attempts=100) is None


def test_a_merge_that_keeps_the_last_is_found_with_two_records() -> None:
    found = counter_example(f"{HERE}:InOrder", ["int"])
    assert found is not None
    assert found.records == ((0,), (1,))
    assert (found.folded, found.merged, found.merging) == ("1", "0", "(1+0)")


def test_sums_of_floats_are_found_with_three_records() -> None:
    """Two doubles add up to the same either way; it takes three for the grouping to show."""
    found = counter_example(f"{HERE}:PlainSum", ["float"])
    assert found is not None
    assert len(found.records) == 3
    assert found.folded != found.merged


@pytest.mark.parametrize(
    ("name", "said"),
    [("Keeping", "a set: use None, bool"), ("Failing", "ZeroDivisionError"), ("Odd", "gave True")],
)
def test_a_class_that_fails_is_found_with_one_record(name: str, said: str) -> None:
    found = counter_example(f"{HERE}:{name}", ["int"])
    assert found is not None
    assert len(found.records) == 1
    assert said in found.folded


def test_a_plain_sum_of_ints_has_no_counterexample() -> None:
    """A sum that leaves 64 bits does so in any order."""
    assert counter_example(f"{HERE}:PlainIntSum", ["int"], attempts=200) is None


@pytest.mark.parametrize(
    ("name", "verdict"),
    [
        ("Failing", "it fails"),
        ("FailingMerge", "it fails when states are merged"),
        ("InOrder", "the result depends on how states are merged"),
    ],
)
def test_what_merely_fails_is_not_blamed_for_its_order(name: str, verdict: str) -> None:
    found = counter_example(f"{HERE}:{name}", ["int"])
    assert found is not None
    assert found.verdict == verdict


@pytest.mark.parametrize(
    ("reference", "said"),
    [
        (f"{HERE}:Unfinished", "has no merge, result"),
        (f"{HERE}:Untyped", "returns 'list'"),
        (f"{HERE}:Nowhere", "has no class Nowhere"),
        ("no.such.module:Class", "No module named 'no'"),
    ],
)
def test_what_is_no_aggregate_is_refused(reference: str, said: str) -> None:
    with pytest.raises(UserAggregateError, match=said):
        counter_example(reference, ["int"])


def test_the_command_says_what_it_found() -> None:
    guilty = CliRunner().invoke(app, ["check-aggregate", f"{HERE}:InOrder"])
    assert guilty.exit_code == 1
    assert "records, numbered from 0: [[0], [1]]" in guilty.output
    arguments = ["check-aggregate", "python:pipelines.swing:Swing", "--attempts", "50"]
    innocent = CliRunner().invoke(app, arguments)
    assert innocent.exit_code == 0
    assert "no counter-example in 50 attempts with float" in innocent.output


def test_a_mended_class_of_the_same_states_is_told_apart_from_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    old = (
        'class Sum:\n    returns = "int"\n    def init(self):\n        return 0\n'
        "    def update(self, state, value: int):\n"
        "        return state + value + 0 // (value - 3)\n"
        "    def merge(self, left, right):\n        return left + right\n"
        "    def result(self, state):\n        return state\n"
    )
    module, kept = tmp_path / "mended_sum.py", tmp_path / "kept.py"
    for file in (module, kept):
        file.write_text(old)
    begun = source_digest("mended_sum:Sum")
    found, states = old_version("mended_sum:Sum", str(kept))
    assert states == begun
    assert changed_states(found, found, ["int"], attempts=60) is None
    check = (
        "    @staticmethod\n    def check(value):\n"
        "        if value == 3:\n            raise ValueError('a three')\n"
    )
    mended = old.replace(" + 0 // (value - 3)", "") + check + f'    states = "{begun}"\n'
    (tmp_path / "mended_now.py").write_text(mended)
    assert source_digest("mended_now:Sum") == begun
    assert changed_states("mended_now:Sum", found, ["int"], attempts=120) is None
    (tmp_path / "other_now.py").write_text(mended.replace("return 0\n", "return 1\n"))
    other = changed_states("other_now:Sum", found, ["int"], attempts=120)
    assert other is not None
    assert other.records == ((0,),)
    assert '"states": [0]' in other.before
    assert '"states": [1]' in other.after
