"""The way to a cluster: manifests against schemas, scripts against the real spark-submit."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from infra import spark
from tests.unit.infra.test_cluster_files import CLUSTER


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
