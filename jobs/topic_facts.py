"""What the broker says of the topics of a run: their ids, their ends, and how they are cleaned."""

from __future__ import annotations

import contextlib
import time
from contextlib import closing
from typing import Any

from kafka import KafkaAdminClient, TopicPartition
from kafka.admin import ConfigResource, ConfigResourceType
from kafka.errors import KafkaError, UnknownTopicOrPartitionError

from jobs.agreement import Topic
from jobs.topics import TopicError, await_broker, broker_error, reader
from windowing.spec.source import Source

_PATIENCE_S = 120.0
"""How long a batch waits for a broker that must say which topic it has read: as long as a killed
broker needs to come back, by far."""


def topics_of(bootstrap: str, source: Source) -> dict[str, Topic]:
    """The topics of a source as they stand on the broker, by name.

    Raises:
        BrokerError: no broker answers.
        TopicError: a topic does not exist.
    """
    try:
        with closing(_admin(bootstrap)) as admin, closing(reader(bootstrap)) as consumer:
            names = [part.topic for part in source.parts]
            ids, compacted = _ids(admin, names), _compacted(admin, names)
            return {name: _topic(consumer, name, ids[name], compacted[name]) for name in names}
    except KafkaError as error:
        raise broker_error(bootstrap, error) from error


class TopicIds:
    """Asks for the ids of topics again and again, over one connection.

    Args:
        bootstrap: of the broker.
        source: whose topics.
    """

    def __init__(self, bootstrap: str, source: Source) -> None:
        self._bootstrap = bootstrap
        self._names = [part.topic for part in source.parts]
        self._client: Any = None

    def __call__(self) -> dict[str, str]:
        """The ids by name, as they are now; waits for a broker that is away.

        Raises:
            BrokerError: no broker answers for long.
            TopicError: a topic does not exist.
        """
        until_s = time.monotonic() + _PATIENCE_S
        while True:
            try:
                self._client = self._client or _admin(self._bootstrap)
                return _ids(self._client, self._names)
            except (KafkaError, OSError) as error:
                self.close()
                if time.monotonic() > until_s:
                    raise broker_error(self._bootstrap, error) from error
                time.sleep(1.0)

    def close(self) -> None:
        """Let the connection go."""
        if self._client is not None:
            with contextlib.suppress(KafkaError, OSError):
                self._client.close()
            self._client = None


def _admin(bootstrap: str) -> Any:
    return KafkaAdminClient(bootstrap_servers=await_broker(bootstrap))


def _ids(admin: Any, names: list[str]) -> dict[str, str]:
    try:
        described = {topic["name"]: topic for topic in admin.describe_topics(names)}
    except UnknownTopicOrPartitionError:
        described = {}
    for name in names:
        if not described.get(name, {}).get("partitions"):
            msg = (
                f"topic {name!r} does not exist: if it was deleted, the run cannot go on; create "
                "it with `slackwater topics PIPELINE.yml` and start a new run"
            )
            raise TopicError(msg)
    return {name: str(described[name]["topic_id"]) for name in names}


def _compacted(admin: Any, names: list[str]) -> dict[str, bool]:
    resources = [ConfigResource(ConfigResourceType.TOPIC, name) for name in names]
    described = admin.describe_configs(resources, config_filter="all")["topic"]
    policies = {name: described[name]["cleanup.policy"]["value"] for name in names}
    return {name: "compact" in policy.split(",") for name, policy in policies.items()}


def _topic(consumer: Any, name: str, topic_id: str, compacted: bool) -> Topic:
    numbers = consumer.partitions_for_topic(name) or ()
    lanes = [TopicPartition(name, number) for number in sorted(numbers)]
    begins, ends = consumer.beginning_offsets(lanes), consumer.end_offsets(lanes)
    return Topic(
        topic_id,
        {lane.partition: int(begins[lane]) for lane in lanes},
        {lane.partition: int(ends[lane]) for lane in lanes},
        compacted,
    )
