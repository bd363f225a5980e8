"""Ids and settings of topics, read from the broker and changed."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kafka.admin import ConfigResource, ConfigResourceType

from jobs.brokers.broker import BrokerError, described, refusals
from jobs.brokers.broker import admin as admin_client
from jobs.brokers.topics import TopicError

if TYPE_CHECKING:
    from windowing.model import Pipeline

_GONE_S = 30.0
"""How long a broker may take to carry out a change of a topic."""


@contextlib.contextmanager
def asking(bootstrap: str, doing: str, topic: str) -> Iterator[Any]:
    """Provide an admin client for a block, and convert its exceptions to one sentence.

    Args:
        doing: the operation, as named in ACLs.

    Raises:
        BrokerError: no broker answers, or it refuses.
    """
    with refusals(bootstrap, doing, topic), closing(admin_client(bootstrap)) as admin:
        yield admin


def ids_of(admin: Any, names: list[str]) -> dict[str, str]:
    """Return the ids of topics by name; a recreated topic has another one.

    Raises:
        TopicError: a topic does not exist.
        TopicAuthorizationFailedError: we lack the right to describe it.
    """
    found = described(admin, names)
    for name in names:
        if name not in found:
            msg = (
                f"topic {name!r} does not exist: if it was deleted, the run cannot go on; create "
                "it with `slackwater topics PIPELINE.yml` and start a new run"
            )
            raise TopicError(msg)
    return {name: str(found[name]["topic_id"]) for name in names}


@dataclass(frozen=True)
class Settings:
    """How the broker keeps a topic; None: we may not read its settings.

    Attributes:
        compacted: whether it drops records that have a newer one with the same key.
        record_bytes_max: how many bytes a record may have, compressed as it was sent.
        appended_at: whether records have the broker's own append time.
    """

    compacted: bool | None
    record_bytes_max: int | None
    appended_at: bool | None = None


def settings_of(admin: Any, names: list[str]) -> dict[str, Settings]:
    """Return how the broker keeps topics, by name."""
    resources = [ConfigResource(ConfigResourceType.TOPIC, name) for name in names]
    configs = admin.describe_configs(resources, config_filter="all")["topic"]
    return {name: _settings(configs[name]) for name in names}


def _settings(config: Mapping[str, Mapping[str, Any]]) -> Settings:
    # The broker omits what we may not see.
    policy = config.get("cleanup.policy", {}).get("value")
    size = config.get("max.message.bytes", {}).get("value")
    clock = config.get("message.timestamp.type", {}).get("value")
    return Settings(
        policy and "compact" in policy.split(","),
        size and int(size),
        clock and clock == "LogAppendTime",
    )


def without_append_times(bootstrap: str, pipeline: Pipeline) -> list[str]:
    """Return the topics for which a pipeline has a `max_ahead` that cannot be judged.

    Raises:
        BrokerError: no broker answers.
    """
    names = [p.topic for p in pipeline.source.parts if p.event_time.max_ahead_us is not None]
    if not names:
        return []
    with asking(bootstrap, "describeConfigs", ", ".join(names)) as admin:
        there = [name for name in names if name in described(admin, names)]
        found = settings_of(admin, there) if there else {}
    return [name for name, settings in found.items() if settings.appended_at is False]


def topic_id(bootstrap: str, name: str) -> str:
    """Return the id of a topic.

    Raises:
        BrokerError: no broker answers.
        TopicError: the topic does not exist.
    """
    with asking(bootstrap, "describe", name) as admin:
        return ids_of(admin, [name])[name]


def delete_topic(bootstrap: str, name: str) -> None:
    """Delete a topic, and wait until the broker no longer knows it.

    Raises:
        BrokerError: no broker answers, or it keeps the topic.
    """
    with asking(bootstrap, "delete", name) as admin:
        admin.delete_topics([name])
        until_s = time.monotonic() + _GONE_S
        while name in admin.list_topics():
            if time.monotonic() > until_s:
                msg = f"topic {name!r} was deleted, and the broker still lists it"
                raise BrokerError(msg)
            time.sleep(0.1)


def clean_by(bootstrap: str, name: str, policy: str) -> None:
    """Set a topic's `cleanup.policy`, and wait until the broker reports it.

    Raises:
        BrokerError: no broker answers, or it keeps the policy.
    """
    with asking(bootstrap, "alterConfigs", name) as admin:
        configs = {"cleanup.policy": policy}
        admin.alter_configs([ConfigResource(ConfigResourceType.TOPIC, name, configs=configs)])
        until_s = time.monotonic() + _GONE_S
        while settings_of(admin, [name])[name].compacted != ("compact" in policy):
            if time.monotonic() > until_s:
                msg = f"topic {name!r} keeps its cleanup.policy, which should be {policy}"
                raise BrokerError(msg)
            time.sleep(0.1)
