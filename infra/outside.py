"""What a person can open of a stack: addresses, the login, files, by the names they have out there.

Containers call each other, and their files, by names that mean nothing outside of them; whoever
composes them says in the environment what stands for those (docker-compose.yml). Without that the
names are the same on both sides, as on the local stack.
"""

import os
from pathlib import Path

from infra import airflow, elsewhere
from infra.endpoints import Endpoints
from infra.layout import Layout

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
    """Gives the brokers' address; empty if the stack has none."""
    return endpoints.kafka_bootstrap and _named(KAFKA, endpoints.kafka_bootstrap)


def spark_ui(endpoints: Endpoints) -> str:
    """Gives the URL of the Spark master's page; empty if the stack has none."""
    return endpoints.spark_ui and _named(SPARK_UI, endpoints.spark_ui)


def airflow_url(endpoints: Endpoints) -> str:
    """Gives the URL of Airflow, which ends without a slash; empty if the stack has none."""
    return endpoints.airflow_url and _named(AIRFLOW, endpoints.airflow_url)


def login(endpoints: Endpoints) -> str:
    """Says who may log in to Airflow, and where the password stands; never the password itself."""
    place = str(airflow.passwords_file(Layout(endpoints.state_dir)))
    if elsewhere.is_named():
        given = elsewhere.AIRFLOW_PASSWORD_FILE
        place = os.environ.get(given) or f"${given}"
    return f"{endpoints.airflow_user}, password: see {_named(AIRFLOW_PASSWORD_FILE, place)}"


def path(inside: Path) -> str:
    """Says how a person gets at a file or a folder of the stack: its path, or what to type."""
    return _named(FETCH, "{}").replace("{}", str(inside))


def _named(variable: str, otherwise: str) -> str:
    return os.environ.get(variable) or otherwise
