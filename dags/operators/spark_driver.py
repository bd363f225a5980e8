"""The state of a submitted driver, from the Spark master's REST server."""

from __future__ import annotations

import os

from airflow.sdk.exceptions import AirflowException

from infra import record, spark_rest
from infra.endpoints import Endpoints
from infra.errors import InfraError
from infra.layout import Layout, default_layout
from infra.ports import HOST
from infra.spark_rest import ALIVE, Driver

__all__ = ["ALIVE", "FINISHED", "STARTED", "look_at"]

REST_VARIABLE = "SLACKWATER_SPARK_REST"
"""Base URL of the REST server of a cluster other than the local stack's."""

FINISHED = "FINISHED"

STARTED = frozenset({"RUNNING", FINISHED})
"""Whether the driver has its process; it may be running or done."""


def look_at(submission_id: str) -> Driver:
    """Return the driver as the master sees it now.

    Raises:
        AirflowException: the master does not answer.
    """
    try:
        return spark_rest.status(_endpoints(), submission_id)
    except InfraError as error:
        raise AirflowException(str(error)) from None


def _endpoints() -> Endpoints:
    # Not infra.stack's: that needs a Kafka client, which Airflow's environment lacks.
    layout = default_layout()
    rest = os.environ.get(REST_VARIABLE) or _local_rest(layout)
    return Endpoints(
        kafka_bootstrap="",
        spark_master="",
        spark_rest=rest.rstrip("/"),
        spark_ui="",
        airflow_url="",
        airflow_user="",
        airflow_password="",
        state_dir=layout.state_dir,
        jars="",
    )


def _local_rest(layout: Layout) -> str:
    port = record.read(layout).ports.get("spark-rest")
    if port is None:
        text = "the local stack has no Spark master yet; start it with `slackwater up`"
        raise InfraError(text)
    return f"http://{HOST}:{port}"
