"""Addresses of the running stack: plain data, for every part that talks to it."""

from dataclasses import dataclass, field
from pathlib import Path

from infra.layout import ROOT
from infra.ports import port_of


@dataclass(frozen=True)
class Endpoints:
    """The addresses of a running stack.

    Attributes:
        kafka_bootstrap: `host:port` of the broker; of several, separated by commas.
        spark_master: `spark://host:port`, for sessions and for `--master`.
        spark_rest: base URL of the master's submission server.
        spark_ui: base URL of the master's web page, which also answers `/json/`.
        airflow_url: base URL of Airflow's pages and of its REST API.
        airflow_user: the user who may log in there.
        airflow_password: that user's password; never printed by `repr`.
        state_dir: the folder of the stack's data; logs are in `logs` below it.
        jars: the jars of Spark's Kafka source, separated by commas.
        kafka_proxied: `host:port` of the broker for a proxy in front of it.
        kafka_proxy: where such a proxy must listen, if one is started.
        code: the folder of the platform's code, as the machines of the cluster see it.
        yarn_ui: base URL of YARN's ResourceManager: its page and its REST interface; empty if Spark
            itself manages the machines.
        hdfs: `hdfs://host:port` of the file system; empty if there is none.
    """

    kafka_bootstrap: str
    spark_master: str
    spark_rest: str
    spark_ui: str
    airflow_url: str
    airflow_user: str
    airflow_password: str = field(repr=False)
    state_dir: Path
    jars: str
    kafka_proxied: str = ""
    kafka_proxy: str = ""
    code: Path = ROOT
    yarn_ui: str = ""
    hdfs: str = ""

    @property
    def brokers(self) -> dict[str, int]:
        """The port of each broker, by the name of its daemon."""
        ports = map(port_of, self.kafka_bootstrap.split(","))
        return {broker_name(number): port for number, port in enumerate(ports, 1)}


def broker_name(number: int) -> str:
    """Return the name of a broker's daemon, from 1; most stacks have only that one."""
    return "kafka" if number == 1 else f"kafka-{number}"
