"""The way to a cluster: manifests against schemas, scripts against the real spark-submit."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from infra import jvm, spark
from infra.layout import ROOT

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


@pytest.mark.spark
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


def test_jobs_elsewhere_have_the_same_options_of_jvms() -> None:
    told = settings()
    assert told["spark.driver.extraJavaOptions"].split() == [*jvm.DRIVER]
    assert told["spark.executor.extraJavaOptions"].split() == [*jvm.EXECUTOR]


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
