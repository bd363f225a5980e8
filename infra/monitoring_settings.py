"""Where drivers report their work: Prometheus, OpenTelemetry, OpenLineage.

A driver's environment is its cluster's, not the submitter's. So what is no secret travels with the
job, paths of receivers in a private file of the run's folder. Headers and keys, certificates,
timeouts, and settings in files belong to the environment of the cluster's machines.
"""

from __future__ import annotations

import os
from typing import Final
from urllib.parse import urlsplit

from infra.errors import SettingsError
from infra.redacted import refuse_login

_METRICS: Final = "SLACKWATER_METRICS"
"""`host:port` on which each driver listens, port 0 for a free one; `off`: on none."""

OFF: Final = "off"

LOCAL: Final = ("127.0.0.1", 0)
"""This machine only, and any free port: several drivers may share a machine."""

_RECEIVERS: Final = ("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
"""Where a receiver of OTLP over HTTP is; without either, drivers export nothing."""

TELEMETRY: Final = (
    *_RECEIVERS,
    "OTEL_METRIC_EXPORT_INTERVAL",
    "OTEL_SERVICE_NAME",
    "OTEL_RESOURCE_ATTRIBUTES",
)
_LINEAGE_URLS: Final = ("OPENLINEAGE_URL", "OPENLINEAGE_ENDPOINT")
_LINEAGE: Final = (*_LINEAGE_URLS, "OPENLINEAGE_NAMESPACE", "OPENLINEAGE_PARENT_ID")


def metrics_address() -> tuple[str, int] | None:
    """Return where drivers offer their metrics to Prometheus: host and port; None: off.

    Raises:
        SettingsError: the setting of the project or the environment is neither.
    """
    given = os.environ.get(_METRICS)
    return parse_address(given) if given else LOCAL


def parse_address(text: str) -> tuple[str, int] | None:
    """Return host and port; None: off.

    Raises:
        SettingsError: it is neither.
    """
    if text == OFF:
        return None
    host, colon, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not colon or not host or not port.isascii() or not port.isdigit() or int(port) > 65_535:
        msg = (
            f"{_METRICS}={text!r} is no address: write host:port, with port 0 for a free one, as "
            f"{write_address(LOCAL)}, or {OFF}"
        )
        raise SettingsError(msg)
    return host, int(port)


def write_address(address: tuple[str, int] | None) -> str:
    """Write what `parse_address` parses."""
    if address is None:
        return OFF
    host, port = address
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def telemetry_settings() -> dict[str, str]:
    """Return the variables of OpenTelemetry that are set here, and that drivers are given, too.

    Raises:
        SettingsError: an endpoint is no URL, or contains a login or a query.
    """
    found = _set(TELEMETRY)
    instead = "set OTEL_EXPORTER_OTLP_HEADERS in the environment of the cluster's machines"
    for name in (name for name in _RECEIVERS if name in found):
        refuse_login(name, found[name], instead)
        url = urlsplit(found[name])
        if url.scheme not in ("http", "https") or not url.netloc:
            msg = f"{name}={found[name]!r} is no URL: write http://127.0.0.1:4318"
            raise SettingsError(msg)
    return found


def exports_telemetry() -> bool:
    """Whether this process knows a receiver of OpenTelemetry."""
    return bool(_set(_RECEIVERS))


def lineage_settings() -> dict[str, str]:
    """Return the variables of OpenLineage that are set here, and that drivers are given, too.

    Raises:
        SettingsError: a URL contains a login or a query.
    """
    found = _set(_LINEAGE)
    instead = "set OPENLINEAGE_API_KEY in the environment of the cluster's machines"
    for name in _LINEAGE_URLS:
        refuse_login(name, found.get(name, ""), instead)
    return found


def _set(names: tuple[str, ...]) -> dict[str, str]:
    return {name: os.environ[name] for name in names if os.environ.get(name)}
