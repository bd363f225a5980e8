"""A single login on a separate connection, so that a rejection is noticed.

kafka-python treats a rejected login as a lost connection, and retries until its time-out. The
requests are those of Kafka's protocol (ApiVersions 18, SaslHandshake 17, SaslAuthenticate 36) in
their oldest versions, which every broker of the last ten years answers.
"""

from __future__ import annotations

import socket
import struct
from typing import Any

from kafka.errors import SaslAuthenticationFailedError, UnsupportedSaslMechanismError
from kafka.net.sasl import get_sasl_mechanism

from infra.kafka_settings import KafkaSettings, Sasl

_API_VERSIONS, _HANDSHAKE, _AUTHENTICATE = (18, 0), (17, 1), (36, 0)
_CLIENT = b"slackwater"
_LARGEST_ANSWER = 1 << 20


def log_in(connection: socket.socket, host: str, settings: KafkaSettings) -> None:
    """Log in on a fresh connection, or, without a login, just wait for the broker to answer.

    Args:
        connection: to a broker, with TLS if configured; not usable afterwards.
        settings: the cluster's login settings.

    Raises:
        SaslAuthenticationFailedError: the broker rejects the login.
        UnsupportedSaslMechanismError: the broker does not support the mechanism.
        OSError: the connection is lost, or the broker does not answer within the socket's time-out.
        InfraError: the password cannot be read.
    """
    if settings.sasl is None:
        _ask(connection, _API_VERSIONS, b"")
        return
    name = settings.sasl.mechanism.encode()
    answer = _ask(connection, _HANDSHAKE, struct.pack(">h", len(name)) + name)
    if _code(answer):
        raise UnsupportedSaslMechanismError(settings.sasl.mechanism)
    _authenticate(connection, host, settings.sasl)


def _authenticate(connection: socket.socket, host: str, sasl: Sasl) -> None:
    mechanism: Any = get_sasl_mechanism(sasl.mechanism)(
        host=host,
        sasl_mechanism=sasl.mechanism,
        sasl_plain_username=sasl.username,
        sasl_plain_password=sasl.secret(),
        security_protocol="SASL_SSL",  # the client itself warns about plain text
    )
    while not mechanism.is_done():
        token = mechanism.auth_bytes()
        answer = _ask(connection, _AUTHENTICATE, struct.pack(">i", len(token)) + token)
        if _code(answer):
            raise SaslAuthenticationFailedError(sasl.mechanism)
        said = max(0, struct.unpack_from(">h", answer, 2)[0])
        mechanism.receive(answer[8 + said :])


def _ask(connection: socket.socket, request: tuple[int, int], body: bytes) -> bytes:
    head = struct.pack(">hhih", *request, 0, len(_CLIENT)) + _CLIENT
    connection.sendall(struct.pack(">i", len(head) + len(body)) + head + body)
    (length,) = struct.unpack(">i", _exactly(connection, 4))
    if not 4 <= length <= _LARGEST_ANSWER:
        msg = "the answer is not Kafka's"
        raise ConnectionError(msg)
    return _exactly(connection, length)[4:]


def _exactly(connection: socket.socket, count: int) -> bytes:
    found = b""
    while len(found) < count:
        piece = connection.recv(count - len(found))
        if not piece:
            msg = "the broker closed the connection"
            raise ConnectionError(msg)
        found += piece
    return found


def _code(answer: bytes) -> int:
    return int(struct.unpack_from(">h", answer)[0])
