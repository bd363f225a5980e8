"""The way to a cluster: manifests against schemas, scripts against the real spark-submit."""

from __future__ import annotations

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
