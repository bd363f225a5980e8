"""Brokers as processes, and the way to a cluster by the real spark-submit."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from infra import process, spark, stack
from infra.errors import InfraError
from infra.layout import ROOT, STATE_DIR_VARIABLE, Layout
from infra.ports import pick
from infra.record import read
from tests.unit.infra.test_clusters import CLUSTER


def test_a_full_disk_leaves_no_process_behind(layout: Layout) -> None:
    stack.up(only=["kafka"], layout=layout)
    stack.down(layout=layout)
    before = read(layout)
    (layout.state_dir / "stack.json.part").symlink_to("/dev/full")
    with pytest.raises(InfraError, match="no space left on device"):
        stack.up(only=["kafka"], layout=layout)
    assert process.marked(layout.state_dir) == []
    assert read(layout) == before


def test_the_life_of_a_broker(layout: Layout) -> None:
    news: list[str] = []

    def report(component: str, message: str, seconds: float) -> None:
        news.append(f"{component} {message}")

    taken = pick(19092)  # below the range of outgoing connections, which come and go
    with socket.create_server(("127.0.0.1", taken)):
        # The port of the last time has been taken by somebody else meanwhile.
        read(layout).promise({"kafka": taken, "kafka-controller": taken + 1000})
        bootstrap = stack.up(report, only=["kafka"], layout=layout).kafka_bootstrap
    assert bootstrap != f"127.0.0.1:{taken}"
    first = stack.process_of("kafka", layout=layout)

    # A healthy broker is left alone.
    assert stack.up(report, only=["kafka"], layout=layout).kafka_bootstrap == bootstrap
    assert stack.process_of("kafka", layout=layout) == first
    assert news == ["kafka healthy (started kafka)", "kafka healthy (was running)"]

    # A paused one is not dead: so soon after its start it may still be starting.
    process.send(first, signal.SIGSTOP)
    # On a busy machine it goes on for a moment, and answers.
    while psutil.Process(first.pid).status() != psutil.STATUS_STOPPED:
        time.sleep(0.02)
    (paused,) = stack.status(layout=layout)
    assert (paused.state, paused.pid) == ("starting", first.pid)
    process.send(first, signal.SIGCONT)

    # A killed one comes back on its port.
    process.send(first, signal.SIGKILL)
    while process.is_alive(first):
        time.sleep(0.02)
    assert stack.up(report, only=["kafka"], layout=layout).kafka_bootstrap == bootstrap
    second = stack.process_of("kafka", layout=layout)
    assert second != first
    (healthy,) = stack.status(layout=layout)
    assert (healthy.state, healthy.pid) == ("healthy", second.pid)
    assert 100 << 20 < healthy.memory_bytes < 1 << 30

    assert stack.down(report, layout=layout) == 1
    assert not process.is_alive(second)
    assert process.marked(layout.state_dir) == []
    assert list((layout.kafka / "data").iterdir())  # the data stays


def test_an_interrupted_start_is_cleared_away(layout: Layout) -> None:
    command = [sys.executable, "-W", "ignore", "-m", "infra", "up", "kafka"]
    environment = {**os.environ, STATE_DIR_VARIABLE: str(layout.state_dir)}
    with subprocess.Popen(
        command, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL
    ) as starting:
        while "kafka" not in read(layout).running:
            assert starting.poll() is None
            time.sleep(0.02)
        starting.kill()  # no chance to tidy up
    left = read(layout).running["kafka"].process
    assert process.is_alive(left)
    assert stack.down(layout=layout) == 1
    assert not process.is_alive(left)
    assert process.marked(layout.state_dir) == []


def test_spark_submit_understands_what_the_script_says(tmp_path: Path) -> None:
    given = {
        "API": "127.0.0.1:1",
        "BOOTSTRAP": "broker:9092",
        "SHARED": str(tmp_path),
        "IMAGE": "slackwater/spark:local",
        "SPARK_HOME": str(Path(spark.spark_class()).parents[1]),
        "SPARK_SCALA_VERSION": "2.13",
        "SPARK_SUBMIT": str(tmp_path / "parse"),
    }
    parse = tmp_path / "parse"
    # The real parser of arguments alone: it takes them apart, and asks no cluster.
    home = Path(spark.spark_class()).parents[1]
    parse.write_text(
        f'#!/bin/sh\nexec java -cp "{home}/jars/*" org.apache.spark.launcher.Main'
        ' org.apache.spark.deploy.SparkSubmit "$@"\n'
    )
    parse.chmod(0o755)
    done = subprocess.run(
        [
            CLUSTER / "kubernetes" / "submit",
            "pipelines/flight_delays.yml",
            "r1",
            "--max-offsets",
            "500",
        ],
        env=os.environ | given,
        capture_output=True,
        text=True,
        check=True,
    )
    told = done.stdout.split("\0")
    assert "cluster" in told
    assert told[-2:] in (["--max-offsets", "500"], ["500", ""])
