"""An Airflow connection as a command's login to Kafka, resolved when the task runs.

SLACKWATER_AIRFLOW_KAFKA names the connection; without it there is none. It is passed in the
command's environment, and appears in no DAG, no XCom and no log. The names in `extra` are those of
Airflow's own type `kafka`, which are librdkafka's; a generic connection may give host, port, login
and password instead.
"""

from __future__ import annotations

import json
import os
from typing import Any

from airflow.sdk import Connection

CONNECTION_VARIABLE = "SLACKWATER_AIRFLOW_KAFKA"
"""Names the connection. Like all variables with AIRFLOW in their names, commands do not see it."""

PREFIX = "SLACKWATER_KAFKA_"
"""The prefix of the variables that the command reads, see `infra/kafka_settings.py`."""

_NAMES = {
    "bootstrap.servers": "BOOTSTRAP",
    "sasl.mechanism": "SASL_MECHANISM",
    "sasl.mechanisms": "SASL_MECHANISM",
    "sasl.username": "USERNAME",
    "sasl.password": "PASSWORD",
    "ssl.ca.location": "CA",
    "ssl.certificate.location": "CERTIFICATE",
    "ssl.key.password": "KEY_PASSWORD",
}

# For other tasks that use the connection: the job decides what it reads, and how.
_OTHERS = ("group.", "auto.offset.reset", "enable.auto.commit", "isolation.level", "client.id")


class ConnectionUnusable(Exception):
    """The connection has something that cannot be passed on; the text says what to change."""


def login() -> dict[str, str]:
    """Return the variables for a command that a task calls.

    Raises:
        ConnectionUnusable: the connection cannot be passed on.
        AirflowNotFoundException: there is none of this name.
    """
    name = os.environ.get(CONNECTION_VARIABLE)
    return variables(Connection.get(name)) if name else {}


async def login_later() -> dict[str, str]:
    """Return the variables for a trigger, without blocking the event loop.

    Raises:
        ConnectionUnusable: the connection cannot be passed on.
        AirflowNotFoundException: there is none of this name.
    """
    name = os.environ.get(CONNECTION_VARIABLE)
    return variables(await Connection.async_get(name)) if name else {}


def variables(connection: Any) -> dict[str, str]:
    """Return the additions to the command's environment.

    Raises:
        ConnectionUnusable: the connection cannot be passed on.
    """
    extra = {str(name): value for name, value in connection.extra_dejson.items()}
    protocol = str(extra.pop("security.protocol", "")).upper()
    if "ssl.key.location" in extra:
        msg = (
            f"connection {connection.conn_id} has ssl.key.location: put certificate and key "
            "(PKCS#8) into one PEM file, and name it in ssl.certificate.location"
        )
        raise ConnectionUnusable(msg)
    found = {"BOOTSTRAP": _address(connection)} if connection.host else {}
    if connection.login:
        found |= {"USERNAME": connection.login, "PASSWORD": connection.password or ""}
    found |= {_NAMES[name]: str(extra.pop(name)) for name in list(extra) if name in _NAMES}
    if str(extra.pop("ssl.endpoint.identification.algorithm", "https")).lower() in ("", "none"):
        found["CHECK_HOSTNAME"] = "false"
    if protocol.endswith("SSL"):
        found["TLS"] = "true"
    free = {name: str(value) for name, value in extra.items() if not name.startswith(_OTHERS)}
    if free:
        found["PROPERTIES"] = json.dumps(free)
    return {f"{PREFIX}{name}": value for name, value in found.items() if value}


def _address(connection: Any) -> str:
    host = str(connection.host)
    return host if ":" in host or not connection.port else f"{host}:{connection.port}"
