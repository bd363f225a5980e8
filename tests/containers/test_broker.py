"""A producer that goes on while its broker is frozen, off the network, and killed."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest
from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import KafkaAdminClient, NewTopic

from chaos.faults.broker import KillBroker, PauseBroker
from chaos.faults.contained import ContainerReach
from chaos.faults.fault import Attack, Scene
from chaos.faults.isolation import DisconnectBroker, LosePackets
from infra.containers.stack import ContainerStack
from tests.containers.scenes import scene_on

pytestmark = pytest.mark.containers

TOPIC = "endurance"


class Steady:
    """Sends numbers, one after another, until it is told to stop; none may be lost or doubled."""

    def __init__(self, bootstrap: str) -> None:
        self._producer = KafkaProducer(
            bootstrap_servers=bootstrap,
            acks="all",
            enable_idempotence=True,
            request_timeout_ms=5_000,
            delivery_timeout_ms=120_000,
        )
        self.sent = 0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._send)

    def __enter__(self) -> Steady:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._over.set()
        self._thread.join()
        self._producer.flush(timeout=120)
        self._producer.close()

    def _send(self) -> None:
        while not self._over.wait(0.005):
            self._producer.send(TOPIC, str(self.sent).encode(), partition=0)
            self.sent += 1


def read_all(bootstrap: str) -> Iterator[int]:
    consumer = KafkaConsumer(
        bootstrap_servers=bootstrap, enable_auto_commit=False, isolation_level="read_committed"
    )
    place = TopicPartition(TOPIC, 0)
    consumer.assign([place])
    consumer.seek_to_beginning(place)
    end = consumer.end_offsets([place])[place]
    while consumer.position(place) < end:
        for records in consumer.poll(timeout_ms=1000).values():
            yield from (int(record.value) for record in records)
    consumer.close()


@pytest.fixture
def scene(cluster: ContainerStack) -> Scene:
    return scene_on(cluster)


def test_nothing_is_lost_or_doubled_while_the_broker_is_hurt(
    cluster: ContainerStack, scene: Scene
) -> None:
    bootstrap = cluster.endpoints.kafka_bootstrap
    admin = KafkaAdminClient(bootstrap_servers=bootstrap)
    admin.create_topics([NewTopic(TOPIC, 1, 1)])
    admin.close()
    attacks: list[Attack] = [
        PauseBroker(hold_s=3),
        DisconnectBroker(hold_s=3),
        LosePackets(share=0.3, hold_s=5),
        KillBroker(hold_s=1),
    ]
    told = []
    with Steady(bootstrap) as producer:
        for attack in attacks:
            before = producer.sent
            told.append(attack.inject(scene))
            threading.Event().wait(attack.hold_s)
            told.append(attack.heal(scene))
            assert producer.sent > before
    assert list(read_all(bootstrap)) == list(range(producer.sent))
    assert [said for said in told if "container kafka" in said] == [
        "the broker, container kafka is paused, and a request stays unanswered",
        "the broker answers again, container kafka goes on",
        "the broker, container kafka is off its network, and a request stays unanswered",
        "the broker answers again, container kafka is on its network again",
        "the broker, container kafka loses 30% of what comes in",
        "the broker, container kafka is gone, nothing answers on its port",
    ]


def test_a_container_that_is_gone_cannot_be_hurt(cluster: ContainerStack) -> None:
    reach = ContainerReach(cluster)
    victim = reach.daemon("spark-worker-2")
    reach.kill(victim)
    cluster.restart("spark")
    assert not reach.is_alive(victim)
    assert reach.resume(victim) == "container spark-worker-2 is gone meanwhile"
    assert reach.is_alive(reach.daemon("spark-worker-2"))
