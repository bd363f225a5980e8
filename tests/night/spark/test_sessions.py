"""Local sessions at length: recorded pipelines, more executors, and local files."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from infra import jvm
from tests.chmod import recording
from tests.spark.test_plans import BY_DAY, DATA, gives_its_bytes
from tests.unit.checkpoints import on_spark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


OTHERS = sorted({path.name for path in DATA.iterdir() if path.is_dir()} - {*BY_DAY})


@pytest.mark.parametrize("name", OTHERS)
def test_recorded_pipelines_give_their_bytes_on_spark(
    name: str, spark: SparkSession, tmp_path: Path
) -> None:
    gives_its_bytes(name, spark, tmp_path)


ROOT = Path(__file__).parents[3]
WIDTHS = """
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
            [sys.executable, "-c", WIDTHS, str(tmp_path), str(cores), str(until), str(cores)],
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


OURS = "com.globalmentor.apache.hadoop.fs.BareLocalFileSystem"
HADOOPS = "org.apache.hadoop.fs.LocalFileSystem"

PROGRAM = """
import json, os, sys
from pathlib import Path
from jobs.session import session

os.umask(0o027)
folder, more = Path(sys.argv[1]), json.loads(sys.argv[2])
spark = session("local files", master="local[2]", parallelism=1, more=more)
spark.sparkContext.setLogLevel("ERROR")
hadoop = spark._jsc.hadoopConfiguration()
(folder / "real").mkdir()
(folder / "link").symlink_to("real")
for number in range(2):  # the second query goes on where the first has stopped
    spark.range(number, number + 2).coalesce(1).write.mode("append").parquet(f"{folder}/in")
    read = spark.readStream.schema("id long").parquet(f"{folder}/in").dropDuplicates()
    write = read.writeStream.option("checkpointLocation", f"{folder}/link/checkpoint")
    write.trigger(availableNow=True).start(f"{folder}/out").awaitTermination()
print(json.dumps({
    "system": spark._jvm.org.apache.hadoop.fs.FileSystem.get(hadoop).getClass().getName(),
    "rows": sorted(row.id for row in spark.read.parquet(f"{folder}/out").collect()),
    "class_path": os.environ.get("SPARK_DIST_CLASSPATH"),
}))
spark.stop()
"""
"""A program of its own, since a JVM keeps its file systems."""


@dataclass(frozen=True)
class Ran:
    """What a program did: what it said, its calls of `chmod`, and its files' kinds and modes."""

    said: dict[str, object]
    calls: list[str]
    modes: set[tuple[str, str]]


def ran(folder: Path, more: dict[str, str], class_path: str | None = None) -> Ran:
    folder.mkdir()
    with recording(folder.with_suffix(".calls")) as calls:
        given = dict(os.environ)
        given.pop(jvm.CLASS_PATH, None)
        given |= {} if class_path is None else {jvm.CLASS_PATH: class_path}
        command = [sys.executable, "-c", PROGRAM, str(folder), json.dumps(more)]
        done = subprocess.run(command, env=given, check=True, stdout=subprocess.PIPE, text=True)
        paths = [path for path in folder.rglob("*") if path.parent != folder]
        modes = {(path.suffix, oct(path.stat().st_mode)) for path in paths}
        return Ran(json.loads(done.stdout.splitlines()[-1]), calls(), modes)


def test_a_local_session_makes_the_same_files_without_a_process(tmp_path: Path) -> None:
    found = ran(tmp_path / "found", {})
    assert found.said == {"system": OURS, "rows": [0, 1, 2], "class_path": None}
    assert found.calls == []
    # What a caller says is kept.
    usual = ran(tmp_path / "usual", {"spark.hadoop.fs.file.impl": HADOOPS}, class_path="given")
    assert usual.said == {"system": HADOOPS, "rows": [0, 1, 2], "class_path": "given"}
    assert len(usual.calls) > 50
    assert found.modes == usual.modes
    assert {suffix for suffix, _ in found.modes} >= {"", ".crc", ".changelog", ".parquet"}
