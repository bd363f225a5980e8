"""Facts from the broker about a run's topics: ids, ends and settings."""

from __future__ import annotations

import contextlib
import time
from contextlib import closing
from typing import Any

from kafka import TopicPartition
from kafka.errors import AuthorizationError, KafkaError

from jobs.brokers.broker import BrokerError, BrokerRefusal, broker_error
from jobs.brokers.broker import admin as admin_client
from jobs.brokers.broker import consumer as make_consumer
from jobs.brokers.topic_admin import Settings, asking, ids_of, settings_of
from jobs.checkpoints.agreement import Topic
from windowing.model.source import Source

_PATIENCE_S = 120.0
"""How long a batch waits for the broker to identify its topic: far longer than a killed
broker takes to restart."""


def topics_of(bootstrap: str, source: Source) -> dict[str, Topic]:
    """Return the topics of a source on the broker, by name.

    Raises:
        BrokerError: no broker answers.
        TopicError: a topic does not exist.
    """
    names = [part.topic for part in source.parts]
    asked = asking(bootstrap, "describe", ", ".join(names))
    with asked as admin, closing(make_consumer(bootstrap)) as consumer:
        ids, settings = ids_of(admin, names), settings_of(admin, names)
        return {name: _topic(consumer, name, ids[name], settings[name]) for name in names}


class TopicIds:
    """Looks up the ids of topics repeatedly, over one connection.

    Args:
        source: the source whose topics to look up.
    """

    def __init__(self, bootstrap: str, source: Source) -> None:
        self._bootstrap = bootstrap
        self._names = [part.topic for part in source.parts]
        self._client: Any = None

    def __call__(self) -> dict[str, str]:
        """Return the current ids by name; wait for an unavailable broker.

        Raises:
            BrokerError: no broker answers for a long time, or it rejects the request.
            TopicError: a topic does not exist.
        """
        until_s = time.monotonic() + _PATIENCE_S
        while True:
            try:
                self._client = self._client or admin_client(self._bootstrap)
                return ids_of(self._client, self._names)
            except BrokerRefusal:
                self.close()
                raise
            except (KafkaError, OSError, BrokerError) as error:
                self.close()
                if isinstance(error, AuthorizationError):
                    raise self._said(error) from error
                if time.monotonic() > until_s:
                    if isinstance(error, BrokerError):
                        raise
                    raise self._said(error) from error
                time.sleep(1.0)

    def _said(self, error: Exception) -> BrokerError:
        return broker_error(self._bootstrap, error, "describe", ", ".join(self._names))

    def close(self) -> None:
        """Close the connection."""
        if self._client is not None:
            with contextlib.suppress(KafkaError, OSError):
                self._client.close()
            self._client = None


def _topic(consumer: Any, name: str, topic_id: str, settings: Settings) -> Topic:
    numbers = consumer.partitions_for_topic(name) or ()
    lanes = [TopicPartition(name, number) for number in sorted(numbers)]
    begins, ends = consumer.beginning_offsets(lanes), consumer.end_offsets(lanes)
    return Topic(
        topic_id,
        {lane.partition: int(begins[lane]) for lane in lanes},
        {lane.partition: int(ends[lane]) for lane in lanes},
        settings.compacted,
        settings.record_bytes_max,
    )
