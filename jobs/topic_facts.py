"""What the broker says of the topics of a run: their ids, their ends, and how they are cleaned."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from contextlib import closing
from typing import Any

from kafka import KafkaAdminClient, TopicPartition
from kafka.admin import ConfigResource, ConfigResourceType
from kafka.errors import KafkaError, UnknownTopicOrPartitionError

from jobs.agreement import Topic
from jobs.topics import BrokerError, TopicError, await_broker, broker_error, reader
from windowing.spec.source import Source

_PATIENCE_S = 120.0
"""How long a batch waits for a broker that must say which topic it has read: as long as a killed
broker needs to come back, by far."""

_GONE_S = 30.0
"""How long a broker may take to carry out what it was told about a topic."""


def topics_of(bootstrap: str, source: Source) -> dict[str, Topic]:
    """The topics of a source as they stand on the broker, by name.

    Raises:
        BrokerError: no broker answers.
        TopicError: a topic does not exist.
    """
    with _asking(bootstrap) as admin, closing(reader(bootstrap)) as consumer:
        names = [part.topic for part in source.parts]
        ids, compacted = _ids(admin, names), _compacted(admin, names)
        return {name: _topic(consumer, name, ids[name], compacted[name]) for name in names}


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


def topic_id(bootstrap: str, name: str) -> str:
    """The id of a topic.

    Raises:
        BrokerError: no broker answers.
        TopicError: the topic does not exist.
    """
    with _asking(bootstrap) as admin:
        return _ids(admin, [name])[name]


def delete_topic(bootstrap: str, name: str) -> None:
    """Delete a topic, and wait until the broker knows it no more.

    Raises:
        BrokerError: no broker answers, or it keeps the topic.
    """
    with _asking(bootstrap) as admin:
        admin.delete_topics([name])
        until_s = time.monotonic() + _GONE_S
        while name in admin.list_topics():
            if time.monotonic() > until_s:
                msg = f"topic {name!r} was deleted, and the broker still lists it"
                raise BrokerError(msg)
            time.sleep(0.1)


def clean_by(bootstrap: str, name: str, policy: str) -> None:
    """Set a topic's `cleanup.policy`, and wait until the broker says so.

    Raises:
        BrokerError: no broker answers, or it keeps the policy.
    """
    with _asking(bootstrap) as admin:
        configs = {"cleanup.policy": policy}
        admin.alter_configs([ConfigResource(ConfigResourceType.TOPIC, name, configs=configs)])
        until_s = time.monotonic() + _GONE_S
        while _compacted(admin, [name])[name] != ("compact" in policy):
            if time.monotonic() > until_s:
                msg = f"topic {name!r} keeps its cleanup.policy, which should be {policy}"
                raise BrokerError(msg)
            time.sleep(0.1)


@contextlib.contextmanager
def _asking(bootstrap: str) -> Iterator[Any]:
    """A client, and one sentence for what it raises."""
    try:
        with closing(_admin(bootstrap)) as admin:
            yield admin
    except KafkaError as error:
        raise broker_error(bootstrap, error) from error
