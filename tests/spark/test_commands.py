"""Commands on Spark: they run, refuse and print what they do without it."""

from __future__ import annotations

import signal
from pathlib import Path

import psutil
import pytest

from tests.commands.test_control import (
    case,  # noqa: F401 - a fixture
    signed_log_is_run_and_verified,
    slackwater,
    write,
)
from tests.commands.test_run import (
    what_a_users_class_does_is_its_own_sentence,
    what_a_users_class_refuses_is_a_dead_letter,
)
from tests.commands.test_signals import (
    judge,
    names,
    start,  # noqa: F401 - a fixture
)
from tests.unit.slackwater.pipelines import written
from tests.unit.slackwater.test_run import says_what_became_of_every_record


def test_it_says_what_became_of_every_record(tmp_path: Path) -> None:
    says_what_became_of_every_record(tmp_path, "spark")


def test_what_a_users_class_does_is_its_own_sentence(tmp_path: Path) -> None:
    what_a_users_class_does_is_its_own_sentence(tmp_path, "spark")


def test_what_a_users_class_refuses_is_a_dead_letter(tmp_path: Path) -> None:
    what_a_users_class_refuses_is_a_dead_letter(tmp_path, "spark")


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


def test_a_session_that_is_only_starting(start, tmp_path: Path) -> None:
    pipeline, events = written(tmp_path)
    output = tmp_path / "out.jsonl"
    running = start("run", pipeline, "--input", events, "--output", output, "--engine", "spark")
    running.await_(lambda: any(is_java(one) for one in running.family()))
    judge(running, signal.SIGINT, "terminal", names(tmp_path))


def is_java(process: psutil.Process) -> bool:
    try:
        return process.name() == "java"
    except psutil.NoSuchProcess:  # a short one, on the way to it
        return False
