"""The containers of our images: the environment, ports and folders that each needs."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from infra.containers.session import Box
from infra.layout import CONNECTOR_JARS, ROOT, STATE_DIR_VARIABLE

CODE = Path("/opt/slackwater")
"""The folder of the platform's code in the images."""

INTERNAL, OUTSIDE, PROXIED = 9092, 9094, 9095
"""The broker's ports: on the containers' network, for this machine, and for a proxy."""

_CONTROLLER = 9093

# As in docker-compose.yml.
_BROKER_TMPFS = {"/tmp": "exec"}  # noqa: S108 - the container's own
_POSTGRES_TMPFS = {"/tmp": "", "/var/run/postgresql": ""}  # noqa: S108
SPARK_REST, SPARK_UI, POSTGRES = 6066, 8080, 5432


@dataclass(frozen=True)
class SharedFolder:
    """A folder with the same path on this machine and in all containers of a cluster.

    Attributes:
        path: of checkpoints, tables, logs.
        propagates: whether later mounts below it show up in the containers too.
    """

    path: Path
    propagates: bool


def image(name: str) -> str:
    """Return the tag of one of our images."""
    return f"slackwater/{name}:local"


def broker(
    *,
    port: int,
    name: str = "kafka",
    proxied: int | None = None,
    proxy: str = "",
    environment: Mapping[str, str] | None = None,
) -> Box:
    """Describe a broker, which is also a controller.

    Args:
        port: its port on this machine; chosen beforehand, since it advertises it.
        name: on the network.
        proxied: where a proxy reaches it on this machine; None: there is no proxy.
        proxy: the `host:port` that it advertises to clients of `proxied`.
        environment: other variables of `infra/images/kafka-start`, such as NODE_ID or VOTERS.
    """
    given = {"HOST": name, "ADVERTISED": f"127.0.0.1:{port}", **(environment or {})}
    ports = {OUTSIDE: port}
    if proxied is not None:
        given["PROXY"] = proxy
        ports[PROXIED] = proxied
    return Box(
        name, image("kafka"), environment=given, ports=ports, tmpfs=_BROKER_TMPFS, confined=True
    )


def brokers(ports: Mapping[str, int], *, proxied: int | None = None, proxy: str = "") -> list[Box]:
    """Describe the brokers of a cluster: each has a replica of every topic, and one may be away.

    A single broker may not be away, and has no others to be in sync with.

    Args:
        ports: the port of each on this machine, by its name on the network.
        proxied: of the first one, as for `broker`; a proxy for one of several does not hide the
            others.
    """
    voters = ",".join(f"{node}@{name}:{_CONTROLLER}" for node, name in enumerate(ports, 1))
    cluster = {
        "VOTERS": voters,
        "REPLICAS": str(len(ports)),
        "MIN_ISR": str(max(1, len(ports) - 1)),
    }
    return [
        broker(
            port=port,
            name=name,
            proxied=proxied if node == 1 else None,
            proxy=proxy,
            environment={**cluster, "NODE_ID": str(node)},
        )
        for node, (name, port) in enumerate(ports.items(), 1)
    ]


def postgres(
    *,
    port: int,
    user: str = "",
    password: str = "",
    database: str = "",
    secrets: Path | None = None,
) -> Box:
    """Describe a PostgreSQL with one database and its owner, or with one for each secret.

    Args:
        port: on this machine.
        password: the owner's.
        secrets: a folder with passwords, `postgres_NAME` for the owner of database NAME; anyone may
            read them, and the other three arguments are ignored.
    """
    given = {"POSTGRES_USER": user, "POSTGRES_PASSWORD": password, "POSTGRES_DB": database}
    return Box(
        "postgres",
        image("postgres"),
        environment=given if secrets is None else {"SECRETS": str(secrets)},
        ports={POSTGRES: port},
        mounts={} if secrets is None else {secrets: "ro"},
        tmpfs=_POSTGRES_TMPFS,
        memory="512m",
        confined=True,
    )


def spark_master(folder: SharedFolder, *, rest: int, page: int) -> Box:
    """Describe the master of a Spark cluster.

    Args:
        folder: for its state.
        rest: port of the submission server on this machine.
        page: port of its page.
    """
    ports = {SPARK_REST: rest, SPARK_UI: page}
    return _spark(folder, "spark-master", ("master",), ports=ports)


def spark_worker(folder: SharedFolder, number: int, *, cores: int, memory: str) -> Box:
    """Describe a worker of the cluster, with everything that it starts.

    Args:
        folder: as the master's.
        number: of the worker, from 1.
        cores: for executors and drivers together.
        memory: for executors and drivers together, as `3g`; the daemon's own comes on top.
    """
    limits = {"WORKER_CORES": str(cores), "WORKER_MEMORY": memory}
    command = ("worker", "spark://spark-master:7077")
    return _spark(folder, f"spark-worker-{number}", command, environment=limits, memory="4g")


def connector_jars() -> str:
    """Return the jars of Spark's Kafka source in the images, separated by commas."""
    names = sorted(jar.name for jar in CONNECTOR_JARS.glob("*.jar"))
    folder = CODE / CONNECTOR_JARS.relative_to(ROOT)
    return ",".join(str(folder / name) for name in names)


def _spark(
    folder: SharedFolder,
    name: str,
    command: tuple[str, ...],
    *,
    environment: Mapping[str, str] | None = None,
    ports: Mapping[int, int] | None = None,
    memory: str = "1g",
) -> Box:
    # The user who started the cluster owns what it writes, and must be able to change it.
    user = os.getuid()
    mounts = {folder.path: "rw,rslave" if folder.propagates else "rw"}
    if user:
        mounts[Path("/etc/passwd")] = "ro"  # Hadoop needs a name for every user
    return Box(
        name,
        image("spark"),
        command,
        environment={STATE_DIR_VARIABLE: str(folder.path), **(environment or {})},
        ports=ports or {},
        mounts=mounts,
        user=f"{user}:{os.getgid()}",
        memory=memory,
    )
