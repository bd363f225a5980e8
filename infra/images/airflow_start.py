"""Starts one of Airflow's services in its container: `airflow_start scheduler`.

`init` instead creates the database and the only user's password, and exits. Settings are those of
the local stack (infra/airflow.py); addresses come from the environment as AIRFLOW__…, secrets from
files.
"""

import os
import sys
from pathlib import Path

from infra import airflow
from infra.images.secrets import needed, offer_tables
from infra.layout import AIRFLOW_VENV, Layout

COMMAND = str(AIRFLOW_VENV / "bin" / "airflow")

_SECRETS = {
    "CORE__FERNET_KEY": "airflow_fernet_key",
    "API__SECRET_KEY": "airflow_secret_key",
    "API_AUTH__JWT_SECRET": "airflow_jwt_secret",
}


def environment() -> dict[str, str]:
    """Return Airflow's settings; the container's own take precedence."""
    home = _home()
    settings = {
        **airflow.SETTINGS,
        "CORE__SIMPLE_AUTH_MANAGER_PASSWORDS_FILE": str(airflow.passwords_file(home)),
        "LOGGING__BASE_LOG_FOLDER": str(home.airflow / "logs"),
    }
    settings |= {name: needed(file) for name, file in _SECRETS.items()}
    login = f"airflow:{needed('postgres_airflow')}"
    settings["DATABASE__SQL_ALCHEMY_CONN"] = f"postgresql+psycopg2://{login}@postgres/airflow"
    return {f"AIRFLOW__{name}": value for name, value in settings.items()} | dict(os.environ)


def _home() -> Layout:
    """Airflow's folder: in its containers alone, and not below the state that jobs share."""
    return Layout(Path(os.environ["AIRFLOW_HOME"]).parent)


def main(arguments: list[str]) -> None:
    """Become the service, or the program that creates the database."""
    given = environment()
    if arguments == ["init"]:
        airflow.write_password(_home(), needed("airflow_password"))
        arguments = ["db", "migrate"]
    offer_tables()
    os.execve(COMMAND, [COMMAND, *arguments], given)  # noqa: S606 - an argument list, no shell


if __name__ == "__main__":
    main(sys.argv[1:])
