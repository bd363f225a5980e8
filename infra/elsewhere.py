"""A stack that this checkout did not start, with its addresses in the environment.

So the same commands, tasks and checks work inside the containers of docker-compose.yml, or against
a cluster, as on the local stack.
"""

import os
from collections.abc import Collection
from pathlib import Path

from infra import kafka_settings
from infra.endpoints import Endpoints
from infra.errors import InfraError
from infra.layout import STATE_DIR_VARIABLE, default_layout

KAFKA = "SLACKWATER_KAFKA"
"""`host:port` of brokers, separated by commas; if it is set, the stack is elsewhere."""

SPARK = "SLACKWATER_SPARK"
"""`spark://host:port` of the master."""

SPARK_REST = "SLACKWATER_SPARK_REST"
"""Base URL of the master's submission server."""

SPARK_UI = "SLACKWATER_SPARK_UI"
"""Base URL of the master's page."""

YARN = "SLACKWATER_YARN"
"""Base URL of YARN's ResourceManager, in place of the three of Spark; needs `HADOOP_CONF_DIR`."""

HDFS = "SLACKWATER_HDFS"
"""`hdfs://host:port` of the NameNode, for checkpoints and tables of jobs on YARN."""

HADOOP_CONF = "HADOOP_CONF_DIR"
"""The folder with the cluster's settings; Hadoop's own variable."""

AIRFLOW = "SLACKWATER_AIRFLOW"
"""Base URL of Airflow."""

AIRFLOW_PASSWORD_FILE = "SLACKWATER_AIRFLOW_PASSWORD_FILE"  # noqa: S105 - a name, not a password
"""Names the file that holds the password of Airflow's user `admin`."""

_OF_SPARK, _OF_YARN = (SPARK, SPARK_REST, SPARK_UI), (YARN, HDFS, HADOOP_CONF)


def is_named() -> bool:
    """Whether the environment names a stack elsewhere."""
    return bool(os.environ.get(KAFKA))


def endpoints(only: Collection[str], *, user: str, jars: str) -> Endpoints:
    """Return the addresses in the environment, without trying them.

    Args:
        only: the wanted components, of kafka, spark and airflow.
        user: Airflow's.
        jars: of Spark's Kafka source; they must have the same paths on the workers.

    Raises:
        InfraError: an address is missing; says which variable to set.
    """
    spark = _OF_YARN if os.environ.get(YARN) else _OF_SPARK
    variables = {"kafka": (KAFKA,), "spark": spark, "yarn": spark, "airflow": (AIRFLOW,)}
    needed = [name for part in only for name in variables[part]]
    missing = [name for name in (*needed, STATE_DIR_VARIABLE) if not os.environ.get(name)]
    if missing:
        text = f"{KAFKA} names a stack elsewhere, but {', '.join(missing)} is not set"
        raise InfraError(text)
    users = kafka_settings.settings()
    return Endpoints(
        kafka_bootstrap=users.bootstrap if users else _url(KAFKA),
        spark_master=_url(SPARK),
        spark_rest=_url(SPARK_REST),
        spark_ui=_url(SPARK_UI),
        airflow_url=_url(AIRFLOW),
        airflow_user=user,
        airflow_password=_airflow_password() if "airflow" in only else "",
        state_dir=default_layout().state_dir,
        jars=jars,
        yarn_ui=_url(YARN),
        hdfs=_url(HDFS),
    )


def _airflow_password() -> str:
    file = os.environ.get(AIRFLOW_PASSWORD_FILE)
    if not file:
        return ""
    try:
        return Path(file).read_text(encoding="utf-8").strip()
    except OSError as error:
        text = f"{AIRFLOW_PASSWORD_FILE}: {file} cannot be read ({error.strerror})"
        raise InfraError(text) from error


def _url(name: str) -> str:
    return os.environ.get(name, "").rstrip("/")
