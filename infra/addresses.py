"""The addresses of what a record says is running."""

from collections.abc import Collection

from infra import airflow, spark
from infra.endpoints import Endpoints
from infra.layout import Layout
from infra.ports import HOST
from infra.record import Record


def addresses(layout: Layout, record: Record, only: Collection[str]) -> Endpoints:
    """Return the addresses of a stack on this machine.

    Args:
        layout: where its state is.
        record: what runs.
        only: the components that are asked for, as `as_started` gives them.
    """

    def at(scheme: str, name: str) -> str:
        return f"{scheme}{HOST}:{record.ports[name]}" if name in record.ports else ""

    on_yarn = "yarn" in as_started({"spark", *only}, record)
    return Endpoints(
        kafka_bootstrap=at("", "kafka"),
        spark_master="" if on_yarn else at("spark://", "spark-master"),
        spark_rest="" if on_yarn else at("http://", "spark-rest"),
        spark_ui="" if on_yarn else at("http://", "spark-ui"),
        airflow_url=at("http://", "airflow"),
        airflow_user=airflow.USER,
        airflow_password=airflow.password(layout) if "airflow" in only else "",
        state_dir=layout.state_dir,
        jars=spark.connector_jars() if {"spark", "yarn"} & {*only} else "",
        kafka_proxied=at("", "kafka-proxied"),
        kafka_proxy=at("", "kafka-proxy"),
        yarn_ui=at("http://", "yarn-ui") if on_yarn else "",
        hdfs=at("hdfs://", "yarn-namenode") if on_yarn else "",
    )


def as_started(only: Collection[str], record: Record) -> list[str]:
    """Return the wanted components; YARN for Spark's own master, where it runs instead."""
    instead = not has_run("spark", record) and has_run("yarn", record)
    return ["yarn" if name == "spark" and instead else name for name in only]


def has_run(name: str, record: Record) -> bool:
    """Return whether a component was started, and not stopped since."""
    return any(one.startswith(name) for one in record.running)
