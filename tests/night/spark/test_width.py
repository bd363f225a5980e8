"""Executors may become more: a checkpoint goes on with any number of them, byte for byte."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from tests.unit.checkpoints import on_spark

ROOT = Path(__file__).parents[3]
PROGRAM = """
import sys
from pathlib import Path
from jobs.session import session
from tests.unit.checkpoints import on_spark
from windowing.model.rows import row_lines

folder, cores, end = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
spark = session("width", master=f"local[{cores}]", parallelism=int(sys.argv[4]))
spark.sparkContext.setLogLevel("ERROR")
assert spark.sparkContext.defaultParallelism == int(cores)
output = on_spark.go_on(spark, folder, end)
(folder / "rows").write_text("\\n".join(row_lines(output.rows)))
spark.stop()
"""
"""A driver of its own, as a session's cores cannot change."""


def test_a_checkpoint_of_one_core_goes_on_with_two_and_with_eight(tmp_path: Path) -> None:
    end = len(on_spark.cuts())
    found: list[str] = []
    for cores, until in ((1, end // 3), (2, 2 * end // 3), (8, end)):
        subprocess.run(
            [sys.executable, "-c", PROGRAM, str(tmp_path), str(cores), str(until), str(cores)],
            check=True,
            cwd=ROOT,
            timeout=280,
        )
        rows = (tmp_path / "rows").read_text().splitlines()
        found += rows
        # Number of tasks: that of the first batch, whatever the session says later.
        newest = max(
            (tmp_path / "checkpoint" / "offsets").glob("[0-9]*"), key=lambda p: int(p.name)
        )
        assert int(newest.name) == until - 1
        conf = json.loads(newest.read_text().splitlines()[1])["conf"]
        assert conf["spark.sql.shuffle.partitions"] == "1"
        (tmp_path / "batches").rename(tmp_path / f"batches-{cores}")
    defined = (on_spark.CASE / "out.jsonl").read_text(encoding="utf-8").splitlines()
    assert sorted(found) == sorted(line for line in defined if line)
