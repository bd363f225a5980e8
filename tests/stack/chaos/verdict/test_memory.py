"""Memory of `verify` does not follow the length of the log."""

import json
import subprocess
import sys
from pathlib import Path

PIPELINE = """
name: p
source:
  topic: s
  partitions: 2
  format: json
  event_time: {field: ts, unit: ms}
  fields: {k: string, x: float}
  disorder: {slack: 1 s}
queries:
  slides:
    window: RANGE 4 s SLIDE 2 s WATTR ts
    group_by: [k]
    aggregates: {n: count, sum: sum(x)}
"""

# The largest memory of all processes that it has waited for, in KiB.
MEASURED = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""


def peak_mib(folder: Path, records: int) -> float:
    """Verify the right output of a log of this length; return the peak memory in MiB."""
    pipeline, log, output = (folder / name for name in ("p.yml", "events.jsonl", "out.jsonl"))
    pipeline.write_text(PIPELINE)
    with log.open("w") as file:
        for at in range(records):
            value = {"ts": at, "k": f"user-{at % 97}", "x": at / 8}
            event = {"source": "s", "partition": at % 2, "offset": at, "value": value}
            file.write(json.dumps(event) + "\n")
    slackwater = (sys.executable, "-m", "slackwater")
    subprocess.run([*slackwater, "run", pipeline, "--input", log, "--output", output], check=True)
    verify = (*slackwater, "verify", pipeline, "--input", log, "--output", output)
    options = ("--memory", "64MB", "--jobs", "1")
    measured = subprocess.run(
        [sys.executable, "-c", MEASURED, *verify, *options],
        check=True,
        capture_output=True,
        text=True,
    )
    *said, kib = measured.stdout.splitlines()
    assert said[-1] == "lost 0, duplicated 0, differing 0"
    return int(kib) / 1024


def test_four_times_the_log_takes_little_more_memory(tmp_path: Path) -> None:
    # Kept in memory, a record takes 1 KiB and more: 36,000 of them 36 MiB.
    short, long = peak_mib(tmp_path, 12_000), peak_mib(tmp_path, 48_000)
    assert long - short < 18
