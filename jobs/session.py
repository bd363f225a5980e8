"""Spark sessions for our jobs."""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from infra import jvm
from windowing.model.registry import PLUGINS_VARIABLE
from windowing.spark.plan import SETTINGS

ROOT = Path(__file__).resolve().parent.parent


# A stateful task costs a tenth of a second whatever its state, so use as many as can run at once. A
# checkpoint keeps the number from its first batch; the number of executors may change.
PARALLELISM = min(4, os.cpu_count() or 1)


def session(
    name: str,
    *,
    master: str | None = None,
    parallelism: int | None = None,
    jars: str = "",
    more: Mapping[str, str] | None = None,
) -> SparkSession:
    """Start a session with the settings that lanes and shards need.

    Args:
        master: where to run; None: decided by spark-submit.
        parallelism: the number of tasks for lanes, and for shards; None: `PARALLELISM`.
        jars: comma-separated, in addition to those in the cluster's settings.
        more: other settings, which win.
    """
    # Workers use the interpreter and the modules of this process.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("POLARS_MAX_THREADS", "1")
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    paths = [str(ROOT), *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
    os.environ["PYTHONPATH"] = os.pathsep.join(dict.fromkeys(path for path in paths if path))
    builder = SparkSession.builder.appName(name)
    if master is not None:
        builder = builder.master(master).config("spark.ui.enabled", "false")
        builder = builder.config("spark.ui.showConsoleProgress", "false")
    if jars:
        builder = builder.config("spark.jars", jars)
    builder = builder.config(
        "spark.sql.shuffle.partitions", PARALLELISM if parallelism is None else parallelism
    )
    for key, value in {**SETTINGS, **_of_workers(), **(more or {})}.items():
        builder = builder.config(key, value)
    _quiet_py4j()
    # pyspark would install its own Ctrl-C handler; the program handles signals itself.
    answer = signal.getsignal(signal.SIGINT)
    with _local_files(master):
        made = builder.getOrCreate()
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, answer)
    _quiet_end(made.sparkContext._accumulatorServer)
    return made


def _quiet_py4j() -> None:
    """Keep py4j from logging, with stack traces, what it raises too.

    On Ctrl-C the JVM may be gone before this process has heard of the signal.
    """
    logging.getLogger("py4j").propagate = False
    # A client that loses the JVM logs as the root, and not under its name.
    logging.getLogger().addFilter(_is_not_of_py4j)


def _is_not_of_py4j(record: logging.LogRecord) -> bool:
    return Path(record.pathname).parent.name != "py4j"


def _quiet_end(server: Any) -> None:
    """Keep a server of pyspark's from printing a stack trace when the JVM that it serves ends."""
    print_error = server.handle_error

    def handle_error(*of: object) -> None:
        if not isinstance(sys.exc_info()[1], EOFError | ConnectionError):
            print_error(*of)

    server.handle_error = handle_error


def _local_files(master: str | None) -> AbstractContextManager[None]:
    """Return the context in which a session's JVM gets the local file system that we have."""
    # Executors elsewhere may not have it, and the driver would tell them to use it.
    here = master is not None and master.startswith("local")
    return jvm.on_the_class_path() if here else nullcontext()


def _of_workers() -> dict[str, str]:
    """Return executor settings with this process's module path and plug-ins."""
    names = ("PYTHONPATH", PLUGINS_VARIABLE)
    return {f"spark.executorEnv.{name}": os.environ[name] for name in names if os.environ.get(name)}
