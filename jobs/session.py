"""Spark sessions of our jobs."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from pyspark.sql import SparkSession

from windowing.spark import SETTINGS

ROOT = Path(__file__).resolve().parent.parent


def session(name: str, *, master: str | None = None) -> SparkSession:
    """Start a session with the settings that lanes and shards need.

    Args:
        name: of the application.
        master: where to run; None leaves it to spark-submit.
    """
    # Workers run the interpreter and the modules of this process.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("POLARS_MAX_THREADS", "1")
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    paths = [str(ROOT), *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
    os.environ["PYTHONPATH"] = os.pathsep.join(dict.fromkeys(path for path in paths if path))
    builder = SparkSession.builder.appName(name)
    if master is not None:
        builder = builder.master(master).config("spark.ui.enabled", "false")
        builder = builder.config("spark.ui.showConsoleProgress", "false")
    for key, value in SETTINGS.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()
