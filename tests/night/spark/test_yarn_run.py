"""A run on YARN, with its checkpoint and tables on HDFS: commands find it there, and mend it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from infra import stack
from infra.layout import HADOOP_JARS, STATE_DIR_VARIABLE, Layout
from tests.night.spark.test_change import PIPELINE, overview, send, slackwater, through
from windowing.files.places import place

pytestmark = pytest.mark.skipif(not HADOOP_JARS.exists(), reason="needs `make setup-yarn`")


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A pipeline file, and a stack of Kafka, HDFS and YARN of its own."""
    monkeypatch.setenv(STATE_DIR_VARIABLE, str(tmp_path / "state"))
    layout = Layout(tmp_path / "state")
    path = tmp_path / "p.yml"
    path.write_text(PIPELINE)
    try:
        stack.up(only=["kafka", "yarn"], layout=layout)
        yield path
    finally:
        stack.down(layout=layout)


def proved(file: Path) -> None:
    assert "lost 0, duplicated 0, differing 0" in slackwater("verify", file, "--run", "r1")


def test_a_run_has_its_data_on_hdfs_and_goes_on_with_other_shards(file: Path) -> None:
    slackwater("topics", file)
    send(0, 300)
    slackwater("submit", file, "--run", "r1")
    through(file, "r1")
    found = overview(file)["r1"]
    assert found["table"].startswith("hdfs://127.0.0.1:")
    assert "/cluster/app/application_" in found["ui"]
    assert Path(found["log"], "stderr").exists()
    proved(file)

    assert "r1" in slackwater("stop", file)
    assert overview(file)["r1"]["state"] == "stopped"
    slackwater("reshard", file, "--shards", "3")
    file.write_text(PIPELINE.replace("shards: 2", "shards: 3"))
    slackwater("submit", file, "--run", "r1")
    send(300, 600)
    through(file, "r1")
    proved(file)
    for action in ("optimize", "vacuum"):
        slackwater("tables", file, action)
    proved(file)
    checkpoint = place(found["table"]).parents[1] / "runs" / "p" / "r1"
    assert {path.name for path in checkpoint.iterdir()} >= {"checkpoint", "stages.json"}


def test_a_run_that_is_live_is_not_submitted_twice(file: Path) -> None:
    slackwater("topics", file)
    first = slackwater("submit", file, "--run", "r1")
    second = slackwater("submit", file, "--run", "r1")
    (one,) = {word for word in first.split('"') if word.startswith("application_")}
    assert one in second
