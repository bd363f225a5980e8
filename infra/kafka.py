"""The log: one Kafka broker in KRaft mode, its own controller, on the loopback address."""

import base64
import logging
import subprocess
import uuid
from pathlib import Path

from kafka.admin import KafkaAdminClient
from kafka.errors import KafkaError

from infra.daemon import Component, Daemon, Ports, shared_environment
from infra.errors import InfraError, NotReady
from infra.layout import BROKER_JARS, SETUP, Layout
from infra.ports import HOST, answers
from infra.setup import java_command

PORTS = {"kafka": 9092, "kafka-controller": 9093, "kafka-proxied": 9094, "kafka-proxy": 9095}
"""The broker's default ports.

It also listens on `kafka-proxied`, where it advertises `kafka-proxy`: with a proxy between the two
(`infra.proxy`), clients of the proxy never reach the broker directly.
"""

REQUEST_S = 3.0
FORMAT_S = 60.0

_SHARED_PROPERTIES = Path(__file__).with_name("broker.properties")

_SERVER_PROPERTIES = """\
# Written by infra/kafka.py at every start.
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@{host}:{controller}
listeners=PLAINTEXT://{host}:{broker},PROXIED://{host}:{proxied},CONTROLLER://{host}:{controller}
advertised.listeners=PLAINTEXT://{host}:{broker},PROXIED://{host}:{proxy}
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,PROXIED:PLAINTEXT,CONTROLLER:PLAINTEXT
controller.listener.names=CONTROLLER
inter.broker.listener.name=PLAINTEXT
log.dirs={data}

# One broker can hold one replica.
default.replication.factor=1
min.insync.replicas=1
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
"""

_LOG4J = """\
# Written by infra/kafka.py: to standard output, which is the daemon's log file.
status = WARN
appender.out.type = Console
appender.out.name = out
appender.out.layout.type = PatternLayout
appender.out.layout.pattern = %d{ISO8601} %p %c{1}: %m%n
rootLogger.level = INFO
rootLogger.appenderRef.out.ref = out
"""


def component(layout: Layout, ports: Ports) -> Component:
    """Describe the broker for the given ports.

    Raises:
        InfraError: there is no Java.
    """
    port = ports["kafka"]
    broker = Daemon(
        name="kafka",
        command=(*_java(layout), "-Xms256m", "-Xmx512m", "kafka.Kafka", str(_properties(layout))),
        check=lambda started: check(port),
        start_s=60.0,
        stop_s=20.0,  # a clean stop flushes the log, which makes the next start faster
    )
    return Component("kafka", lambda: _prepare(layout, ports), ((broker,),))


def check(port: int) -> None:
    """Ask the broker for the cluster's members.

    Raises:
        NotReady: nothing answers, or the broker has not joined its cluster yet.
    """
    if not answers(port):
        text = f"nothing answers on port {port}"
        raise NotReady(text)
    quiet = logging.getLogger("kafka")
    level = quiet.level
    quiet.setLevel(logging.CRITICAL)  # a refused connection is expected, and no news for the user
    try:
        admin = KafkaAdminClient(
            bootstrap_servers=f"{HOST}:{port}",
            request_timeout_ms=int(REQUEST_S * 1000),
            bootstrap_timeout_ms=int(REQUEST_S * 1000),
        )
        try:
            members = admin.describe_cluster()["brokers"]
        finally:
            admin.close()
    except KafkaError as error:
        text = f"the broker on port {port} does not answer requests yet ({type(error).__name__})"
        raise NotReady(text) from error
    finally:
        quiet.setLevel(level)
    if not members:
        text = "the broker has not joined its cluster yet"
        raise NotReady(text)


def lagging(bootstrap: str) -> list[str]:
    """Return the partitions, as `topic/0`, with a replica that is not in sync.

    Args:
        bootstrap: `host:port` of brokers that answer.

    Raises:
        NotReady: they do not.
    """
    try:
        admin = KafkaAdminClient(bootstrap_servers=bootstrap.split(","))
        try:
            topics = admin.describe_topics()
        finally:
            admin.close()
    except KafkaError as error:
        text = f"the brokers at {bootstrap} do not tell of their topics ({type(error).__name__})"
        raise NotReady(text) from error
    return [
        f"{topic['name']}/{partition['partition_index']}"
        for topic in topics
        for partition in topic["partitions"]
        if set(partition["isr_nodes"]) != set(partition["replica_nodes"])
    ]


def _prepare(layout: Layout, ports: Ports) -> None:
    if not any(BROKER_JARS.glob("*.jar")):
        text = f"Kafka is not installed in {BROKER_JARS}; run `{SETUP}`"
        raise InfraError(text)
    data = layout.kafka / "data"
    data.mkdir(parents=True, exist_ok=True)
    own = _SERVER_PROPERTIES.format(
        host=HOST,
        broker=ports["kafka"],
        controller=ports["kafka-controller"],
        proxied=ports["kafka-proxied"],
        proxy=ports["kafka-proxy"],
        data=data,
    )
    _properties(layout).write_text(own + _SHARED_PROPERTIES.read_text())
    (layout.kafka / "log4j2.properties").write_text(_LOG4J)
    if not (data / "meta.properties").exists():
        _format_storage(layout)


def _format_storage(layout: Layout) -> None:
    """Format the empty log folder with a cluster id, which KRaft needs before the first start."""
    tool = (*_java(layout), "-Xmx128m", "kafka.tools.StorageTool", "format")
    command = [*tool, "-t", _cluster_id(), "-c", str(_properties(layout))]
    try:
        done = subprocess.run(
            command,
            env=shared_environment(layout),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=FORMAT_S,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        text = f"formatting Kafka's storage took more than {FORMAT_S:.0f} s; try again"
        raise InfraError(text) from error
    if done.returncode != 0:
        said = (done.stderr.strip() or done.stdout.strip()).splitlines()
        text = f"Kafka's storage in {layout.kafka} cannot be formatted: {said[-1] if said else '?'}"
        raise InfraError(text)


def _cluster_id() -> str:
    """Create an id in Kafka's format, without a leading dash, which would look like an option."""
    while True:
        text = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        if not text.startswith("-"):
            return text


def _java(layout: Layout) -> tuple[str, ...]:
    java = java_command()
    if java is None:
        text = "Java is missing: install 17 or newer, or set JAVA_HOME to one, then try again"
        raise InfraError(text)
    settings = f"-Dlog4j2.configurationFile={layout.kafka / 'log4j2.properties'}"
    return (java, settings, "-cp", f"{BROKER_JARS}/*")


def _properties(layout: Layout) -> Path:
    return layout.kafka / "server.properties"
