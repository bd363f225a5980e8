"""The engine: a Spark standalone cluster of one master and two workers on the loopback address."""

import os
import shutil
from pathlib import Path

import httpx

from infra import jvm, redacted, spark_key, spark_size
from infra.daemon import Component, Daemon, Ports
from infra.driver import client
from infra.errors import InfraError, NotReady
from infra.layout import CONNECTOR_JARS, PACKAGES, SETUP, VENV, Layout
from infra.ports import HOST
from infra.private import forget_all, write_private
from infra.process import is_alive
from infra.record import read
from infra.setup import java_command

WORKERS = (1, 2)
WORKER_DAEMONS = tuple(f"spark-worker-{number}" for number in WORKERS)
WORKER_CORES = 3
WORKER_MEMORY = "3g"
"""The size of a worker in a container, with room for one pipeline; for a local one see
`spark_size`."""

PORTS = {
    "spark-master": 7077,
    "spark-rest": 6066,
    "spark-ui": 8090,
    **{f"spark-worker-{n}-ui": 8090 + n for n in WORKERS},
}
"""The cluster's default ports."""

REQUEST_S = 2.0
_AT_ONCE_FILE = "pipelines_at_once"

_DEFAULTS = """\
# Written by infra/spark.py at every start; read by the master, the workers and every driver.
spark.master.rest.enabled            true
spark.master.rest.host               {bind}
spark.master.rest.port               {rest}
# A master that was killed knows its workers, drivers and applications again; without this it would
# end every job that it finds on its workers.
spark.deploy.recoveryMode            FILESYSTEM
spark.deploy.recoveryDirectory       {recovery}
spark.driver.host                    {host}
spark.driver.bindAddress             {bind}
spark.jars                           {jars}
spark.ui.showConsoleProgress         false
# The pages, which anybody on this machine may read, and a web page may ask for, end nothing, take
# no worker away, make no JVM count its objects, and show no secret.
spark.ui.killEnabled                 false
spark.master.ui.decommission.allow.mode DENY
spark.ui.heapHistogramEnabled        false
spark.redaction.regex                {redacted}
# A job that chaos shoots at for hours must not be given up after ten dead executors.
spark.deploy.maxExecutorRetries      -1
spark.deploy.retainedApplications    50
spark.deploy.retainedDrivers         50
# Folders of ended applications go after a day; those of running ones stay.
spark.worker.cleanup.enabled         true
spark.worker.cleanup.interval        1800
spark.worker.cleanup.appDataTtl      86400
# One supervised driver and two executors fit on the two workers; of how many jobs: spark_size.
spark.driver.memory                  1g
spark.executor.memory                1g
spark.executor.cores                 2
spark.executor.extraJavaOptions      {executor_options}
spark.cores.max                      4
"""

MASTER_SETTINGS = "master.conf"
"""The master's settings: the common ones, and access control."""

_KEPT = """\
# Master, workers, drivers and executors talk to those only who know the secret.
spark.authenticate                   true
spark.authenticate.secret            {key}
"""

_DOOR = """\
# Whoever submits a program is this user: a shared machine's other users, and web pages, must not.
spark.master.rest.filters            org.apache.spark.ui.JWSFilter
spark.org.apache.spark.ui.JWSFilter.param.secretKey {key}
"""


def connector_jars() -> str:
    """Return the jars of Spark's Kafka source, as `spark.jars` wants them.

    Raises:
        InfraError: they are not installed.
    """
    jars = sorted(str(jar) for jar in CONNECTOR_JARS.glob("*.jar"))
    if not jars:
        text = f"Spark's Kafka source is not installed in {CONNECTOR_JARS}; run `{SETUP}`"
        raise InfraError(text)
    return ",".join(jars)


def component(layout: Layout, ports: Ports) -> Component:
    """Describe the cluster for the given ports.

    Raises:
        InfraError: there is no Java.
    """
    if java_command() is None:
        text = "Java is missing: install 17 or newer, or set JAVA_HOME to one, then try again"
        raise InfraError(text)
    master = Daemon(
        name="spark-master",
        command=(
            *_spark_class("master.Master"),
            *("--host", HOST, "--port", str(ports["spark-master"])),
            *("--webui-port", str(ports["spark-ui"])),
            *("--properties-file", str(layout.spark / "conf" / MASTER_SETTINGS)),
        ),
        environment=_environment(layout),
        check=lambda started: check_master(ports),
    )
    workers = tuple(_worker(layout, ports, number) for number in WORKERS)
    return Component("spark", lambda: _prepare(layout, ports), ((master,), workers))


def _worker(layout: Layout, ports: Ports, number: int) -> Daemon:
    name = f"spark-worker-{number}"
    web = ports[f"{name}-ui"]
    size = spark_size.size_for(spark_size.pipelines_at_once(layout.spark / _AT_ONCE_FILE))
    return Daemon(
        name=name,
        command=(
            *_spark_class("worker.Worker"),
            *("--host", HOST, "--webui-port", str(web)),
            *("--cores", str(size.cores), "--memory", f"{size.memory_gib}g"),
            *("--work-dir", str(layout.spark / f"work-{number}")),
            f"spark://{HOST}:{ports['spark-master']}",
        ),
        environment=_environment(layout),
        check=lambda started: check_worker(ports, web),
    )


def check_master(ports: Ports) -> None:
    """Check the master's page and submission server, which must refuse requests without token.

    Raises:
        NotReady: one of them does not answer as it should.
    """
    state = _get(f"http://{HOST}:{ports['spark-ui']}/json/").get("status")
    if state != "ALIVE":
        text = f"the master is {state}"
        raise NotReady(text)
    url = f"http://{HOST}:{ports['spark-rest']}/v1/submissions/status/none"
    try:
        code = client().get(url, timeout=REQUEST_S).status_code
    except httpx.HTTPError as error:
        text = f"{redacted.shown(url)} does not answer ({type(error).__name__})"
        raise NotReady(text) from error
    if code != httpx.codes.FORBIDDEN:
        text = f"the master's submission server takes orders from anybody (it answered {code})"
        raise NotReady(text)


def check_worker(ports: Ports, web: int) -> None:
    """Ask the master whether the worker with its page on port `web` is alive.

    Raises:
        NotReady: it does not.
    """
    workers = _get(f"http://{HOST}:{ports['spark-ui']}/json/").get("workers", [])
    states = [worker["state"] for worker in workers if worker["webuiaddress"].endswith(f":{web}")]
    if "ALIVE" not in states:
        text = f"the master sees the worker as {states[-1] if states else 'absent'}"
        raise NotReady(text)
    _get(f"http://{HOST}:{web}/json/")


def alive_workers(page: str) -> int:
    """Count the workers that the master considers alive.

    Args:
        page: base URL of the master's page.

    Raises:
        NotReady: the master does not answer.
    """
    workers = _get(f"{page}/json/").get("workers", [])
    return sum(1 for worker in workers if worker["state"] == "ALIVE")


def page(base: str) -> dict:  # type: ignore[type-arg]
    """Return the master's page as JSON.

    Raises:
        NotReady: the master does not answer.
    """
    return _get(f"{base}/json/")


def _get(url: str) -> dict:  # type: ignore[type-arg]
    try:
        return client().get(url, timeout=REQUEST_S).json()  # type: ignore[no-any-return]
    except (httpx.HTTPError, ValueError) as error:
        text = f"{redacted.shown(url)} does not answer ({type(error).__name__})"
        raise NotReady(text) from error


def _prepare(layout: Layout, ports: Ports) -> None:
    recovery = layout.spark / "recovery"
    if (named := os.environ.get(spark_size.AT_ONCE_VARIABLE)) is not None:
        layout.spark.mkdir(parents=True, exist_ok=True)
        (layout.spark / _AT_ONCE_FILE).write_text(named, encoding="utf-8")
    if not _is_any_alive(layout, "spark-worker"):
        # What the master remembers ended with the workers: drivers must not be revived when a
        # stopped stack is started again.
        if recovery.exists() and not _is_any_alive(layout, "yarn-"):
            forget_all(layout.state_dir)
        shutil.rmtree(recovery, ignore_errors=True)
    if not _is_any_alive(layout, "spark-"):
        spark_key.forget(layout.state_dir)
    rest = ports["spark-rest"]
    key = spark_key.make(layout.state_dir)
    write_defaults(layout.spark / "conf", HOST, bind=HOST, rest=rest, recovery=recovery, key=key)


def write_defaults(
    folder: Path, host: str, *, bind: str, rest: int, recovery: Path, key: str | None
) -> None:
    """Write the settings of the master, a worker and its drivers.

    Args:
        folder: their SPARK_CONF_DIR.
        host: the name or address by which this machine is known to the others.
        bind: the address to listen on.
        rest: port of the master's submission server.
        recovery: where the master keeps what its successor must know.
        key: the secret of master and workers; None on Kubernetes, which has neither and controls
            access.
    """
    folder.mkdir(parents=True, exist_ok=True)
    recovery.mkdir(parents=True, exist_ok=True)
    settings = _DEFAULTS.format(
        host=host,
        bind=bind,
        rest=rest,
        jars=connector_jars(),
        recovery=recovery,
        executor_options=" ".join(jvm.EXECUTOR),
        redacted=redacted.SPARK_REGEX,
    )
    if key is not None:
        settings += _KEPT.format(key=key)
        write_private(folder / MASTER_SETTINGS, settings + _DOOR.format(key=key))
    write_private(folder / "spark-defaults.conf", settings)


def _is_any_alive(layout: Layout, prefix: str) -> bool:
    running = read(layout).running
    return any(is_alive(one.process) for name, one in running.items() if name.startswith(prefix))


def _spark_class(name: str) -> tuple[str, str]:
    return (spark_class(), f"org.apache.spark.deploy.{name}")


def spark_class() -> str:
    """Return the launcher of Spark's daemons."""
    return f"{home()}/bin/spark-class"


def home() -> str:
    """Return the folder of the installed Spark, SPARK_HOME."""
    found = sorted(VENV.glob("lib/python3*/site-packages/pyspark"))
    if not found:
        text = f"Spark is not installed in {VENV}; run `{PACKAGES}`"
        raise InfraError(text)
    return str(found[-1])


def _environment(layout: Layout) -> dict[str, str]:
    return environment(HOST, conf=layout.spark / "conf", scratch=layout.spark / "local")


def environment(host: str, *, conf: Path, scratch: Path) -> dict[str, str]:
    """Return the daemons' environment, which drivers, executors and Python workers inherit.

    Args:
        host: the name or address by which this machine is known to the others.
        conf: the folder of `spark-defaults.conf`.
        scratch: the folder for shuffle files.
    """
    python = str(VENV / "bin" / "python")
    return {
        "SPARK_HOME": home(),
        "SPARK_CONF_DIR": str(conf),
        "SPARK_LOCAL_IP": host,
        "SPARK_PUBLIC_DNS": HOST,  # for links on the web pages, which are read on this machine
        "SPARK_LOCAL_DIRS": str(scratch),
        # The JVMs of jobs inherit it; daemons, which fetch files for them, use it as well.
        jvm.CLASS_PATH: jvm.class_path(),
        "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_DAEMON_JAVA_OPTS": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1",
        "PYSPARK_PYTHON": python,
        "PYSPARK_DRIVER_PYTHON": python,
        "POLARS_MAX_THREADS": "1",  # one task is one core; Spark runs several tasks at once
    }
