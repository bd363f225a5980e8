"""HDFS and YARN: daemons of their own that come up, and go down without a trace."""

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from infra import stack, yarn
from infra.layout import HADOOP_JARS, Layout
from infra.process import marked

installed = pytest.mark.skipif(not HADOOP_JARS.exists(), reason="needs `make setup-yarn`")


@installed
def test_all_addresses_are_of_the_loopback_interface_and_every_port_is_used(tmp_path: Path) -> None:
    """A port left out would be Hadoop's default, which another stack may have."""
    layout = Layout(tmp_path)
    (tmp_path / "logs").mkdir()
    ports = {name: 20_000 + number for number, name in enumerate(yarn.PORTS)}
    (tmp_path / "yarn" / "namenode" / "current").mkdir(parents=True)
    (tmp_path / "yarn" / "namenode" / "current" / "VERSION").touch()
    yarn.component(layout, ports).prepare()
    values = [
        value.text or ""
        for file in yarn.conf_dir(layout).glob("*-site.xml")
        for value in ElementTree.parse(file).iter("value")  # noqa: S314 - written a line ago
    ]
    addresses = [found for value in values for found in re.findall(r"([\w.]+):(\d+)$", value)]
    assert {host for host, _ in addresses} == {"127.0.0.1"}
    assert {int(port) for _, port in addresses} == set(ports.values())


@installed
@pytest.mark.slow
@pytest.mark.nightly
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
