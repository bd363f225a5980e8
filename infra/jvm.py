"""What JVMs of jobs are started with: options, as in `cluster/spark.conf`, and local files.

The stack has few cores, and when a job begins, or continues after a kill, all its JVMs start at
once: then the second compiler takes a fifth of the time.

Hadoop's own file system starts `chmod` for every file and folder that it makes (ADR 53). The jar of
the other one, and the `core-site.xml` that names its class to Hadoop, are given on one class path,
so no JVM has the name without the class; and a setting or a `core-site.xml` of the user's takes
precedence.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager

from infra.layout import LOCAL_FILES_JARS, ROOT

DRIVER = (
    # Why is said where sessions have it: `windowing.spark.plan.SETTINGS`.
    "-Xss8m",
    # A driver only plans, which is not worth compiling twice.
    "-XX:TieredStopAtLevel=1",
    "-XX:+UseSerialGC",
)

EXECUTOR = (
    # For two cores and a heap of 1 GB it is as fast as G1, and needs some 400 MB less.
    "-XX:+UseSerialGC",
    # Four times the thresholds of the second compiler; once warm it is as fast.
    "-XX:Tier4InvocationThreshold=20000",
    "-XX:Tier4MinInvocationThreshold=2400",
    "-XX:Tier4CompileThreshold=60000",
    "-XX:Tier4BackEdgeThreshold=160000",
)


CLASS_PATH = "SPARK_DIST_CLASSPATH"
"""Spark's variable for what comes last on the class path of every JVM that it starts."""

_SETTINGS = ROOT / "infra" / "jvm" / "local-files"


def class_path() -> str:
    """Return our part of `CLASS_PATH`; empty if it is not installed: then Hadoop's own is used."""
    jars = sorted(map(str, LOCAL_FILES_JARS.glob("*.jar")))
    return os.pathsep.join([*jars, str(_SETTINGS)]) if jars else ""


@contextmanager
def on_the_class_path() -> Iterator[None]:
    """Have JVMs that are started meanwhile use it; those that run already stay as they are."""
    before = os.environ.get(CLASS_PATH)
    os.environ[CLASS_PATH] = os.pathsep.join(filter(None, (before, class_path())))
    try:
        yield
    finally:
        del os.environ[CLASS_PATH]
        if before is not None:
            os.environ[CLASS_PATH] = before
