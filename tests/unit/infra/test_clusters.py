"""Other clusters: one's own Spark, the files for a real one, HDFS and YARN."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml

from infra import airflow, jvm, spark, stack, yarn
from infra.daemon import shared_environment
from infra.errors import InfraError, NotReady
from infra.kafka_settings import PREFIX
from infra.layout import HADOOP_JARS, ROOT, STATE_DIR_VARIABLE, Layout

SECRET = "hunter2"  # noqa: S105 - invented


@pytest.fixture
def layout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Layout:
    """An empty state folder, and settings of a cluster that is not asked."""
    for name in [name for name in os.environ if name.startswith(PREFIX)]:
        monkeypatch.delenv(name)
    monkeypatch.setenv(STATE_DIR_VARIABLE, str(tmp_path))
    monkeypatch.setenv(f"{PREFIX}BOOTSTRAP", "one:9093,two:9093")
    monkeypatch.setenv(f"{PREFIX}PASSWORD", SECRET)
    monkeypatch.setenv(f"{PREFIX}USERNAME", "tide")
    monkeypatch.setenv(f"{PREFIX}SASL_MECHANISM", "PLAIN")
    return Layout(tmp_path)


def test_no_broker_is_started_and_theirs_is_named(layout: Layout) -> None:
    assert stack.up(only=["kafka"]).kafka_bootstrap == "one:9093,two:9093"
    assert stack.endpoints(only=["kafka"]).kafka_bootstrap == "one:9093,two:9093"
    assert stack.status() == []


def test_the_rest_of_the_stack_is_still_ours(layout: Layout) -> None:
    with pytest.raises(InfraError, match="spark was not started"):
        stack.endpoints(only=["kafka", "spark"])


def test_a_stack_of_its_own_keeps_its_own_broker(layout: Layout) -> None:
    with pytest.raises(InfraError, match="kafka was not started"):
        stack.endpoints(only=["kafka"], layout=layout)


def test_only_airflow_gets_the_login(layout: Layout) -> None:
    assert SECRET not in shared_environment(layout).values()
    ports = dict.fromkeys(airflow.PORTS, 1)
    for daemon in airflow.component(layout, ports).daemons:
        assert SECRET in shared_environment(layout, daemon.keeps).values()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("kafka: {sasl: {mechanism: PLAIN, username: u, password: hunter2}}", "holds a secret"),
        ("- 1", "must hold one key"),
        (None, "cannot be read"),
    ],
)
def test_wrong_settings_are_wrong_use(tmp_path: Path, text: str | None, said: str) -> None:
    file = tmp_path / "kafka.yml"
    if text is not None:
        file.write_text(text)
    done = subprocess.run(
        [sys.executable, "-m", "slackwater.main", "--kafka", file, "stop", "p.yml"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert said in done.stderr
    assert SECRET not in done.stderr
    assert "Traceback" not in done.stderr


CLUSTER = ROOT / "infra" / "cluster"
NEWEST = "1.37"


def documents(name: str) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all((CLUSTER / "kubernetes" / name).read_text(encoding="utf-8")))


def settings() -> dict[str, str]:
    lines = (CLUSTER / "spark.conf").read_text(encoding="utf-8").splitlines()
    return dict(line.split(maxsplit=1) for line in lines if line.startswith("spark."))


@pytest.mark.parametrize("document", documents("platform.yml"), ids=lambda one: one["kind"])
def test_the_platform_is_what_kubernetes_takes(document: dict[str, Any]) -> None:
    import kubernetes_validate

    kubernetes_validate.validate(document, NEWEST, strict=True)
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate({**document, "metadata": []}, NEWEST, strict=True)


def test_the_application_is_what_the_operator_takes() -> None:
    from kubeflow_spark_api.models import SparkV1beta2SparkApplication as Application

    (document,) = documents("application.yml")
    read = Application.from_dict(document)
    assert read is not None
    # The models drop what they do not know: nothing may be missing from what they give back.
    assert read.to_dict() == document


def test_all_of_the_application_is_there() -> None:
    (document,) = documents("application.yml")
    spec = document["spec"]
    (claim,) = [one for one in documents("platform.yml") if one["kind"] == "PersistentVolumeClaim"]
    (volume,) = spec["volumes"]
    assert volume["persistentVolumeClaim"]["claimName"] == claim["metadata"]["name"]
    (account,) = [one for one in documents("platform.yml") if one["kind"] == "ServiceAccount"]
    assert spec["driver"]["serviceAccount"] == account["metadata"]["name"]
    assert {document["metadata"]["namespace"]} == {
        one["metadata"].get("namespace", one["metadata"]["name"])
        for one in documents("platform.yml")
    }
    inside = [spec["mainApplicationFile"].removeprefix("local://"), spec["arguments"][0]]
    assert all((ROOT / Path(path).relative_to("/opt/slackwater")).exists() for path in inside)
    common = settings()
    for key, value in spec["sparkConf"].items():
        assert common[key] == value


def test_jobs_elsewhere_have_the_same_options_of_jvms() -> None:
    options = settings()
    assert options["spark.driver.extraJavaOptions"].split() == [*jvm.DRIVER]
    assert options["spark.executor.extraJavaOptions"].split() == [*jvm.EXECUTOR]


def test_no_page_of_spark_takes_orders(tmp_path: Path) -> None:
    """On YARN its links are followed by GET: any page that a browser shows could have had one."""
    spark.write_defaults(tmp_path, "h", bind="h", rest=1, recovery=tmp_path / "r", key="k")
    ours = (tmp_path / spark.MASTER_SETTINGS, tmp_path / "spark-defaults.conf")
    for file in (*ours, CLUSTER / "spark.conf"):
        words = [line.split() for line in file.read_text(encoding="utf-8").splitlines()]
        assert ["spark.ui.killEnabled", "false"] in words, file
        assert ["spark.ui.heapHistogramEnabled", "false"] in words, file
    for file in ours:
        assert "spark.master.ui.decommission.allow.mode DENY" in file.read_text(encoding="utf-8")


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
