"""HDFS and YARN: separate daemons that come up, and go down without a trace."""

import json
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from xml.etree import ElementTree

import pytest

from infra import yarn
from infra.errors import NotReady
from infra.layout import HADOOP_JARS, Layout

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


class Open(BaseHTTPRequestHandler):
    """A NameNode, and a DataNode, whose doors are not locked: they answer anybody."""

    def do_GET(self) -> None:
        about = {"LiveNodes": f"h:{self.server.server_address[1]}", "Safemode": ""}
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps({"beans": [about]}).encode())

    def log_message(self, *arguments: object) -> None:
        """Says nothing."""


def test_a_door_that_is_open_for_anybody_is_not_healthy(tmp_path: Path) -> None:
    """As Hadoop starts by default; `up` fails, and `status` says why."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Open) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        ports = dict.fromkeys(yarn.PORTS, server.server_port)
        for check in (yarn.check_namenode, yarn.check_datanode):
            with pytest.raises(NotReady, match=r"/webhdfs/v1/.* takes orders from anybody \(.*200"):
                check(Layout(tmp_path), ports)
        server.shutdown()
