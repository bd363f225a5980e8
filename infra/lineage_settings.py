"""OpenLineage's settings that a driver is given by whoever submits the job.

A driver's environment is its cluster's, not the submitter's. So what is no secret travels on its
command line; keys, and settings in files, belong to the environment of the cluster's machines.
"""

from __future__ import annotations

import os
from typing import Final

from infra.errors import SettingsError

_URL: Final = "OPENLINEAGE_URL"
HANDED_OVER: Final = (
    _URL,
    "OPENLINEAGE_ENDPOINT",
    "OPENLINEAGE_NAMESPACE",
    "OPENLINEAGE_PARENT_ID",
)
"""Variables of this process that a driver is given, too."""


def lineage_settings() -> dict[str, str]:
    """Return those that are set.

    Raises:
        SettingsError: the URL contains a login, which others on the driver's machine could read.
    """
    found = {name: os.environ[name] for name in HANDED_OVER if os.environ.get(name)}
    if "@" in found.get(_URL, ""):
        msg = (
            f"{_URL} contains a login, which would be on the driver's command line: leave it out, "
            "and set OPENLINEAGE_API_KEY in the environment of the cluster's machines"
        )
        raise SettingsError(msg)
    return found
