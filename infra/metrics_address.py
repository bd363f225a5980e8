"""Where drivers offer their metrics to Prometheus: a setting of the project or the environment."""

from __future__ import annotations

import os
from typing import Final

from infra.errors import SettingsError

VARIABLE: Final = "SLACKWATER_METRICS"
"""`host:port` on which each driver listens, port 0 for a free one; `off`: on none."""

DEFAULT: Final = "127.0.0.1:0"
"""This machine only, and any free port: several drivers may share a machine."""

OFF: Final = "off"


def metrics_address() -> str:
    """Return the setting.

    Raises:
        SettingsError: it is neither `host:port` nor `off`.
    """
    given = os.environ.get(VARIABLE) or DEFAULT
    parsed(given)
    return given


def parsed(text: str) -> tuple[str, int] | None:
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
            f"{VARIABLE}={text!r} is no address: write host:port, with port 0 for a free one, as "
            f"{DEFAULT}, or {OFF}"
        )
        raise SettingsError(msg)
    return host, int(port)
