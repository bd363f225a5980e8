"""Permanent failures of Kafka's Java client, as one sentence.

A broker that is down is worth any number of restarts; a wrong password is worth none.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from infra.kafka_settings import KafkaSettings
from jobs.brokers.broker import BrokerError, await_broker

_TOPICS = re.compile(r"Not authorized to access topics: \[([^\]]+)\]")
_MARKS = re.compile(
    r"(SaslAuthenticationException|UnsupportedSaslMechanismException|IllegalSaslStateException"
    r"|TopicAuthorizationException|GroupAuthorizationException|ClusterAuthorizationException"
    r"|SslAuthenticationException|SSLHandshakeException|InvalidKeyException"
    r"|Not authorized to access topics|SSL handshake failed)"
)
_GROUP = re.compile(r"Not authorized to access group: (\S+)")


def refusal(text: str, settings: KafkaSettings, topics: Sequence[str]) -> str | None:
    """Return a sentence for a broker's rejection; None: the text contains none.

    Args:
        text: the message of the failed query, with its causes.
        settings: the job's settings for this broker.
        topics: the job's topics; the broker does not always name one.
    """
    mark = _MARKS.search(text)
    if mark is None:
        return None
    place, user = settings.bootstrap, settings.user
    if "TopicAuthorizationException" in text or _TOPICS.search(text):
        named = _TOPICS.search(text)
        topic = named.group(1) if named else ", ".join(topics)
        return (
            f"{user} may not read or describe topic {topic!r} on {place}: grant it with "
            f"`kafka-acls --add --allow-principal User:… --operation Read --operation Describe "
            f"--topic {topic}`, then submit the run again"
        )
    if group := _GROUP.search(text):
        return (
            f"{user} may not use the consumer group {group.group(1)} on {place}: grant it with "
            "`kafka-acls --add --allow-principal User:… --operation Read --group spark-kafka- "
            "--resource-pattern-type prefixed`, then submit the run again"
        )
    if "SaslAuthenticationException" in text:
        mechanism = settings.sasl.mechanism if settings.sasl else "no login"
        return (
            f"the Kafka broker on {place} does not accept the login of {user} ({mechanism}): "
            "correct username, password or mechanism, then submit the run again"
        )
    if "SaslMechanism" in text or "IllegalSaslState" in text:
        mechanism = settings.sasl.mechanism if settings.sasl else "no login"
        return (
            f"the Kafka broker on {place} does not offer {mechanism} there: name another "
            "mechanism, or another listener's port, then submit the run again"
        )
    if "SSL" in text or "Ssl" in text:
        return f"{_about_tls(settings)}; then submit the run again"
    return (
        f"{user} is not allowed what a reader of {place} does ({mark.group(1)}): "
        "grant Read and Describe on the topic, then submit the run again"
    )


def _about_tls(settings: KafkaSettings) -> str:
    """Say why a TLS handshake fails: Java hides the cause, so we try a handshake ourselves."""
    try:
        await_broker(settings.bootstrap)
    except BrokerError as error:
        return str(error)
    return (
        f"the Kafka broker on {settings.bootstrap} and Spark's client do not agree on TLS: look at "
        "`tls` of the Kafka settings, whose certificate must be PEM with a key of PKCS#8"
    )
