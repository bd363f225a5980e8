"""The Docker engine: uses one that answers, else installs and starts one if allowed.

An engine that someone else started is never stopped; ours is identified by its pid file.
"""

import os
import shutil
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import docker
import psutil
from docker.errors import DockerException

from infra.errors import InfraError
from infra.layout import Layout, default_layout
from infra.process import ProcessId, identify, start, stop

PACKAGES = ("docker.io", "iptables", "debootstrap")
"""Debian packages: the engine with its client, what its networks need, and what builds a base image
if no registry answers."""

START_S = 60.0
STOP_S = 30.0
_ANSWER_S = 5.0
_POLL_S = 0.2
_STALE = Path("/var/run/docker/containerd/containerd.pid")

News = Callable[[str], None]
"""Called with short progress messages."""


def complaint() -> str:
    """Say why no engine can be used; empty if one answers."""
    try:
        client = docker.from_env(timeout=_ANSWER_S)
    except DockerException as error:
        return f"no Docker engine answers at {_address()} ({_last(error)})"
    try:
        client.ping()
    except DockerException as error:
        return f"the Docker engine at {_address()} does not answer as it should ({_last(error)})"
    finally:
        client.close()
    return ""


def bring_up(news: News, layout: Layout | None = None) -> bool:
    """Create sure that an engine answers, and that its client is there.

    Args:
        layout: the place of our engine's pid file and log.

    Returns:
        Whether one was started; false if one answered already.

    Raises:
        InfraError: there is none, and none may be started; says why in one sentence.
    """
    layout = layout or default_layout()
    why = complaint()
    if not why and shutil.which("docker"):
        return False
    if refusal := _refusal(why):
        text = f"{why or 'the docker command is missing'}, and none can be started: {refusal}"
        raise InfraError(text)
    if not (shutil.which("dockerd") and shutil.which("docker") and shutil.which("iptables")):
        _install(news)
    if not why:
        return False
    _start(news, layout)
    return True


def take_down(layout: Layout | None = None) -> bool:
    """Stop the engine that `bring_up` has started; leave every other one alone.

    Returns:
        Whether ours was running.

    Raises:
        InfraError: it cannot be stopped.
    """
    ours = _ours(layout or default_layout())
    if ours is None:
        return False
    stop([ours], grace_s=STOP_S)
    return True


def _refusal(why: str) -> str:
    """Say why we may not start an engine; empty if we may."""
    if why and (host := os.environ.get("DOCKER_HOST")):
        return f"DOCKER_HOST names {host}; start that one, or unset it"
    if os.geteuid() != 0:
        return "that takes root; start one, or add yourself to the group docker"
    if why and (running := _running()):
        pids = ", ".join(str(process.pid) for process in running)
        return f"somebody's dockerd (pid {pids}) runs and does not answer; look at its log"
    if not (shutil.which("dockerd") or shutil.which("apt-get")):
        return "there is no dockerd, and no apt-get to install it with"
    return ""


def _install(news: News) -> None:
    news(f"installing {', '.join(PACKAGES)}")
    environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    # The packages start services by themselves; here `_start` does, so that the engine is ours.
    install = ("apt-get", "install", "-qq", "-y", "--no-install-recommends", *PACKAGES)
    for command in (("apt-get", "update", "-qq"), install):
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            said = (done.stderr.strip() or done.stdout.strip() or "it said nothing").splitlines()
            text = f"`{' '.join(command)}` failed: {said[-1]}"
            raise InfraError(text)


def _start(news: News, layout: Layout) -> None:
    if not complaint():
        return  # the package has started it as a service: it is not ours
    began = time.monotonic()
    _clear_stale()
    pid_file = _pid_file(layout)
    pid_file.parent.mkdir(parents=True, exist_ok=True)
    log = layout.logs / "dockerd.log"
    process = start(
        ("dockerd", "--pidfile", str(pid_file)), log=log, environment=os.environ, cwd=Path("/")
    )
    while why := complaint():
        if identify(process.pid) != process:
            text = f"dockerd ended as it started: {_last_line(log)}; log: {log}"
            raise InfraError(text)
        if time.monotonic() - began > START_S:
            stop([process], grace_s=STOP_S)
            text = f"dockerd did not answer within {START_S:.0f} s: {why}; log: {log}"
            raise InfraError(text)
        time.sleep(_POLL_S)
    news(f"Docker engine started ({time.monotonic() - began:.1f} s), pid {process.pid}")


def _clear_stale() -> None:
    """Remove what a killed engine has left: a new one would wait for a containerd that is gone."""
    with suppress(FileNotFoundError, ValueError):
        if not psutil.pid_exists(int(_STALE.read_text())):
            _STALE.unlink()


def _ours(layout: Layout) -> ProcessId | None:
    """Return the engine of the pid file, if it is running and was started with this file."""
    pid_file = _pid_file(layout)
    with suppress(FileNotFoundError, ValueError, psutil.NoSuchProcess):
        process = identify(int(pid_file.read_text()))
        if process and str(pid_file) in psutil.Process(process.pid).cmdline():
            return process
    return None


def _pid_file(layout: Layout) -> Path:
    return layout.state_dir / "docker" / "dockerd.pid"


def _running() -> list[psutil.Process]:
    return [
        one
        for one in psutil.process_iter(["name", "status"])
        if one.info["name"] == "dockerd" and one.info["status"] != psutil.STATUS_ZOMBIE
    ]


def _address() -> str:
    return os.environ.get("DOCKER_HOST", "its usual socket")


def _last(error: Exception) -> str:
    """Return the innermost cause in a chain of wrapped errors: the outer ones say little."""
    text = str(error)
    return text[text.rfind("(") + 1 :].strip("()'\" ") if "(" in text else text


def _last_line(log: Path) -> str:
    lines = log.read_text(errors="replace").strip().splitlines()
    return lines[-1] if lines else "it said nothing"
