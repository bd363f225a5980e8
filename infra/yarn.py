"""A real Hadoop: HDFS and YARN, one daemon of each kind, as processes on the loopback address.

The daemons run from Maven's jars by their main classes; `make setup-yarn` installs them.
Their settings lie in `yarn/conf` of the state folder, which is the clients' HADOOP_CONF_DIR.
"""

import getpass
import shutil
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import httpx

from infra import hadoop_door, spark
from infra.daemon import Component, Daemon, Ports, shared_environment
from infra.driver import client
from infra.errors import InfraError, NotReady
from infra.layout import HADOOP_JARS, STATE_DIR_VARIABLE, Layout
from infra.ports import HOST
from infra.private import forget_all, write_private
from infra.process import MARK, is_alive
from infra.record import read
from infra.setup import java_command

PORTS = {
    "yarn-namenode": 8020,
    "yarn-namenode-ui": 9870,
    "yarn-datanode": 9866,
    "yarn-datanode-ipc": 9867,
    "yarn-datanode-ui": 9864,
    "yarn-resourcemanager": 8032,
    "yarn-scheduler": 8030,
    "yarn-tracker": 8031,
    "yarn-admin": 8033,
    "yarn-ui": 8088,
    "yarn-nodemanager": 8041,
    "yarn-localizer": 8040,
    "yarn-nodemanager-ui": 8042,
}
"""The default ports, Hadoop's own."""

NODE_DAEMON = "yarn-nodemanager"
"""The daemon that starts drivers and executors."""

REQUEST_S = 2.0

HEAP = ("-Xmx400m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
NODE_MEMORY_MIB = 6144
NODE_CORES = 8
"""What the node offers: a driver and two executors of `infra/cluster/spark.conf`, with overhead."""

SILENT_MS = 30_000
"""How long a NodeManager or a driver may be silent until it counts as lost, in milliseconds."""

_SERVERS = {
    "namenode": "org.apache.hadoop.hdfs.server.namenode.NameNode",
    "datanode": "org.apache.hadoop.hdfs.server.datanode.DataNode",
    "resourcemanager": "org.apache.hadoop.yarn.server.resourcemanager.ResourceManager",
    "nodemanager": "org.apache.hadoop.yarn.server.nodemanager.NodeManager",
}


def component(layout: Layout, ports: Ports) -> Component:
    """Describe HDFS and YARN for the given ports.

    Raises:
        InfraError: Java or the jars are missing.
    """
    first = (
        _daemon(layout, "namenode", lambda started: check_namenode(layout, ports)),
        _daemon(layout, "resourcemanager", lambda started: check_resourcemanager(ports)),
    )
    second = (
        _daemon(layout, "datanode", lambda started: check_datanode(layout, ports)),
        _daemon(layout, "nodemanager", lambda started: check_nodemanager(ports)),
    )
    return Component("yarn", lambda: _prepare(layout, ports), (first, second))


def conf_dir(layout: Layout) -> Path:
    """Return the folder of the cluster's settings, which clients need as HADOOP_CONF_DIR."""
    return layout.yarn / "conf"


def _locked_conf(layout: Layout) -> Path:
    """Return the folder of the settings of HDFS's own daemons, whose pages are locked."""
    return layout.yarn / "conf-hdfs"


def _conf_of(layout: Layout, kind: str) -> Path:
    return _locked_conf(layout) if kind in ("namenode", "datanode") else conf_dir(layout)


# --- health ------------------------------------------------------------------------------------


def check_namenode(layout: Layout, ports: Ports) -> None:
    """Ask the NameNode for its status; it may still be in safe mode, waiting for DataNodes.

    Raises:
        NotReady: it does not answer, or answers anybody.
    """
    _namenode(layout, ports)
    _refuses(f"http://{HOST}:{ports['yarn-namenode-ui']}/webhdfs/v1/?op=LISTSTATUS")


def check_datanode(layout: Layout, ports: Ports) -> None:
    """Ask the NameNode whether it has a DataNode and lets clients write.

    Raises:
        NotReady: it does not, or is in safe mode, or the DataNode answers anybody.
    """
    about = _namenode(layout, ports)
    if f":{ports['yarn-datanode']}" not in about["LiveNodes"]:
        text = "the NameNode sees no live DataNode"
        raise NotReady(text)
    if about["Safemode"]:
        text = f"the NameNode is in safe mode: {about['Safemode']}"
        raise NotReady(text)
    door = f"http://{HOST}:{ports['yarn-datanode-ui']}"
    _get(f"{door}/jmx?qry=java.lang:type=Runtime", hadoop_door.headers(layout.yarn))
    _refuses(f"{door}/webhdfs/v1/?op=OPEN")


def check_resourcemanager(ports: Ports) -> None:
    """Ask the ResourceManager for its state.

    Raises:
        NotReady: it does not answer, or has not started.
    """
    state = _get(f"http://{HOST}:{ports['yarn-ui']}/ws/v1/cluster/info")["clusterInfo"]["state"]
    if state != "STARTED":
        text = f"the ResourceManager is {state}"
        raise NotReady(text)


def check_nodemanager(ports: Ports) -> None:
    """Ask the ResourceManager and the NodeManager itself whether the node can run containers.

    Raises:
        NotReady: one of them says no.
    """
    answer = _get(f"http://{HOST}:{ports['yarn-ui']}/ws/v1/cluster/nodes")
    nodes = (answer["nodes"] or {}).get("node", [])
    states = [one["state"] for one in nodes if one["id"].endswith(f":{ports['yarn-nodemanager']}")]
    if "RUNNING" not in states:
        text = f"the ResourceManager sees the node as {states[-1] if states else 'absent'}"
        raise NotReady(text)
    about = _get(f"http://{HOST}:{ports['yarn-nodemanager-ui']}/ws/v1/node/info")["nodeInfo"]
    if not about["nodeHealthy"]:
        text = f"the NodeManager is not healthy: {about['healthReport']}"
        raise NotReady(text)


def _namenode(layout: Layout, ports: Ports) -> dict[str, Any]:
    url = f"http://{HOST}:{ports['yarn-namenode-ui']}/jmx?qry=Hadoop:service=NameNode,name=NameNodeInfo"
    beans = _get(url, hadoop_door.headers(layout.yarn))["beans"]
    if not beans:
        text = "the NameNode has not started its services"
        raise NotReady(text)
    return dict(beans[0])


def _refuses(url: str) -> None:
    """Check that a door is locked for requests that do not know the secret."""
    try:
        code = client().get(url, timeout=REQUEST_S).status_code
    except httpx.HTTPError as error:
        text = f"{url} does not answer ({type(error).__name__})"
        raise NotReady(text) from error
    if code not in hadoop_door.REFUSALS:
        text = f"{url} takes orders from anybody (it answered {code})"
        raise NotReady(text)


def _get(url: str, given: Mapping[str, str] | None = None) -> dict[str, Any]:
    wanted = {"Accept": "application/json", **(given or {})}
    try:
        answer = client().get(url, timeout=REQUEST_S, headers=wanted)
        return dict(answer.raise_for_status().json())
    except (httpx.HTTPError, ValueError) as error:
        text = f"{url} does not answer ({type(error).__name__})"
        raise NotReady(text) from error


# --- starting ----------------------------------------------------------------------------------


def _daemon(layout: Layout, kind: str, check: Callable[[float], None]) -> Daemon:
    return Daemon(
        name=f"yarn-{kind}",
        command=(*_java(layout, kind), _SERVERS[kind]),
        environment=_environment(layout),
        check=check,
        start_s=90.0,
        cwd=layout.state_dir,
    )


def _java(layout: Layout, kind: str) -> tuple[str, ...]:
    java = java_command()
    if java is None:
        text = "Java is missing: install 17 or newer, or set JAVA_HOME to one, then try again"
        raise InfraError(text)
    options = (*HEAP, "-Dlog4j2.level=INFO", f"-Dhadoop.log.dir={layout.yarn / kind}")
    return (java, *options, "-cp", ":".join(map(str, (_conf_of(layout, kind), *_jars()))))


def _jars() -> list[Path]:
    """List Hadoop's daemons, and from Spark's folder its client and the loggers."""
    own = sorted(HADOOP_JARS.glob("*.jar"))
    if not own:
        text = f"Hadoop is not installed in {HADOOP_JARS}; run `make setup-yarn`"
        raise InfraError(text)
    folder = Path(spark.home()) / "jars"
    kinds = ("hadoop-client-*.jar", "slf4j-api-*.jar", "log4j-*.jar")
    return [*own, *(jar for kind in kinds for jar in sorted(folder.glob(kind)))]


def _environment(layout: Layout) -> dict[str, str]:
    return {"HADOOP_CONF_DIR": str(conf_dir(layout))}


def _prepare(layout: Layout, ports: Ports) -> None:
    if not _any_alive(layout, "yarn-"):
        # Applications ended with the daemons, and must not be revived by the next start.
        if (layout.yarn / "recovery").exists() and not _any_alive(layout, "spark-worker"):
            forget_all(layout.state_dir)
        for name in ("recovery", "local"):
            shutil.rmtree(layout.yarn / name, ignore_errors=True)
        hadoop_door.forget(layout.yarn)
    for folder in (layout.yarn / name for name in ("logs", "local")):
        folder.mkdir(parents=True, exist_ok=True)
    hadoop_door.make(layout.yarn)
    common = _settings(layout, ports)
    locked = common | {"hdfs": common["hdfs"] | hadoop_door.locks(layout.yarn)}
    for folder, files in ((conf_dir(layout), common), (_locked_conf(layout), locked)):
        for name, settings in files.items():
            write_private(folder / f"{name}-site.xml", _site(settings))
    if not (layout.yarn / "namenode" / "current" / "VERSION").exists():
        _format(layout)


def _format(layout: Layout) -> None:
    """Write an empty file system.

    Raises:
        InfraError: the NameNode could not; says where its words are.
    """
    log = layout.logs / "yarn-format.log"
    command = [*_java(layout, "namenode"), _SERVERS["namenode"], "-format", "-force"]
    with log.open("wb") as out:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            check=False,
            env=shared_environment(layout) | _environment(layout),
        )
    if done.returncode != 0:
        text = f"the NameNode cannot format its disk (code {done.returncode}); log: {log}"
        raise InfraError(text)


def _any_alive(layout: Layout, prefix: str) -> bool:
    running = read(layout).running
    return any(is_alive(one.process) for name, one in running.items() if name.startswith(prefix))


# --- settings ----------------------------------------------------------------------------------


def _settings(layout: Layout, ports: Ports) -> dict[str, dict[str, str]]:
    def at(name: str) -> str:
        return f"{HOST}:{ports[name]}"

    return {
        "core": {
            "fs.defaultFS": f"hdfs://{at('yarn-namenode')}",
            "hadoop.tmp.dir": str(layout.yarn / "tmp"),
            "hadoop.http.staticuser.user": getpass.getuser(),
            # Only administrators may change what is logged, or read it; the pages know none.
            "hadoop.security.authorization": "true",
        },
        "hdfs": _hdfs(layout, at),
        "yarn": _resource_manager(layout, at) | _node_manager(layout, at),
    }


def _hdfs(layout: Layout, at: Callable[[str], str]) -> dict[str, str]:
    return {
        "dfs.replication": "1",
        "dfs.namenode.name.dir": (layout.yarn / "namenode").as_uri(),
        "dfs.namenode.rpc-address": at("yarn-namenode"),
        "dfs.namenode.http-address": at("yarn-namenode-ui"),
        "dfs.namenode.datanode.registration.ip-hostname-check": "false",
        "dfs.namenode.safemode.extension": "0",  # milliseconds; there is one DataNode to wait for
        # A DataNode that was killed is missed after half a minute instead of ten.
        "dfs.namenode.heartbeat.recheck-interval": "5000",
        "dfs.datanode.data.dir": (layout.yarn / "datanode").as_uri(),
        "dfs.datanode.address": at("yarn-datanode"),
        "dfs.datanode.ipc.address": at("yarn-datanode-ipc"),
        "dfs.datanode.http.address": at("yarn-datanode-ui"),
        # With one DataNode there is no other to replace it in a pipeline of writes.
        "dfs.client.block.write.replace-datanode-on-failure.policy": "NEVER",
    }


def _resource_manager(layout: Layout, at: Callable[[str], str]) -> dict[str, str]:
    package = "org.apache.hadoop.yarn.server.resourcemanager"
    return {
        "yarn.resourcemanager.address": at("yarn-resourcemanager"),
        "yarn.resourcemanager.scheduler.address": at("yarn-scheduler"),
        "yarn.resourcemanager.resource-tracker.address": at("yarn-tracker"),
        "yarn.resourcemanager.admin.address": at("yarn-admin"),
        "yarn.resourcemanager.webapp.address": at("yarn-ui"),
        "yarn.resourcemanager.scheduler.class": f"{package}.scheduler.fifo.FifoScheduler",
        # Of a driver; Spark sets a smaller number and its period for each job.
        "yarn.resourcemanager.am.max-attempts": "1000",
        "yarn.am.liveness-monitor.expiry-interval-ms": str(SILENT_MS),
        "yarn.nm.liveness-monitor.expiry-interval-ms": str(SILENT_MS),
        # A ResourceManager that was killed knows its applications again, and they continue.
        "yarn.resourcemanager.recovery.enabled": "true",
        "yarn.resourcemanager.store.class": f"{package}.recovery.FileSystemRMStateStore",
        "yarn.resourcemanager.fs.state-store.uri": (layout.yarn / "recovery" / "rm").as_uri(),
        "yarn.scheduler.minimum-allocation-mb": "256",
        "yarn.scheduler.maximum-allocation-mb": str(NODE_MEMORY_MIB),
        # A web page in a browser on this machine must not give orders, nor change what is logged.
        "yarn.resourcemanager.webapp.rest-csrf.enabled": "true",
        "yarn.webapp.enable-rest-app-submissions": "false",
        "yarn.webapp.ui-actions.enabled": "false",
        "yarn.admin.acl": " ",
    }


def _node_manager(layout: Layout, at: Callable[[str], str]) -> dict[str, str]:
    ours = ("JAVA_HOME", "PATH", "HADOOP_CONF_DIR", MARK, STATE_DIR_VARIABLE)
    return {
        "yarn.nodemanager.address": at("yarn-nodemanager"),
        "yarn.nodemanager.localizer.address": at("yarn-localizer"),
        "yarn.nodemanager.webapp.address": at("yarn-nodemanager-ui"),
        "yarn.nodemanager.webapp.rest-csrf.enabled": "true",
        "yarn.nodemanager.local-dirs": str(layout.yarn / "local"),
        "yarn.nodemanager.log-dirs": str(layout.yarn / "logs"),
        "yarn.nodemanager.resource.memory-mb": str(NODE_MEMORY_MIB),
        "yarn.nodemanager.resource.cpu-vcores": str(NODE_CORES),
        "yarn.nodemanager.vmem-check-enabled": "false",
        "yarn.nodemanager.pmem-check-enabled": "false",
        # A machine whose disk is nearly full would otherwise be called unhealthy.
        "yarn.nodemanager.disk-health-checker.max-disk-utilization-per-disk-percentage": "99.5",
        # What marks a container as this stack's, so that `down` finds it.
        "yarn.nodemanager.env-whitelist": ",".join(ours),
        "yarn.nodemanager.delete.debug-delay-sec": "3600",  # logs of an ended job stay an hour
    }


def _site(settings: Mapping[str, str]) -> str:
    lines = [
        f"  <property><name>{name}</name><value>{escape(value)}</value></property>"
        for name, value in settings.items()
    ]
    return "\n".join(["<configuration>", *lines, "</configuration>", ""])
