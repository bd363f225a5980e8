"""What a Java client of Kafka died of, where a restart would die of it again, as one sentence.

A broker that is down is worth every restart; a password that is wrong is worth none.
"""

from __future__ import annotations

import re

from infra.kafka_settings import KafkaSettings

_TOPICS = re.compile(r"Not authorized to access topics: \[([^\]]+)\]")
_MARKS = re.compile(
    r"(SaslAuthenticationException|UnsupportedSaslMechanismException|IllegalSaslStateException"
    r"|TopicAuthorizationException|GroupAuthorizationException|ClusterAuthorizationException"
    r"|SslAuthenticationException|SSLHandshakeException|InvalidKeyException"
    r"|Not authorized to access topics|SSL handshake failed)"
)
_OTHER_NAME = re.compile(r"No (?:subject alternative|name matching) [^\n]*|doesn't match")
_UNTRUSTED = re.compile(r"PKIX path [^\n]*|unable to find valid certification path")
_GROUP = re.compile(r"Not authorized to access group: (\S+)")


def refusal(text: str, settings: KafkaSettings) -> str | None:
    """One sentence for a refusal by a broker; None where the text tells of none.

    Args:
        text: the message of the failed query, with its causes.
        settings: by which the job reached the broker.
    """
    mark = _MARKS.search(text)
    if mark is None:
        return None
    place, user = settings.bootstrap, settings.user
    if other := _OTHER_NAME.search(text):
        return (
            f"the certificate of the Kafka broker on {place} does not name it "
            f"({other.group().strip()}): call the broker by a name that it has, or give it a "
            "certificate for this one, then submit the run again"
        )
    if "SSL" in text and _UNTRUSTED.search(text):
        signer = (settings.tls.ca if settings.tls else None) or "the system's certificates"
        return (
            f"the certificate of the Kafka broker on {place} is not trusted: `tls.ca` must name "
            f"who signed it, now {signer}; then submit the run again"
        )
    if topics := _TOPICS.search(text):
        return (
            f"{user} may not read or describe topic {topics.group(1)!r} on {place}: grant it with "
            f"`kafka-acls --add --allow-principal User:… --operation Read --operation Describe "
            f"--topic {topics.group(1)}`, then submit the run again"
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
        return (
            f"the Kafka broker on {place} and {user} do not agree on TLS: look at `tls` of the "
            "Kafka settings and at the port, then submit the run again"
        )
    return (
        f"{user} is not allowed what a reader of {place} does ({mark.group(1)}): "
        "grant Read and Describe on the topic, then submit the run again"
    )
