"""OpenLineage's settings that a driver is given by whoever submits the job.

A driver's environment is its cluster's, not the submitter's. So what is no secret travels in a
private file of the run's folder; keys, and settings in files, belong to the environment of the
cluster's machines.
"""

from __future__ import annotations

import os
from typing import Final

from infra.redacted import refuse_login

_URL: Final = "OPENLINEAGE_URL"
_ENDPOINT: Final = "OPENLINEAGE_ENDPOINT"
HANDED_OVER: Final = (
    _URL,
    _ENDPOINT,
    "OPENLINEAGE_NAMESPACE",
    "OPENLINEAGE_PARENT_ID",
)
"""Variables of this process that a driver is given, too."""


def lineage_settings() -> dict[str, str]:
    """Return those that are set.

    Raises:
        SettingsError: the URL contains a login or a query.
    """
    found = {name: os.environ[name] for name in HANDED_OVER if os.environ.get(name)}
    for name in (_URL, _ENDPOINT):
        instead = "set OPENLINEAGE_API_KEY in the environment of the cluster's machines"
        refuse_login(name, found.get(name, ""), instead)
    return found
