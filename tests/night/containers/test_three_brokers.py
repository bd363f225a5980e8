"""Three brokers, three replicas, two in sync: one may go at any moment, and nothing is lost."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from kafka import KafkaProducer
from kafka.admin import KafkaAdminClient
from kafka.errors import KafkaError

from infra.containers import boxes
from infra.containers.session import Session
from infra.endpoints import broker_name
from infra.ports import free_port
from tests.stack.containers.conftest import PATIENCE_S
from tests.stack.containers.streams import Steady, create, read_all

NODES = (1, 2, 3)


@dataclass(frozen=True)
class Brokers:
    """A cluster of three; `ports` by node."""

    session: Session
    ports: dict[int, int]

    @property
    def bootstrap(self) -> str:
        return ",".join(f"127.0.0.1:{port}" for port in self.ports.values())

    def kill(self, node: int) -> None:
        self.session.container(broker_name(node)).kill()

    def restart(self, node: int) -> None:
        """Stop a broker in good order, and start it again."""
        self.session.container(broker_name(node)).stop(timeout=60)
        self.session.container(broker_name(node)).start()

    def facts(self, topic: str) -> tuple[int, set[int]]:
        """The leader of the topic's partition, and who is in sync."""
        admin = KafkaAdminClient(bootstrap_servers=self.bootstrap)
        try:
            (described,) = admin.describe_topics([topic])
        finally:
            admin.close()
        (partition,) = described["partitions"]
        return int(partition["leader_id"]), set(partition["isr_nodes"])

    def coordinator(self, transactional_id: str) -> int:
        """The broker that decides the transactions of a producer."""
        # Kafka chooses the partition by the hash that Java has for strings.
        number = 0
        for letter in transactional_id:
            number = (31 * number + ord(letter)) & 0xFFFFFFFF
        admin = KafkaAdminClient(bootstrap_servers=self.bootstrap)
        try:
            (described,) = admin.describe_topics(["__transaction_state"])
        finally:
            admin.close()
        partitions = {one["partition_index"]: one for one in described["partitions"]}
        return int(partitions[(number & 0x7FFFFFFF) % len(partitions)]["leader_id"])

    def await_in_sync(self, topic: str) -> None:
        until_s = time.monotonic() + PATIENCE_S
        while True:
            try:
                if self.facts(topic)[1] == set(NODES):
                    return
            except KafkaError:
                pass  # whom we asked is on its way up
            assert time.monotonic() < until_s, "not all brokers are in sync again"
            time.sleep(0.5)


@pytest.fixture(scope="module")
def brokers(box_session: Session) -> Iterator[Brokers]:
    ports = {node: free_port() for node in NODES}
    for box in boxes.brokers({broker_name(node): port for node, port in ports.items()}):
        box_session.run(box)
    found = Brokers(box_session, ports)
    until_s = time.monotonic() + PATIENCE_S
    while True:
        try:
            create(found.bootstrap, "first", replicas=3)
            break
        except KafkaError:
            assert time.monotonic() < until_s, "the brokers do not answer"
            time.sleep(0.5)
    found.await_in_sync("first")
    yield found
    for node in NODES:
        box_session.remove(broker_name(node))


def transactional(brokers: Brokers, name: str) -> KafkaProducer:
    producer = KafkaProducer(
        bootstrap_servers=brokers.bootstrap,
        transactional_id=name,
        transaction_timeout_ms=120_000,
        request_timeout_ms=5_000,
    )
    producer.init_transactions()
    return producer


def test_the_leader_is_killed_in_the_middle_of_a_transaction(brokers: Brokers) -> None:
    # Whoever decides the transaction stays: kafka-python waits forever for one that died.
    topic = "transactions"
    create(brokers.bootstrap, topic, replicas=3)
    brokers.await_in_sync(topic)
    transactional(brokers, "the first makes the log of transactions").close()
    leader, _ = brokers.facts(topic)
    name = next(one for one in "abcdefghijkl" if brokers.coordinator(one) != leader)
    producer = transactional(brokers, name)
    expected: list[int] = []
    killed = 0
    for transaction in range(8):
        numbers = range(transaction * 200, transaction * 200 + 200)
        producer.begin_transaction()
        victim, in_sync = brokers.facts(topic)
        assert in_sync == set(NODES)
        strikes = transaction % 4 in (1, 2) and victim != brokers.coordinator(name)
        for place, number in enumerate(numbers):
            producer.send(topic, str(number).encode(), partition=0)
            if place == 100 and strikes:
                producer.flush()
                brokers.kill(victim)
        if transaction % 4 == 2:
            producer.abort_transaction()
        else:
            producer.commit_transaction()
            expected += numbers
        if strikes:
            assert brokers.facts(topic)[0] != victim
            brokers.session.container(broker_name(victim)).start()
            brokers.await_in_sync(topic)
            killed += 1
    producer.close()
    assert killed
    assert list(read_all(brokers.bootstrap, topic)) == expected


def test_a_rolling_restart_under_load_loses_and_doubles_nothing(brokers: Brokers) -> None:
    topic = "rolling"
    create(brokers.bootstrap, topic, replicas=3)
    brokers.await_in_sync(topic)
    with Steady(brokers.bootstrap, topic) as producer:
        for node in NODES:
            before = producer.sent
            brokers.restart(node)
            brokers.await_in_sync(topic)
            assert producer.sent > before
    assert list(read_all(brokers.bootstrap, topic)) == list(range(producer.sent))
