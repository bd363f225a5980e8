"""Numbers sent to a topic and read back, none of which a faulty broker may lose or duplicate."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import KafkaAdminClient, NewTopic


def create(bootstrap: str, topic: str, replicas: int = 1) -> None:
    """Make a topic of one partition."""
    admin = KafkaAdminClient(bootstrap_servers=bootstrap)
    admin.create_topics([NewTopic(topic, 1, replicas)])
    admin.close()


class Steady:
    """Sends numbers, one after another, until it is told to stop; none may be lost or doubled.

    It has begun when the first one is confirmed: a producer that never got its number is another
    matter.
    """

    def __init__(self, bootstrap: str, topic: str) -> None:
        self._producer = KafkaProducer(
            bootstrap_servers=bootstrap,
            acks="all",
            enable_idempotence=True,
            request_timeout_ms=5_000,
            delivery_timeout_ms=120_000,
        )
        self._topic = topic
        self.sent = 0
        self._refused: list[Exception] = []
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._go_on)

    def __enter__(self) -> Steady:
        self._send().get(timeout=60)
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._over.set()
        self._thread.join()
        self._producer.flush(timeout=120)
        self._producer.close()
        assert not self._refused, self._refused[0]

    def _go_on(self) -> None:
        while not self._over.wait(0.005):
            self._send().add_errback(self._refused.append)

    def _send(self) -> Any:
        future = self._producer.send(self._topic, str(self.sent).encode(), partition=0)
        self.sent += 1
        return future


def end_of(bootstrap: str, topic: str) -> int:
    """The offset that the next record of a topic's one partition gets."""
    consumer = KafkaConsumer(bootstrap_servers=bootstrap)
    place = TopicPartition(topic, 0)
    end: int = consumer.end_offsets([place])[place]
    consumer.close()
    return end


def read_all(bootstrap: str, topic: str) -> Iterator[int]:
    """Every number that is committed, in order."""
    consumer = KafkaConsumer(
        bootstrap_servers=bootstrap, enable_auto_commit=False, isolation_level="read_committed"
    )
    place = TopicPartition(topic, 0)
    consumer.assign([place])
    consumer.seek_to_beginning(place)
    end = consumer.end_offsets([place])[place]
    while consumer.position(place) < end:
        for records in consumer.poll(timeout_ms=1000).values():
            yield from (int(record.value) for record in records)
    consumer.close()
