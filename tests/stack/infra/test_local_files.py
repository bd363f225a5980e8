"""Jobs of the cluster make local files without processes, in the driver and in executors."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from infra import spark, spark_rest, stack
from infra.driver import ALIVE
from infra.endpoints import Endpoints
from infra.layout import LOCAL_FILES_JARS, Layout
from infra.spark_processes import cluster_processes
from tests.chmod import recording

JOB = """
import sys, time
from pathlib import Path
from jobs.session import session

folder = Path(sys.argv[1])
spark = session("local files", parallelism=2)
spark.range(0, 100, numPartitions=4).write.parquet(f"{folder}/in")
read = spark.readStream.schema("id long").parquet(f"{folder}/in").dropDuplicates()
write = read.writeStream.option("checkpointLocation", f"{folder}/checkpoint")
write.trigger(availableNow=True).start(f"{folder}/out").awaitTermination()
hadoop = spark._jsc.hadoopConfiguration()
system = spark._jvm.org.apache.hadoop.fs.FileSystem.get(hadoop).getClass().getSimpleName()
said = f"{system} {spark.read.parquet(f'{folder}/out').count()}"
(folder / "part").write_text(said)
(folder / "part").rename(folder / "said")
time.sleep(600)
"""

Started = tuple[Endpoints, Layout, Callable[[], list[str]]]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Started]:
    folder = tmp_path_factory.mktemp("spark")
    layout = Layout(folder / "state")
    with recording(folder / "calls") as calls:
        try:
            yield stack.up(only=["spark"], layout=layout), layout, calls
        finally:
            stack.down(layout=layout)


def test_drivers_and_executors_start_no_process_for_a_file(
    cluster: Started, tmp_path: Path
) -> None:
    endpoints, layout, calls = cluster
    job, said = tmp_path / "job.py", tmp_path / "said"
    job.write_text(JOB)
    one = spark_rest.submit(endpoints, job, [str(tmp_path)], name="files", supervise=False)
    try:
        until(lambda: said.exists() or spark_rest.status(endpoints, one).state not in ALIVE)
        assert said.read_text() == "BareLocalFileSystem 100"
        workers = [stack.process_of(name, layout=layout) for name in spark.WORKER_DAEMONS]
        jvms = [one for one in cluster_processes(workers) if one.kind in ("driver", "executor")]
        assert [one.kind for one in jvms].count("executor") == len(workers)
        assert [one.kind for one in jvms].count("driver") == 1
        for jvm in jvms:
            line = psutil.Process(jvm.process.pid).cmdline()
            assert f"{LOCAL_FILES_JARS}/" in line[line.index("-cp") + 1]
    finally:
        spark_rest.kill(endpoints, one)
    # Spark itself calls it for what it fetches into the work folders of a driver and of executors;
    # so it would have been seen.
    of_spark = [line for line in calls() if line.startswith("a+x ")]
    assert len({Path(line.split()[1]).parent for line in of_spark}) == len(jvms)
    assert calls() == of_spark


def until(true: Callable[[], object]) -> None:
    end = time.monotonic() + 120
    while not true():
        assert time.monotonic() < end
        time.sleep(0.1)
