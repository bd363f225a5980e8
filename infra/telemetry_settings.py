"""OpenTelemetry's settings that a driver is given by whoever submits the job.

As for lineage: what is no secret travels in a private file of the run's folder. Headers, which may
hold keys, certificates and timeouts belong to the environment of the cluster's machines.
"""

from __future__ import annotations

import os
from typing import Final
from urllib.parse import urlsplit

from infra.errors import SettingsError
from infra.redacted import refuse_login

ENDPOINTS: Final = ("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
"""Where a receiver of OTLP over HTTP is; without either, drivers export nothing."""

HANDED_OVER: Final = (
    *ENDPOINTS,
    "OTEL_METRIC_EXPORT_INTERVAL",
    "OTEL_SERVICE_NAME",
    "OTEL_RESOURCE_ATTRIBUTES",
)
"""Variables of this process that a driver is given, too."""


def telemetry_settings() -> dict[str, str]:
    """Return those that are set.

    Raises:
        SettingsError: an endpoint is no URL, or contains a login or a query.
    """
    found = {name: os.environ[name] for name in HANDED_OVER if os.environ.get(name)}
    instead = "set OTEL_EXPORTER_OTLP_HEADERS in the environment of the cluster's machines"
    for name in (name for name in ENDPOINTS if name in found):
        refuse_login(name, found[name], instead)
        url = urlsplit(found[name])
        if url.scheme not in ("http", "https") or not url.netloc:
            msg = f"{name}={found[name]!r} is no URL: write http://127.0.0.1:4318"
            raise SettingsError(msg)
    return found


def is_configured() -> bool:
    """Whether this process is told of a receiver."""
    return any(os.environ.get(name) for name in ENDPOINTS)
