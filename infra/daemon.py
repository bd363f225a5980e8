"""Components of the stack: their daemons, how to start them, and their health checks."""

import os
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from infra import kafka_settings
from infra.layout import (
    COMMAND_VARIABLE,
    PACKAGED,
    PIPELINES_VARIABLE,
    PYTHON_VARIABLE,
    ROOT,
    STATE_DIR_VARIABLE,
    VENV,
    Layout,
)
from infra.process import MARK

Ports = Mapping[str, int]
"""A component's ports by name."""


@dataclass(frozen=True)
class Daemon:
    """One process of the stack.

    Attributes:
        name: unique in the stack; also names the log file.
        environment: added to the environment that all daemons share.
        check: raises NotReady while the daemon is not healthy; gets the time, in seconds since
            1970, at which its process started, to tell old signs of life from new ones.
        start_s: how long it may take to become healthy.
        stop_s: how long it may take to end after SIGTERM.
        keeps: prefixes of the caller's variables that only this daemon gets.
    """

    name: str
    command: tuple[str, ...]
    check: Callable[[float], None]
    environment: Mapping[str, str] = field(default_factory=dict)
    start_s: float = 60.0
    stop_s: float = 10.0
    cwd: Path = ROOT
    keeps: tuple[str, ...] = ()


@dataclass(frozen=True)
class Component:
    """A part of the stack: Kafka, Spark or Airflow.

    Attributes:
        name: what the user calls it.
        prepare: creates folders, configuration, secrets, databases; idempotent.
        stages: daemons that start together, stage by stage; the next stage starts when the previous
            one is healthy. They stop in the opposite order.
    """

    name: str
    prepare: Callable[[], None]
    stages: tuple[tuple[Daemon, ...], ...]

    @property
    def daemons(self) -> tuple[Daemon, ...]:
        """All daemons, in start order."""
        return tuple(daemon for stage in self.stages for daemon in stage)


FOREIGN = ("AIRFLOW_", "SPARK_", "PYSPARK_", "KAFKA_", kafka_settings.PREFIX)
"""Settings of other installations, which must not leak into ours, and logins to Kafka: a Spark
daemon passes its environment on to every job."""


def shared_environment(layout: Layout, keeps: tuple[str, ...] = ()) -> dict[str, str]:
    """Return the environment of a daemon: the caller's, cleaned, with our marks.

    Args:
        keeps: prefixes of variables to keep nevertheless.
    """
    kept = {
        name: value
        for name, value in os.environ.items()
        if (not name.startswith(FOREIGN) or name.startswith(keeps))
        and name not in ("VIRTUAL_ENV", "PYTHONHOME")
    }
    loopback = "127.0.0.1,localhost"
    return kept | {
        MARK: str(layout.state_dir),
        STATE_DIR_VARIABLE: str(layout.state_dir),
        PIPELINES_VARIABLE: str(layout.pipelines),
        "SLACKWATER_ROOT": str(ROOT),
        "PYTHONPATH": os.pathsep.join(_modules()),
        **_command(),
        "PYTHONUNBUFFERED": "1",
        "MALLOC_ARENA_MAX": "2",  # otherwise glibc keeps an arena per thread, which wastes memory
        "NO_PROXY": loopback,
        "no_proxy": loopback,
    }


def _modules() -> list[str]:
    """Return the path where jobs find modules: ours, then the user's."""
    users = os.environ.get(PYTHON_VARIABLE)
    return [str(ROOT), *([users] if users else [])]


def _command() -> dict[str, str]:
    """Return the command that Airflow's tasks call, unless it is the checkout's."""
    return {COMMAND_VARIABLE: shlex.quote(str(VENV / "bin" / "slackwater"))} if PACKAGED else {}
