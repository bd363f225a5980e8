"""What a machine lacks to run the local stack, in sentences; changes nothing."""

import importlib.util
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import psutil

from infra.errors import InfraError
from infra.layout import (
    AIRFLOW_VENV,
    BROKER_JARS,
    CONNECTOR_JARS,
    LOCAL_FILES_JARS,
    PACKAGES,
    SETUP,
    default_layout,
)
from infra.ports import is_free
from infra.record import read
from infra.setup import JAVA_MIN, PYTHON_MIN, java_command, java_version
from infra.stack import PARTS

MEMORY_GIB = 4
"""About what the idle stack (1.6 GiB) and one small pipeline's driver and executors need."""

DISK_GIB = 3
"""Installed software, and room for logs, topics and checkpoints of small pipelines."""

_GIB = 1 << 30


@dataclass(frozen=True)
class Finding:
    """The result of one check.

    Attributes:
        name: of the check, for scripts.
        verdict: `ok`; `note`: works, perhaps not as expected; `missing`: the stack cannot run.
        sentence: what was found, and what to do.
    """

    name: str
    verdict: Literal["ok", "note", "missing"]
    sentence: str


def examine() -> list[Finding]:
    """Check everything that the local stack needs."""
    first = (_python(), _java(), _packages())
    return [*first, *_installed(), _local_files(), _memory(), _disk(), *_ports()]


def _python() -> Finding:
    found, least = ".".join(map(str, sys.version_info[:3])), ".".join(map(str, PYTHON_MIN))
    if sys.version_info < PYTHON_MIN:
        text = f"Python {found} is too old: {least} or newer is needed"
        return Finding("python", "missing", text)
    return Finding("python", "ok", f"Python {found}")


def _java() -> Finding:
    version = java_version()
    if version is None:
        text = (
            f"Java is missing: Kafka and Spark need {JAVA_MIN} or newer; install a JDK (Debian: "
            "apt-get install openjdk-17-jdk-headless) or set JAVA_HOME"
        )
        return Finding("java", "missing", text)
    if version < JAVA_MIN:
        text = f"Java {version} ({java_command()}) is too old: set JAVA_HOME to {JAVA_MIN} or newer"
        return Finding("java", "missing", text)
    return Finding("java", "ok", f"Java {version}, {java_command()}")


def _packages() -> Finding:
    lacking = [
        name
        for name in ("pyspark", "pandas", "great_expectations")
        if importlib.util.find_spec(name) is None
    ]
    if lacking:
        text = f"the Python package {lacking[0]} is not installed: `{PACKAGES}`"
        return Finding("packages", "missing", text)
    return Finding("packages", "ok", "Spark and Great Expectations are installed")


def _installed() -> Iterator[Finding]:
    """Check what the set-up fetches; Maven matters only if something is left to fetch."""
    parts = (
        ("kafka", "Kafka", any(BROKER_JARS.glob("*.jar")), BROKER_JARS),
        ("connector", "Spark's Kafka source", any(CONNECTOR_JARS.glob("*.jar")), CONNECTOR_JARS),
        ("airflow", "Airflow", (AIRFLOW_VENV / "bin" / "airflow").exists(), AIRFLOW_VENV),
    )
    for name, title, there, folder in parts:
        if there:
            yield Finding(name, "ok", f"{title}, {folder}")
        else:
            yield Finding(name, "missing", f"{title} is not installed in {folder}: run `{SETUP}`")
    jars_missing = not (parts[0][2] and parts[1][2])
    if jars_missing and shutil.which("mvn") is None:
        text = "Maven is missing, and the jars are still to be fetched: install it (Debian: maven)"
        yield Finding("maven", "missing", text)


def _local_files() -> Finding:
    if any(LOCAL_FILES_JARS.glob("*.jar")):
        return Finding("local-files", "ok", f"Local files without processes, {LOCAL_FILES_JARS}")
    text = (
        f"no local file system is installed in {LOCAL_FILES_JARS}: jobs use Hadoop's, which starts "
        f"a process for every file that it makes; run `{SETUP}`"
    )
    return Finding("local-files", "note", text)


def _memory() -> Finding:
    free = psutil.virtual_memory().available / _GIB
    if free < MEMORY_GIB:
        text = (
            f"{free:.1f} GiB of memory are free: the stack and one small pipeline take about "
            f"{MEMORY_GIB}; end other programs first"
        )
        return Finding("memory", "note", text)
    return Finding("memory", "ok", f"{free:.1f} GiB of memory are free")


def _disk() -> Finding:
    try:
        folder = default_layout().state_dir
    except InfraError as error:  # no project: there is no place for state
        return Finding("disk", "note", str(error))
    around = next(path for path in (folder, *folder.parents) if path.exists())
    free = shutil.disk_usage(around).free / _GIB
    if free < DISK_GIB:
        text = f"{around} has {free:.1f} GiB left: {DISK_GIB} are needed; make room, or let "
        return Finding("disk", "note", text + "SLACKWATER_STATE_DIR name a folder elsewhere")
    return Finding("disk", "ok", f"{free:.1f} GiB left for {folder}")


def _ports() -> Iterator[Finding]:
    """Report ports that are in use: the stack takes others, which the user should know."""
    try:
        ours = set(read(default_layout()).ports.values())
    except InfraError:
        ours = set()
    liked = {name: port for part in PARTS.values() for name, port in part.PORTS.items()}
    taken = [f"{port} ({name})" for name, port in liked.items() if port not in ours | _free(port)]
    if taken:
        text = f"in use by others: {', '.join(taken)}; `slackwater up` takes free ports instead"
        yield Finding("ports", "note", text)
    else:
        yield Finding("ports", "ok", "every port that the stack likes is free, or its own")


def _free(port: int) -> set[int]:
    return {port} if is_free(port) else set()
