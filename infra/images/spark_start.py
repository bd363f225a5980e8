"""Starts a Spark daemon in its container, or a command of the platform: `spark_start master`.

`master`; `worker URL` with WORKER_CORES and WORKER_MEMORY from the environment; `driver …` and
`executor`, as Spark has Kubernetes start its pods; anything else is run as it stands. The
same settings as the local cluster's (infra/spark.py), other addresses.
"""

import os
import socket
import sys
from collections.abc import Mapping
from pathlib import Path

from infra import jvm, spark, spark_key
from infra.images.secrets import offer_tables
from infra.layout import default_layout

CONF = Path("/tmp/spark/conf")  # noqa: S108 - a container's own; nobody else is in it
SCRATCH = Path("/tmp/spark/local")  # noqa: S108
REST_PORT, UI_PORT, WORKER_UI_PORT = 6066, 8080, 8081


def command(arguments: list[str], host: str) -> list[str]:
    """Return the program to run for the container's arguments.

    Args:
        arguments: as above.
        host: the container's name on its network.
    """
    match arguments:
        case ["master"]:
            daemon = ["org.apache.spark.deploy.master.Master", "--webui-port", str(UI_PORT)]
            settings = ["--properties-file", str(CONF / spark.MASTER_SETTINGS)]
            return [spark.spark_class(), *daemon, "--host", host, "--port", "7077", *settings]
        case ["worker", master]:
            # On the shared volume, where `slackwater` looks for the logs of drivers.
            work = default_layout().spark / f"work-{host}"
            daemon = ["org.apache.spark.deploy.worker.Worker", "--webui-port", str(WORKER_UI_PORT)]
            cores = os.environ.get("WORKER_CORES", str(spark.WORKER_CORES))
            memory = os.environ.get("WORKER_MEMORY", spark.WORKER_MEMORY)
            limits = ["--cores", cores, "--memory", memory, "--work-dir", str(work)]
            return [spark.spark_class(), *daemon, "--host", host, *limits, master]
        case ["driver", *rest]:
            submit = str(Path(spark.spark_class()).with_name("spark-submit"))
            address = os.environ["SPARK_DRIVER_BIND_ADDRESS"]
            bind = ["--conf", f"spark.driver.bindAddress={address}"]
            return [submit, *bind, "--deploy-mode", "client", *rest]
        case ["executor"]:
            return _kubernetes_executor(os.environ)
        case _:
            return arguments


def _kubernetes_executor(given: Mapping[str, str]) -> list[str]:
    """Return the command of a pod's executor, from the environment that Spark's driver has set."""
    numbered = (name for name in given if name.startswith("SPARK_JAVA_OPT_"))
    options = [given[name] for name in sorted(numbered, key=lambda one: int(one.split("_")[-1]))]
    jars = str(Path(spark.spark_class()).parents[1] / "jars" / "*")
    parts = (given.get("SPARK_CLASSPATH"), jars, given.get(jvm.CLASS_PATH))
    path = ":".join(filter(None, parts))
    memory = given["SPARK_EXECUTOR_MEMORY"]
    facts = {
        "--driver-url": "SPARK_DRIVER_URL",
        "--executor-id": "SPARK_EXECUTOR_ID",
        "--cores": "SPARK_EXECUTOR_CORES",
        "--app-id": "SPARK_APPLICATION_ID",
        "--hostname": "SPARK_EXECUTOR_POD_IP",
        "--resourceProfileId": "SPARK_RESOURCE_PROFILE_ID",
        "--podName": "SPARK_EXECUTOR_POD_NAME",
    }
    arguments = [word for option, name in facts.items() for word in (option, given[name])]
    main_class = "org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBackend"
    return ["java", *options, f"-Xms{memory}", f"-Xmx{memory}", "-cp", path, main_class, *arguments]


def main(arguments: list[str]) -> None:
    """Write Spark's settings and becomes the program."""
    host = socket.gethostname()
    everywhere = "0.0.0.0"  # noqa: S104 - on the containers' own network
    recovery = SCRATCH / "recovery"
    # The state folder is the cluster's: whoever comes first makes the secret there.
    daemon = arguments[:1] in (["master"], ["worker"])
    key = spark_key.make(default_layout().state_dir) if daemon else None
    spark.write_defaults(CONF, host, bind=everywhere, rest=REST_PORT, recovery=recovery, key=key)
    os.environ.update(spark.environment(host, conf=CONF, scratch=SCRATCH))
    offer_tables()
    program = command(arguments, host)
    os.execvp(program[0], program)  # noqa: S606 - an argument list, no shell


if __name__ == "__main__":
    main(sys.argv[1:])
