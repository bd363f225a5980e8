"""What is taken for valid without Great Expectations is valid for it, too."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from chaos.quality.block import Check
from chaos.quality.expectation import EXPECTATIONS
from chaos.quality.valid import _KNOWN, is_surely_valid
from tests.unit.chaos.quality.test_expectations import P

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")

ROOT = Path(__file__).parents[4]
INSTANT = datetime(2013, 1, 1, tzinfo=UTC)
VALUES = [
    *("n", "", ["n", "top"], ["n"], [], [1, 2.5], ["a", 1], [None], None, {}),
    *(0, 1, 7, -1, 0.5, 1.5, float("inf"), float("nan"), True, INSTANT, [INSTANT]),
]


def entry(name: str, arguments: dict[str, Any]) -> Check:
    return Check("w", name, arguments, "final", 1, "quality.0")


def entries(name: str) -> list[Check]:
    """Entries with any two arguments of any values, beside others that are legal."""
    known = _KNOWN[name]
    takes = [*known.needs, *known.may_have, "minimum"]
    legal = {
        argument: next(value for value in VALUES if is_legal(value))
        for argument, is_legal in {**known.needs, **known.may_have}.items()
    }
    needed = {argument: legal[argument] for argument in known.needs}
    found = [entry(name, {}), entry(name, needed), entry(name, legal)]
    for one, other in product(takes, takes):
        for value, another in product(VALUES, VALUES[::3]):
            found.append(entry(name, {**needed, one: value, other: another}))
    return found


@pytest.mark.parametrize("name", _KNOWN)
def test_what_is_surely_valid_is_valid_for_great_expectations(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from chaos.quality import suites

    # Once they are loaded, ours are registered, and Great Expectations is asked anyway.
    with monkeypatch.context() as patched:
        patched.setattr("chaos.quality.valid.EXPECTATIONS", ())
        sure = [check for check in entries(name) if is_surely_valid(check)]
    assert sure
    suites.validate(P, sure, "p.yml")


def test_of_what_is_known_not_everything_is_surely_valid() -> None:
    between = "expect_column_values_to_be_between"
    for arguments in (
        {},
        {"column": "n"},
        {"column": "n", "min_value": "1"},
        {"column": "n", "min_value": 1, "max_value": INSTANT},
        {"column": "n", "min_value": 1, "minimum": 1},
        {"column": "n", "min_value": float("nan")},
    ):
        assert not is_surely_valid(entry(between, arguments)), arguments
    assert not is_surely_valid(entry("expect_column_max_to_be_between", {"column": "n"}))


def test_a_plug_ins_expectation_comes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    name = "expect_column_values_to_be_unique"
    assert name not in EXPECTATIONS
    assert is_surely_valid(entry(name, {"column": "n"}))
    monkeypatch.setattr("chaos.quality.valid.EXPECTATIONS", (name,))
    assert not is_surely_valid(entry(name, {"column": "n"}))


def test_our_pipelines_are_valid_without_its_help() -> None:
    code = (
        "import sys; from pathlib import Path\n"
        "from chaos.quality import validate; from windowing.model import load_pipeline\n"
        "for file in Path('pipelines').glob('*.yml'): validate(load_pipeline(file))\n"
        "sys.exit(bool({'great_expectations', 'pandas'} & sys.modules.keys()))"
    )
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0
