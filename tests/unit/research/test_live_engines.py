"""Live engines as boxes, on inputs whose reports were worked out by hand; what is said of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from chaos.probes import FILE, PAGE, TableError, differences, keep, read_probes
from jobs.live_engines.engines import UnknownModeError, live_engine
from jobs.live_engines.findings import ProbeResult, words
from jobs.live_engines.local import LocalWindows
from slackwater.main import app
from tests.unit.research.boxes import SimulatedBox, Unsteady, one_by_one, stream_of
from windowing.research.engines.parameters import Domain, Report, Tick
from windowing.research.prober.experiments import Size
from windowing.research.prober.hypotheses import Formula, Hypothesis
from windowing.research.prober.probe import Model, probe

HOPPING = Size(4, 2, 1)
BATCH_DRIVEN = Model(
    Hypothesis(Tick.batch_end, Report(non_empty=True, window_close=True)),
    Formula("ceil", -1, 0, 0, -1),
)


def test_our_own_windows_are_sent_after_the_batch_that_closes_them() -> None:
    answer = LocalWindows().run(Domain.time, HOPPING, stream_of([1], [2, 4], [4, 9]))
    # [-2, 2) and [0, 4) end at or before 4; [2, 6) and [4, 8) at or before 9.
    assert answer == [[], [], [[1], [1, 2]], [], [[2, 3, 4], [3, 4]]]


def test_our_own_windows_of_tuples_are_sent_with_their_last_tuple() -> None:
    answer = LocalWindows().run(Domain.tuple, Size(3, 2, 1), one_by_one(5, 5, 5, 9, 9))
    assert answer == [[], [[1, 2]], [], [[2, 3, 4]], []]


def test_of_two_partitions_the_slower_one_decides() -> None:
    # Odd tuples go to one partition, even ones to the other: at 2 and 4.
    answer = LocalWindows(2).run(Domain.time, Size(3, 3, 1), one_by_one(1, 2, 4, 4))
    assert answer == [[], [], [], [[1, 2]]]


def data_of(mode: str, domain: Domain, finding: Any) -> dict[str, Any]:
    return ProbeResult(live_engine("slackwater", mode), "1", domain, finding).as_data()


def test_an_engine_beyond_the_model_is_said_to_be_with_its_smallest_input() -> None:
    done = CliRunner().invoke(app, ["secret", "probe", "slackwater", "--tuples", "--json"])
    assert done.exit_code == 1, done.output
    as_json = json.loads(done.stdout)
    said = "\n".join(words(as_json))
    assert "not expressible in SECRET: a report holds the tuple that it follows" in said
    assert "smallest input: size 3, slide 3, first 1: 1 2 3\n  reported after t3: {t1…t3}" in said
    assert as_json["smallest"]["reports"] == [[], [], [[1, 2, 3]]]
    assert not as_json["expressible"]


def test_an_engine_without_such_windows_is_a_wrong_question() -> None:
    with pytest.raises(UnknownModeError, match="use one of spark, flink, slackwater"):
        live_engine("storm")
    with pytest.raises(UnknownModeError, match="use one of append, update, complete"):
        live_engine("spark", "tvf")
    done = CliRunner().invoke(app, ["secret", "probe", "spark", "--mode", "batch"])
    assert isinstance(done.exception, UnknownModeError)


def test_the_table_tells_whether_an_engine_is_what_it_was(tmp_path: Path) -> None:
    probed = data_of("partitions", Domain.time, probe(SimulatedBox(BATCH_DRIVEN), Domain.time))
    assert keep(probed, tmp_path) is None
    written = (tmp_path / FILE).stat().st_mtime_ns
    old = keep(probed, tmp_path)
    assert old is not None
    assert not differences(old, probed)
    assert (tmp_path / FILE).stat().st_mtime_ns == written, "nothing has changed"
    assert "| `slackwater partitions` | 1 | time | batch-end |" in (tmp_path / PAGE).read_text()
    # The next version is no difference; another tick is one.
    assert not differences(old, {**probed, "version": "2"})
    assert differences(old, {**probed, "ticks": ["tuple-driven"]}) == [
        "ticks: ['batch-end'] | ['tuple-driven']"
    ]
    keep(data_of("ordered", Domain.tuple, probe(LocalWindows(), Domain.tuple)), tmp_path)
    assert [one["mode"] for one in read_probes(tmp_path)] == ["ordered", "partitions"]
    assert "| not expressible | a report holds" in (tmp_path / PAGE).read_text()
    (tmp_path / FILE).write_text("[1]")
    with pytest.raises(TableError, match="holds no probes"):
        read_probes(tmp_path)


def test_an_engine_that_differs_from_run_to_run_is_unknown() -> None:
    probed = ProbeResult(live_engine("flink"), "1", Domain.tuple, probe(Unsteady(), Domain.tuple))
    assert probed.is_unsteady
    assert "two runs of one input differ" in "\n".join(words(probed.as_data()))
