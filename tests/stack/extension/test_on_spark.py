"""The toys under a real stream, in a process of its own: a JVM keeps its first environment."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.unit.extension.conftest import installed

PROGRAM = Path(__file__).with_name("on_spark.py")


def test_spark_runs_what_a_package_brings(tmp_path: Path) -> None:
    path = os.pathsep.join(map(str, installed(tmp_path)))
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(PROGRAM)],
        env={**kept, "PYTHONPATH": path},
        cwd=PROGRAM.parents[3],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    assert "3 passed" in done.stdout
