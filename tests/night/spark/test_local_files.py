"""A local session makes the files that Hadoop's own file system makes, without processes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from infra import jvm
from tests.chmod import recording

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
