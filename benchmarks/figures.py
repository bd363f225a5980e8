"""Figures: the machine, tables, results as JSON, the README's block, and records to be continued.

What was measured is a file that grows run by run. A ratio is taken within its round, so rounds of
several commands make one result if the code, the machine and the work are the same. Of an
interrupted round, only the cases that it finished count.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import statistics
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import psutil

from benchmarks.cases import CASE
from benchmarks.paths import BY_THE_JVM
from benchmarks.runs import OURS, RunTiming

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "benchmarks" / "README.md"
RESULTS = ROOT / "benchmarks" / "results" / "spark.json"
RECORDS = ROOT / ".slackwater" / "benchmarks"

Rounds = Mapping[str, Mapping[str, Sequence[RunTiming]]]
"""What was measured: per case and path, one run for each round."""

_RATIOS = {
    "ratio_memory": "spark in-memory",
    "ratio_rocksdb": "spark rocksdb",
    "ratio_flink": "flink sql",
    "ratio_floor": "floor",
    "ratio_stages": "bare stages",
    "ratio_by_the_jvm": BY_THE_JVM,
}


def machine() -> dict[str, Any]:
    """What the figures depend on."""
    java = subprocess.run(["java", "-version"], check=False, capture_output=True, text=True).stderr
    return {
        "cores": os.cpu_count(),
        "memory_gib": round(psutil.virtual_memory().total / 2**30),
        "processor": _processor(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "java": java.splitlines()[0] if java else "unknown",
        "pyspark": version("pyspark"),
        "polars": version("polars"),
        "load_average": round(os.getloadavg()[0], 1),
    }


def machine_line(described: Mapping[str, Any], *names: str) -> str:
    """Return what figures depend on as a sentence; with names, only these facts."""
    facts = (f"{name.replace('_', ' ')} {described[name]}" for name in names or described)
    return f"Machine: {', '.join(facts)}."


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or "unknown"
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else "unknown"


def table(rounds: Rounds, paths: Sequence[str]) -> list[list[str]]:
    """Rows of text, a header first: speed and memory per path, and ours as multiples of them."""
    columns = ["speed: ours / it, median (min – max)", "memory: ours / it"]
    rows = [["case", "events", "path", "k rows/s", columns[0], "peak, MB", columns[1]]]
    for case, by_path in rounds.items():
        ours = by_path.get(OURS, ())
        for path in paths:
            if not (runs := by_path.get(path)):
                continue
            speed = statistics.median(run.rows_per_s for run in runs)
            peak = statistics.median(run.peak_bytes for run in runs)
            ratios = ["", ""] if path == OURS else _spelled(ours, runs)
            events = f"{runs[0].rows / 1e6:.2g} M"
            cells = [f"{speed / 1000:,.0f}", ratios[0], f"{peak / 2**20:,.0f}", ratios[1]]
            rows.append([CASE[case].title, events, path, *cells])
    return rows


def _spelled(ours: Sequence[RunTiming], theirs: Sequence[RunTiming]) -> list[str]:
    if not (speeds := _speeds(ours, theirs)):
        return ["", ""]
    memory = statistics.median(_memories(ours, theirs))
    span = f"({min(speeds):.2f} – {max(speeds):.2f})"
    return [f"{statistics.median(speeds):.2f} {span}", f"{memory:.2f}"]


def _speeds(ours: Sequence[RunTiming], theirs: Sequence[RunTiming]) -> list[float]:
    """Ratios within each round, where both ran one after the other."""
    return [a.rows_per_s / b.rows_per_s for a, b in zip(ours, theirs, strict=False)]


def _memories(ours: Sequence[RunTiming], theirs: Sequence[RunTiming]) -> list[float]:
    return [a.peak_bytes / b.peak_bytes for a, b in zip(ours, theirs, strict=False)]


def ratios(by_path: Mapping[str, Sequence[RunTiming]]) -> dict[str, Any]:
    """A case's medians of ratios within rounds, and its runs.

    A ratio is null if its path did not run. `peak_memory_ratio` is the larger of those to Spark on
    either state provider.
    """
    ours = by_path[OURS]
    found: dict[str, Any] = {
        name: statistics.median(_speeds(ours, runs)) if (runs := by_path.get(path)) else None
        for name, path in _RATIOS.items()
    }
    spark = [runs for path, runs in by_path.items() if path.startswith("spark")]
    memory = (statistics.median(_memories(ours, runs)) for runs in spark)
    found["peak_memory_ratio"] = max(memory, default=None)
    found["events"] = ours[0].rows
    found["runs"] = {path: [asdict(run) for run in runs] for path, runs in by_path.items()}
    return found


def publish(rounds: Rounds, described: Mapping[str, Any], target: Path = RESULTS) -> None:
    """Write the results of complete rounds of all cases."""
    content = {case: ratios(by_path) for case, by_path in rounds.items()}
    target.parent.mkdir(exist_ok=True)
    text = json.dumps({**content, "machine": dict(described)}, indent=1)
    target.write_text(text + "\n", encoding="utf-8")


def into_readme(rows: Sequence[Sequence[str]], about: str, described: Mapping[str, Any]) -> None:
    """Replace the README's block of figures."""
    lines = [about, "", *markdown(rows), "", machine_line(described)]
    replace_block(README, "figures", lines)


def replace_block(document: Path, name: str, lines: Sequence[str]) -> None:
    """Replace what stands between the marks `name: begin` and `name: end` of a document.

    Raises:
        ValueError: the document has no such marks.
    """
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    head, found, rest = document.read_text(encoding="utf-8").partition(begin)
    _, closed, tail = rest.partition(end)
    if not (found and closed):
        msg = f"{document} has no block {begin} … {end}"
        raise ValueError(msg)
    document.write_text(head + "\n".join([begin, *lines, end]) + tail, encoding="utf-8")


def markdown(rows: Sequence[Sequence[str]]) -> list[str]:
    """The lines of a table, its header first."""
    lines = [_markdown(row) for row in rows]
    lines.insert(1, _markdown(["---"] * len(rows[0])))
    return lines


def _markdown(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


_MEASURED = ("windowing", "jobs", "benchmarks/*.py")


class OtherWorkError(ValueError):
    """A record that is of other code, another machine, or other work."""


def code() -> str:
    """Name the code that is measured, by its content as committed; `changed`: nothing names it."""

    def git(*arguments: str) -> bytes:
        command = ["git", *arguments, "--", *_MEASURED]
        return subprocess.run(command, cwd=ROOT, check=True, capture_output=True).stdout

    try:
        digest = hashlib.sha256(git("ls-files", "--stage")).hexdigest()[:12]
        return f"{digest}, changed" if git("status", "--porcelain") else digest
    except (OSError, subprocess.CalledProcessError):
        return "not of a checkout, changed"


@dataclass(frozen=True)
class Record:
    """A record that is being written."""

    file: Path
    command: Mapping[str, Any]
    described: Mapping[str, Any]

    @classmethod
    def new(cls, command: Mapping[str, Any], described: Mapping[str, Any]) -> Record:
        """Return a record under its own name."""
        RECORDS.mkdir(parents=True, exist_ok=True)
        name = f"spark-{datetime.now(UTC):%Y%m%dT%H%M%SZ}.json"
        return cls(RECORDS / name, command, described)

    def keep(self, rounds: Rounds) -> None:
        """Write everything that was measured so far."""
        runs = {
            case: {path: [asdict(run) for run in found] for path, found in by_path.items()}
            for case, by_path in rounds.items()
        }
        now = datetime.now(UTC).isoformat()
        content = {"at": now, "command": self.command, "machine": self.described, "runs": runs}
        partial = self.file.with_suffix(".partial")
        partial.write_text(json.dumps(content, indent=2), encoding="utf-8")
        partial.replace(self.file)

    def continued(self, earlier: Path) -> dict[str, dict[str, list[RunTiming]]]:
        """Return the runs of an earlier record of the same work.

        Raises:
            OtherWorkError: it is of other work, or code was changed and not committed.
        """
        found = json.loads(earlier.read_text(encoding="utf-8"))
        for what, kept, ours in [
            *_differences(found["command"], self.command, ["rounds"]),
            *_differences(found["machine"], self.described, ["load_average"]),
        ]:
            msg = f"{earlier} is of other work: its {what} is {kept}, now it would be {ours}"
            raise OtherWorkError(msg)
        if "changed" in str(self.described["code"]):
            msg = f"commit what has changed in {', '.join(_MEASURED)}: nobody could tell what ran"
            raise OtherWorkError(msg)
        return {
            case: {path: [RunTiming(**run) for run in runs] for path, runs in by_path.items()}
            for case, by_path in found["runs"].items()
        }


def _differences(
    kept: Mapping[str, Any], ours: Mapping[str, Any], ignored: Sequence[str]
) -> list[tuple[str, Any, Any]]:
    names = [name for name in {**kept, **ours} if name not in ignored]
    return [(n, kept.get(n), ours.get(n)) for n in names if kept.get(n) != ours.get(n)]
