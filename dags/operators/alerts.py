"""Who hears of a task that failed: a user's own callback, such as one of Airflow's notifiers."""

from __future__ import annotations

import os
from importlib import import_module

from airflow.sdk import Context

VARIABLE = "SLACKWATER_ALERTS"
"""Names the callbacks, as `module:object`, separated by commas."""


class Alert:
    """A callback for Airflow that looks up the user's object when it is called.

    So a module that cannot be imported costs the alert, which Airflow logs with the reason, and not
    the DAGs. The object is called with the task's context, as Airflow calls every notifier.

    Args:
        name: `module:object`, in a module that Airflow's services can import.
    """

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, context: Context) -> None:
        """Notify.

        Raises:
            ValueError: not a name of this form.
            ImportError, AttributeError: there is no such module or object.
        """
        module, _, attribute = self.name.partition(":")
        if not module or not attribute:
            msg = f"{VARIABLE}: {self.name!r} names no callback: write module:object"
            raise ValueError(msg)
        getattr(import_module(module), attribute)(context)


def alerts() -> list[Alert]:
    """Return the callbacks that the environment names."""
    names = (name.strip() for name in os.environ.get(VARIABLE, "").split(","))
    return [Alert(name) for name in names if name]
