"""What a person can open of a stack: addresses, login and files, by their names on the host.

Containers use names for each other and for files that mean nothing outside; docker-compose.yml sets
the outside names in the environment. Without them the names are the same on both sides, as with the
local stack.
"""

import os
from pathlib import Path

from infra import airflow, elsewhere
from infra.endpoints import Endpoints
from infra.layout import Layout
from infra.redacted import shown

KAFKA = "SLACKWATER_OUTSIDE_KAFKA"
"""`host:port` of the brokers."""

SPARK_UI = "SLACKWATER_OUTSIDE_SPARK_UI"
"""Base URL of the Spark master's page."""

AIRFLOW = "SLACKWATER_OUTSIDE_AIRFLOW"
"""Base URL of Airflow's pages."""

AIRFLOW_PASSWORD_FILE = "SLACKWATER_OUTSIDE_AIRFLOW_PASSWORD_FILE"  # noqa: S105 - a name
"""The file with the password of Airflow's user."""

FETCH = "SLACKWATER_OUTSIDE_FETCH"
"""A shell command that copies a file or folder of the stack to a person; `{}` is its path."""


def kafka(endpoints: Endpoints) -> str:
    """Return the brokers' address; empty if the stack has none."""
    return endpoints.kafka_bootstrap and shown(_named(KAFKA, endpoints.kafka_bootstrap))


def spark_ui(endpoints: Endpoints) -> str:
    """Return the URL of the Spark master's page; empty if the stack has none."""
    return endpoints.spark_ui and shown(_named(SPARK_UI, endpoints.spark_ui))


def airflow_url(endpoints: Endpoints) -> str:
    """Return the URL of Airflow, without a trailing slash; empty if the stack has none."""
    return endpoints.airflow_url and shown(_named(AIRFLOW, endpoints.airflow_url))


def login(endpoints: Endpoints) -> str:
    """Say who may log in to Airflow, and where the password is; never the password itself."""
    place = str(airflow.passwords_file(Layout(endpoints.state_dir)))
    if elsewhere.is_named():
        given = elsewhere.AIRFLOW_PASSWORD_FILE
        place = os.environ.get(given) or f"${given}"
    return f"{endpoints.airflow_user}, password: see {_named(AIRFLOW_PASSWORD_FILE, place)}"


def path(inside: Path) -> str:
    """Say how a person gets a file or folder of the stack: its path, or a command."""
    return _named(FETCH, "{}").replace("{}", str(inside))


def _named(variable: str, otherwise: str) -> str:
    return os.environ.get(variable) or otherwise
