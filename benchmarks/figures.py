"""Figures: the machine, the table of ratios, the raw record, and the README's block."""

from __future__ import annotations

import json
import os
import platform
import statistics
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import psutil

from benchmarks.paths import OURS, Timing

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "benchmarks" / "README.md"
RECORDS = ROOT / ".slackwater" / "benchmarks"

# Per workload and path, one timing per round.
Timings = Mapping[str, Mapping[str, Sequence[Timing]]]


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


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or "unknown"
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else "unknown"


def table(timings: Timings, paths: Sequence[str]) -> list[list[str]]:
    """Rows of text, a header first: speed per path, and ours as a multiple of each, by round."""
    header = ["windows", "path", "k rows/s", "ours / it: median (min – max)", "first batch, s"]
    rows = [header]
    for workload, by_path in timings.items():
        ours = by_path.get(OURS.name, ())
        for path in paths:
            runs = by_path.get(path)
            if not runs:
                rows.append([workload, path, "left out", "", ""])
                continue
            speed = statistics.median(run.rows_per_s for run in runs)
            first = statistics.median(run.first_s for run in runs)
            rows.append(
                [workload, path, f"{speed / 1000:,.0f}", _ratios(ours, runs), f"{first:.1f}"]
            )
    return rows


def _ratios(ours: Sequence[Timing], theirs: Sequence[Timing]) -> str:
    """Ratios within each round, where both ran one after the other."""
    if ours is theirs or not ours:
        return ""
    ratios = [a.rows_per_s / b.rows_per_s for a, b in zip(ours, theirs, strict=False)]
    return f"{statistics.median(ratios):.2f} ({min(ratios):.2f} – {max(ratios):.2f})"


def record(command: Mapping[str, Any], timings: Timings, described: Mapping[str, Any]) -> Path:
    """Write everything that was measured as JSON."""
    now = datetime.now(UTC)
    RECORDS.mkdir(parents=True, exist_ok=True)
    target = RECORDS / f"spark-{now:%Y%m%dT%H%M%SZ}.json"
    runs = {
        workload: {path: [asdict(run) for run in found] for path, found in by_path.items()}
        for workload, by_path in timings.items()
    }
    content = {"at": now.isoformat(), "command": command, "machine": described, "runs": runs}
    target.write_text(json.dumps(content, indent=2), encoding="utf-8")
    return target


def into_readme(rows: Sequence[Sequence[str]], about: str, described: Mapping[str, Any]) -> None:
    """Replace the README's block of figures."""
    on = ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in described.items())
    replace_block(README, "figures", [about, "", *markdown(rows), "", f"Machine: {on}."])


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
