"""No command does more for a log than `source.control` says, or imports what a record names."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.commands.test_control import (
    case,  # noqa: F401 - a fixture
    signed_log_is_run_and_verified,
    slackwater,
    write,
)


def test_nor_does_the_engine_on_spark(case: dict[str, Path]) -> None:
    write(case, "all")
    words = ["run", str(case["p"]), "--engine", "spark", "--input", str(case["e"])]
    code, said = slackwater(case["p"].parent, *words, "--output", str(case["o"]))
    assert code == 0, said[-2000:]
    assert not (case["p"].parent / "imported").exists()
    again = ["verify", str(case["p"]), "--input", str(case["e"]), "--output", str(case["o"])]
    code, said = slackwater(case["p"].parent, *again)
    assert code == 0, said[-2000:]


def test_and_so_it_is_on_spark(case: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    signed_log_is_run_and_verified(case, monkeypatch)
    local = case["o"].read_bytes()
    words = ["run", str(case["p"]), "--engine", "spark", "--input", str(case["e"])]
    code, said = slackwater(case["p"].parent, *words, "--output", str(case["n"]))
    assert code == 0, said[-2000:]
    assert case["n"].read_bytes() == local
