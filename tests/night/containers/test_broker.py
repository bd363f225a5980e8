"""A producer that goes on while its broker is frozen, off the network, and killed."""

from __future__ import annotations

import random
import time
from pathlib import Path

import pytest

from chaos.control.containers import ContainerNodeControl
from chaos.faults.broker import KillBroker, PauseBroker
from chaos.faults.fault import Fault, FaultContext
from chaos.faults.isolation import DisconnectBroker, LosePackets
from infra.containers.boxes import INTERNAL
from infra.containers.stack import ContainerStack
from tests.stack.containers.streams import Steady, create, end_of, read_all
from windowing.model import load_pipeline

PIPELINE = Path(__file__).parents[3] / "pipelines" / "flight_delays.yml"


def context_on(cluster: ContainerStack) -> FaultContext:
    """A context without a job, for faults of the stack alone."""

    def no_job() -> None:
        msg = "this context has no job"
        raise AssertionError(msg)

    return FaultContext(
        endpoints=cluster.endpoints,
        pipeline=load_pipeline(PIPELINE),
        topic="none",
        checkpoint=cluster.layout.state_dir / "none",
        nodes=ContainerNodeControl(cluster),
        rng=random.Random(1),
        stop_job=no_job,
        submit_job=no_job,
        restart=cluster.restart,
    )


TOPIC = "endurance"


@pytest.fixture
def context(cluster: ContainerStack) -> FaultContext:
    return context_on(cluster)


def test_nothing_is_lost_or_duplicated_during_faults_of_the_broker(
    cluster: ContainerStack, context: FaultContext
) -> None:
    bootstrap = cluster.endpoints.kafka_bootstrap
    create(bootstrap, TOPIC)
    attacks: list[Fault] = [
        PauseBroker(hold_s=3),
        DisconnectBroker(hold_s=3),
        LosePackets(share=0.3, hold_s=5),
        KillBroker(hold_s=1),
    ]
    told = []
    with Steady(bootstrap, TOPIC) as producer:
        for attack in attacks:
            before = producer.sent
            told.append(attack.inject(context))
            time.sleep(attack.hold_s)  # that long it lasts
            told.append(attack.heal(context))
            assert producer.sent > before
    assert list(read_all(bootstrap, TOPIC)) == list(range(producer.sent))
    assert [said for said in told if "container kafka" in said] == [
        "the broker, container kafka is paused, and a request stays unanswered",
        "the broker answers again, container kafka goes on",
        "the broker, container kafka is off its network, and a request stays unanswered",
        "the broker answers again, container kafka is on its network again",
        "the broker, container kafka loses 30% of what comes in",
        "the broker, container kafka is gone, nothing answers on its port",
    ]


@pytest.mark.parametrize("codec", ["gzip", "lz4", "snappy", "zstd"])
def test_records_of_every_compression_are_taken(cluster: ContainerStack, codec: str) -> None:
    """A broker unpacks what it takes, to see that it is whole: by libraries of its own."""
    topic = f"compressed-{codec}"
    create(cluster.endpoints.kafka_bootstrap, topic)
    producer = "org.apache.kafka.tools.ConsoleProducer"
    java = f"java -Xmx64m -Djava.io.tmpdir=/kafka -cp '/opt/kafka/libs/*' {producer}"
    to = f"--bootstrap-server kafka:{INTERNAL} --topic {topic} --compression-codec {codec}"
    command = ["sh", "-c", f"seq 100 | {java} {to}"]
    _, told = cluster.session.container("kafka").exec_run(command)
    assert end_of(cluster.endpoints.kafka_bootstrap, topic) == 100, told.decode()


def test_no_fault_applies_to_a_container_that_is_gone(cluster: ContainerStack) -> None:
    nodes = ContainerNodeControl(cluster)
    victim = nodes.daemon("spark-worker-2")
    nodes.kill(victim)
    cluster.restart("spark")
    assert not nodes.is_alive(victim)
    assert nodes.resume(victim) == "container spark-worker-2 is gone meanwhile"
    assert nodes.is_alive(nodes.daemon("spark-worker-2"))
