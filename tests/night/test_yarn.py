"""HDFS and YARN: daemons that come up and go down without a trace, and runs on them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from infra import hadoop_door, stack
from infra.layout import HADOOP_JARS, STATE_DIR_VARIABLE, Layout
from infra.process import marked
from infra.record import read
from tests.night.spark.test_change import PIPELINE, overview, send, slackwater, through
from windowing.files.places import place

pytestmark = pytest.mark.skipif(not HADOOP_JARS.exists(), reason="needs `make setup-yarn`")


def test_the_four_daemons_come_up_again_after_a_kill_and_leave_nothing_behind(
    tmp_path: Path,
) -> None:
    """A killed NodeManager is noticed and started again; `down` ends all processes."""
    layout = Layout(tmp_path / "state")
    try:
        found = stack.up(only=("yarn",), layout=layout)
        assert found.hdfs.startswith("hdfs://127.0.0.1:")
        assert {one.state for one in stack.status(layout=layout)} == {"healthy"}
        victim = stack.process_of("yarn-nodemanager", layout=layout)
        stack.stop([victim], grace_s=0.0)
        states = {one.name: one.state for one in stack.status(layout=layout)}
        assert states["yarn-nodemanager"] == "dead"
        assert states["yarn-resourcemanager"] == "healthy"
        stack.up(only=("yarn",), layout=layout)
        assert {one.state for one in stack.status(layout=layout)} == {"healthy"}
    finally:
        stack.down(layout=layout)
    assert marked(layout.state_dir) == []


PAGE = {"User-Agent": "Mozilla/5.0", "Origin": "null"}
"""The headers of a request that a web page in a browser makes without asking first."""


def test_nobody_commands_hdfs_or_yarn_by_their_pages(tmp_path: Path) -> None:
    """A web page that a developer visits could list files, and truncate a checkpoint."""
    layout = Layout(tmp_path / "state")
    try:
        stack.up(only=("yarn",), layout=layout)
        ports = read(layout).ports
        names, data, manager, node = (
            f"http://127.0.0.1:{ports[name]}"
            for name in ("yarn-namenode-ui", "yarn-datanode-ui", "yarn-ui", "yarn-nodemanager-ui")
        )
        user = "user.name=root"
        there = f"{user}&namenoderpcaddress=127.0.0.1:{ports['yarn-namenode']}"
        orders = [
            ("GET", f"{names}/webhdfs/v1/?op=LISTSTATUS&{user}"),
            ("POST", f"{names}/webhdfs/v1/x?op=TRUNCATE&newlength=0&{user}"),
            ("PUT", f"{names}/webhdfs/v1/x?op=MKDIRS&{user}"),
            ("GET", f"{names}/fsck?path=/&delete=1&{user}"),
            ("GET", f"{names}/imagetransfer?getimage=1&txid=latest"),
            ("POST", f"{data}/webhdfs/v1/x?op=APPEND&{there}"),
            ("PUT", f"{data}/webhdfs/v1/x?op=CREATE&{there}"),
            ("GET", f"{data}/webhdfs/v1/x?op=OPEN&{there}"),
        ]
        doors = (names, data, manager, node)
        orders += [("GET", f"{door}/logLevel?log=a.b&level=DEBUG") for door in doors]
        orders += [("GET", f"{door}/logs/") for door in doors]
        forged = {"Cookie": 'hadoop.auth="u=root&p=root&t=ldap&e=9999999999999&s=AAAA"'}
        for method, url in orders:
            for given in ({}, PAGE, forged, {"Authorization": "Basic cm9vdDpyb290"}):
                answer = httpx.request(method, url, headers=given, trust_env=False)
                assert answer.status_code in hadoop_door.REFUSALS, (method, url, given)
        # YARN's pages lead to a job's, and can be read; they take no orders from browsers.
        assert httpx.get(f"{manager}/cluster", trust_env=False).status_code == 200
        for url in (f"{manager}/ws/v1/cluster/apps/x/state", f"{node}/ws/v1/node/x"):
            assert httpx.put(url, headers=PAGE, trust_env=False).status_code == 400
        shell = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13"}
        shell |= {"Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ=="}
        answer = httpx.get(f"{node}/container/x", headers={**PAGE, **shell}, trust_env=False)
        assert answer.status_code != httpx.codes.SWITCHING_PROTOCOLS
        # The secret opens them, and nobody else can read it.
        known = hadoop_door.headers(layout.yarn)
        listed = httpx.get(f"{names}/webhdfs/v1/?op=LISTSTATUS", headers=known, trust_env=False)
        assert listed.status_code == 200
        private = [layout.yarn / "secret", *(layout.yarn / "conf-hdfs").iterdir()]
        assert not [one for one in private if one.stat().st_mode & 0o077]
        header = next(name for name in known if name.startswith("X-"))
        for door in (manager, node):
            assert header not in httpx.get(f"{door}/conf", trust_env=False).text
    finally:
        stack.down(layout=layout)


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
