"""Engines as boxes for the prober: simulated ones by the thousand, our own, and Spark."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import pytest
from typer.testing import CliRunner

from chaos.probes import differences, read_probes
from jobs.live_engines.spark import SparkWindows
from slackwater.main import app
from tests.stack.test_research import check_tuple
from tests.unit.research.boxes import (
    one_by_one,
    random_model,
    stream_of,
)
from tests.unit.research.test_probe import CLOSED, check_time, recovered
from windowing.research.engines.parameters import Domain, Pick, Tick
from windowing.research.prober.experiments import Refused, Size
from windowing.research.prober.hypotheses import Formula, Hypothesis
from windowing.research.prober.probe import Model

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_a_thousand_time_engines_are_recovered_with_the_expected_share() -> None:
    """The source's share: 641 of 1,000."""
    chance = Random(1)
    unique = sum(check_time(random_model(chance, Domain.time)) for _ in range(1000))
    assert 600 <= unique <= 720


def test_five_hundred_tuple_engines_are_recovered_with_the_expected_share() -> None:
    """The source's share: 240 of 500."""
    chance = Random(1)
    unique = sum(check_tuple(random_model(chance, Domain.tuple)) for _ in range(500))
    assert 195 <= unique <= 270


def test_a_pick_is_recovered() -> None:
    for pick in Pick:
        model = Model(Hypothesis(Tick.time, CLOSED, pick), Formula("", 0, 0, 0, 0))
        found = recovered(model, Domain.tuple)
        assert {one.pick for one in found.hypotheses} == {pick}


def test_our_own_runtime_is_as_its_profile_says(tmp_path: Path) -> None:
    asked = ["secret", "probe", "slackwater", "--record", str(tmp_path)]
    done = CliRunner().invoke(app, asked)
    assert done.exit_code == 0, done.output
    assert "tick: batch-end\nreport: non-empty and window close\n" in done.stdout
    assert "as its profile slackwater says" in done.stdout
    (told,) = read_probes(tmp_path)
    known = {(one["mode"], one["windows"]): one for one in read_probes(Path("docs") / "probes")}
    assert not differences(known["ordered", "time"], told)


HOPPING = Size(4, 2, 1)


def test_spark_in_each_mode(spark: SparkSession) -> None:
    stream = one_by_one(1, 2, 4, 9)
    answers = {
        mode: SparkWindows(spark, mode).run(Domain.time, HOPPING, stream)
        for mode in ("append", "update", "complete")
    }
    assert answers["append"] == [[], [[1]], [[1, 2]], [[2, 3], [3]]]
    assert answers["update"] == [[[1], [1]], [[1, 2], [2]], [[2, 3], [3]], [[4], [4]]]
    assert answers["complete"][1] == [[1], [1, 2], [2]]
    box = SparkWindows(spark, "append")
    assert box.run(Domain.time, HOPPING, stream_of([1, 2, 4], [9]))[2] == [[1], [1, 2]]
    with pytest.raises(Refused, match="must be <= the `window_duration`"):
        box.run(Domain.time, Size(2, 3, 1), stream)
    with pytest.raises(Refused, match="no windows of tuples"):
        box.run(Domain.tuple, HOPPING, stream)
