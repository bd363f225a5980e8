"""What a package adds, on Spark: a format, a fate and a calendar window."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.unit.extension.conftest import installed
from tests.unit.extension.test_reading import TEXT as LEVELS_TEXT

_MONTHS = """  m: {window: {months: {ahead_h: 1}, wattr: ts}, group_by: [at],
    aggregates: {n: count}}
sink:"""
_TEXT = LEVELS_TEXT.replace("sink:", _MONTHS)

# In its own process: Spark's workers import packages from the path that the driver was
# started with.
_PROGRAM = """
import sys
from jobs.file_run import run
from tests.unit.extension.test_reading import batches, log
from windowing import parse_pipeline
from windowing.model.rows import row_line
from windowing.semantics import evaluate

pipeline = parse_pipeline(sys.argv[1])
found = run(pipeline, batches())
defined = evaluate(pipeline, log())
assert sorted(map(row_line, found.rows)) == sorted(map(row_line, defined.rows))
assert found.dead_letters == defined.dead
assert found.counts == defined.counts
print(*(f"{name}: {counts}" for name, counts in found.counts.items()), sep="\\n")
"""


def test_a_format_a_fate_and_a_calendar_window_on_spark(tmp_path: Path) -> None:
    path = os.pathsep.join(map(str, (*installed(tmp_path), Path.cwd())))
    done = subprocess.run(
        (sys.executable, "-c", _PROGRAM, _TEXT),
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    own = "read 14 = applied 5 + outside 0 + skipped 5 + dropped 0 + dead 4"
    assert f"q: {own}" in done.stdout
