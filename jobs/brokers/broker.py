"""Our Kafka clients, created in one place: login, TLS, and failures as one sentence.

Kafka's own errors seldom say which user lacks which right; these do, with the remedy.
"""

from __future__ import annotations

import re
import socket
import ssl
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from kafka import KafkaConsumer, KafkaProducer
from kafka.admin import KafkaAdminClient
from kafka.errors import (
    AuthorizationError,
    IllegalSaslStateError,
    KafkaConnectionError,
    KafkaError,
    KafkaTimeoutError,
    SaslAuthenticationFailedError,
    TopicAuthorizationFailedError,
    UnknownTopicOrPartitionError,
    UnsupportedSaslMechanismError,
)

from infra.errors import InfraError
from infra.kafka_settings import KafkaSettings, Tls, settings_for
from infra.kafka_spelling import for_python
from infra.redacted import shown
from jobs.brokers.login import log_in

BOOTSTRAP_S = 10.0
"""How long to wait for a broker, in seconds: a killed one is back within six."""

_CONNECT_S = 5.0

_IDEMPOTENT = re.compile(r"InitProducerId.*ClusterAuthorizationFailed")


class BrokerError(RuntimeError):
    """A broker that does not answer, or rejects the request."""

    exit_code = 1


class AddressError(BrokerError):
    """An invalid broker address."""

    exit_code = 2


class BrokerRefusal(BrokerError):
    """A permanent rejection: a login, a certificate, a missing right."""


def consumer(bootstrap: str, **options: Any) -> Any:
    """Return a consumer of committed records that joins no group and commits nothing.

    Args:
        options: further options of kafka-python.

    Raises:
        BrokerError: no broker answers, or it refuses.
    """
    options |= {
        "isolation_level": "read_committed",
        "group_id": None,
        "enable_auto_commit": False,
        "allow_auto_create_topics": False,
    }
    return _client(KafkaConsumer, bootstrap, options)


def producer(bootstrap: str, **options: Any) -> Any:
    """Return a producer.

    Raises:
        BrokerError: no broker answers, or it refuses.
    """
    return _client(KafkaProducer, bootstrap, options)


def admin(bootstrap: str, **options: Any) -> Any:
    """Return an admin client.

    Raises:
        BrokerError: no broker answers, or it refuses.
    """
    return _client(KafkaAdminClient, bootstrap, options)


def described(client: Any, names: list[str]) -> dict[str, Any]:
    """Return what an admin client says about topics, by name; nonexistent ones are missing.

    Raises:
        TopicAuthorizationFailedError: we may not see it, which kafka-python reports as a topic
            without partitions.
    """
    try:
        found = {topic["name"]: topic for topic in client.describe_topics(names)}
    except UnknownTopicOrPartitionError:
        return {}
    for name, topic in found.items():
        if topic.get("error_code") == TopicAuthorizationFailedError.errno:
            raise TopicAuthorizationFailedError(name)
    return {name: topic for name, topic in found.items() if topic["partitions"]}


def _client(kind: Any, bootstrap: str, options: dict[str, Any]) -> Any:
    await_broker(bootstrap)
    with refusals(bootstrap, "connect"):
        try:
            given = for_python(settings_for(bootstrap), kind.DEFAULT_CONFIG)
        except InfraError as error:
            raise BrokerRefusal(str(error)) from error
        # Options that results depend on go first: settings cannot name them anyway.
        return kind(**{**given, **options})


def await_broker(bootstrap: str) -> str:
    """Return `bootstrap` as soon as one of its addresses takes a connection, and TLS if wanted.

    Call it before creating a client: when its constructor fails, a client of kafka-python leaves a
    thread behind that retries forever, and it does not distinguish a wrong certificate from
    silence.

    Raises:
        BrokerError: not a list of `host:port`, no answer within `BOOTSTRAP_S`, or one side does not
            trust the other's certificate.
    """
    until_s = time.monotonic() + BOOTSTRAP_S
    addresses = [_address(bootstrap, one) for one in bootstrap.split(",")]
    try:
        settings = settings_for(bootstrap)
    except InfraError as error:
        raise BrokerRefusal(str(error)) from error
    context = None if settings.tls is None else _context(settings.tls)
    while True:
        for address in addresses:
            try:
                with refusals(bootstrap, "connect"):
                    _try(address, settings, context)
            except ssl.SSLError as error:
                raise BrokerRefusal(_tls_refusal(settings, address, error)) from error
            except OSError as error:
                refused = error
            except InfraError as error:
                raise BrokerRefusal(str(error)) from error
            else:
                return bootstrap
        if time.monotonic() > until_s:
            raise BrokerError(
                f"no Kafka broker answers on {bootstrap} ({refused.strerror or refused}): start "
                "one with `slackwater up`, or correct the address"
            )
        time.sleep(0.2)


def _try(address: tuple[str, int], settings: KafkaSettings, context: ssl.SSLContext | None) -> None:
    """Connect once, including any login; without TLS and login, an open port is enough."""
    with socket.create_connection(address, timeout=_CONNECT_S) as plain:
        if context is not None:
            with context.wrap_socket(plain, server_hostname=address[0]) as wrapped:
                log_in(wrapped, address[0], settings)
        elif settings.sasl is not None:
            log_in(plain, address[0], settings)


def _context(tls: Tls) -> ssl.SSLContext:
    """Build the TLS context of a connection as kafka-python does.

    Raises:
        BrokerError: a file is not a certificate, or its key cannot be opened.
    """
    try:
        context = ssl.create_default_context(cafile=str(tls.ca) if tls.ca else None)
        context.check_hostname = tls.check_hostname
        if tls.certificate is not None:
            # OpenSSL would ask for the password on a terminal; a tool without one would wait
            # forever.
            context.load_cert_chain(str(tls.certificate), password=tls.secret() or "")
    except (ssl.SSLError, OSError, ValueError) as error:
        msg = (
            f"the certificates of {tls.certificate or tls.ca} cannot be used ({_reason(error)}): "
            "they must be PEM, with chain and key in one file, and the key's password right"
        )
        raise BrokerRefusal(msg) from error
    except InfraError as error:
        raise BrokerRefusal(str(error)) from error
    return context


def _tls_refusal(settings: KafkaSettings, address: tuple[str, int], error: ssl.SSLError) -> str:
    host, port = address
    place = f"{host}:{port}"
    said = _reason(error)
    if isinstance(error, ssl.SSLCertVerificationError):
        if "ostname mismatch" in said or "IP address mismatch" in said:
            return (
                f"the certificate of the Kafka broker on {place} does not name {host}: call the "
                "broker by a name that it has, or give it a certificate for this one"
            )
        signer = (settings.tls.ca if settings.tls else None) or "the system's certificates"
        return (
            f"the certificate of the Kafka broker on {place} is not trusted ({said}): `tls.ca` "
            f"must name who signed it, now {signer}"
        )
    # The last of these is what Python says before 3.11.4.
    if any(one in str(error) for one in ("WRONG_VERSION_NUMBER", "UNEXPECTED_EOF", "closed (EOF)")):
        return (
            f"the Kafka broker on {place} does not speak TLS there ({said}): leave `tls` out, or "
            "name the port of its TLS listener"
        )
    return (
        f"the Kafka broker on {place} refuses the TLS connection of {settings.user} ({said}): it "
        "may want a certificate that it trusts, `tls.certificate`"
    )


@contextmanager
def refusals(bootstrap: str, doing: str, topic: str = "") -> Iterator[None]:
    """Convert a client's exceptions to one sentence that names user, right and topic.

    Args:
        doing: the operation, as named in ACLs: `describe`, `read`, `write`, `create`, `alter`.
    """
    try:
        yield
    except KafkaError as error:
        raise broker_error(bootstrap, error, doing, topic) from error


def broker_error(bootstrap: str, error: Exception, doing: str = "", topic: str = "") -> BrokerError:
    """Convert a Kafka client's exception to one sentence with a hint.

    Args:
        doing: the operation, as named in ACLs.
    """
    settings = settings_for(bootstrap)
    if isinstance(error, SaslAuthenticationFailedError):
        mechanism = settings.sasl.mechanism if settings.sasl else "no login"
        return BrokerRefusal(
            f"the Kafka broker on {bootstrap} does not accept the login of {settings.user} "
            f"({mechanism}): correct username, password or mechanism of the Kafka settings"
        )
    if isinstance(error, UnsupportedSaslMechanismError | IllegalSaslStateError):
        mechanism = settings.sasl.mechanism if settings.sasl else "no login"
        return BrokerRefusal(
            f"the Kafka broker on {bootstrap} does not offer {mechanism} there: name another "
            "`sasl.mechanism`, or another listener's port"
        )
    if isinstance(error, AuthorizationError) or _IDEMPOTENT.search(str(error)):
        return BrokerRefusal(_unauthorized(bootstrap, settings, error, doing, topic))
    if isinstance(error, KafkaTimeoutError | KafkaConnectionError):
        hint = "look at `slackwater status`"
        if settings.protocol == "PLAINTEXT":
            hint += ", or give the Kafka settings if it wants a login or TLS"
        return BrokerError(
            f"the Kafka broker on {bootstrap} does not answer ({type(error).__name__}): {hint}, "
            "then try again"
        )
    return BrokerError(f"the Kafka broker on {bootstrap} refused: {type(error).__name__}: {error}")


def _unauthorized(
    bootstrap: str, settings: KafkaSettings, error: Exception, doing: str, topic: str
) -> str:
    target = f"topic {topic!r}" if topic else "the cluster"
    resource = f"--topic {topic}" if topic else "--cluster"
    grant = f"--operation {doing[:1].upper()}{doing[1:]} {resource}"
    if doing == "write" and _IDEMPOTENT.search(str(error)):
        # Write implies idempotent writes; older brokers require both.
        grant += "`, before Kafka 2.8 also `--operation IdempotentWrite --cluster"
    return (
        f"{settings.user} may not {doing} {target} on {bootstrap}: grant it with "
        f"`kafka-acls --add --allow-principal User:… {grant}`"
    )


def hidden_topic(bootstrap: str, topic: str) -> str:
    """Return the sentence for a topic that the broker does not show: it may exist."""
    settings = settings_for(bootstrap)
    if settings.protocol == "PLAINTEXT":
        return (
            f"topic {topic!r} does not exist on {bootstrap}: create it with "
            "`slackwater topics PIPELINE.yml`"
        )
    return (
        f"topic {topic!r} does not exist on {bootstrap}, or {settings.user} may not describe it: "
        f"create it with `slackwater topics PIPELINE.yml`, or grant it with `kafka-acls --add "
        f"--allow-principal User:… --operation Describe --topic {topic}`"
    )


def _address(bootstrap: str, one: str) -> tuple[str, int]:
    host, _, port = one.strip().rpartition(":")
    if not host or not port.isdecimal() or not 0 < int(port) < 65_536:
        raise AddressError(
            f"{shown(bootstrap)!r} is not a Kafka broker's address: give host:port, such as "
            "127.0.0.1:9092"
        )
    return host.strip("[]"), int(port)


def _reason(error: Exception) -> str:
    return str(getattr(error, "verify_message", None) or getattr(error, "reason", None) or error)
