"""Starts one of Airflow's services in its container: `airflow_start scheduler`.

`init` makes the data base and the one user's password instead, and ends. Settings are those of the
local stack (infra/airflow.py); addresses and secrets come as AIRFLOW__… from the environment.
"""

import os
import sys

from infra import airflow
from infra.elsewhere import AIRFLOW_PASSWORD
from infra.layout import AIRFLOW_VENV, default_layout

COMMAND = str(AIRFLOW_VENV / "bin" / "airflow")


def environment() -> dict[str, str]:
    """Gives Airflow's settings; what the container was given goes first."""
    layout = default_layout()
    settings = {
        **airflow.SETTINGS,
        "CORE__SIMPLE_AUTH_MANAGER_PASSWORDS_FILE": str(airflow.passwords_file(layout)),
        "LOGGING__BASE_LOG_FOLDER": str(layout.logs / "airflow"),
    }
    return {f"AIRFLOW__{name}": value for name, value in settings.items()} | dict(os.environ)


def main(arguments: list[str]) -> None:
    """Becomes the service, or what makes the data base."""
    given = environment()
    if arguments == ["init"]:
        airflow.write_password(default_layout(), os.environ[AIRFLOW_PASSWORD])
        arguments = ["db", "migrate"]
    os.execve(COMMAND, [COMMAND, *arguments], given)  # noqa: S606 - an argument list, no shell


if __name__ == "__main__":
    main(sys.argv[1:])
