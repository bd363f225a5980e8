"""The parts of a nightly run, which have names and can be run one by one."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

PLANS = Path("chaos") / "plans"
_SEEDS = 3
_RUNS = 10_000
_ON_FLINK = ("tests/chaos/audit/test_flink.py", "tests/other_engines/test_live_flink.py")
_ENGINES = (
    "tests/other_engines/test_probe.py",
    "tests/other_engines/test_live_engines.py",
    "tests/spark/test_live_spark.py",
)
_PROBED = {
    "spark-append": ("spark", "--mode", "append"),
    "spark-update": ("spark", "--mode", "update"),
    "spark-complete": ("spark", "--mode", "complete"),
    "flink-tvf": ("flink", "--mode", "tvf"),
    "flink-group": ("flink", "--mode", "group"),
    "slackwater": ("slackwater",),
    "slackwater-tuples": ("slackwater", "--tuples"),
    "slackwater-partitions": ("slackwater", "--mode", "partitions"),
}
_WHOLE = (
    *("tests/engine", "tests/runtime", "tests/sinks", "tests/conformance", "tests/checkpoints"),
    "tests/slackwater/test_inputs.py",
)
PROBES = Path("docs") / "probes"
_ON_YARN = ("tests/sinks/test_hdfs.py", "tests/infra/test_yarn.py", "tests/spark/test_yarn_run.py")


@dataclass(frozen=True)
class Part:
    """One part of a night.

    Attributes:
        name: its name; a prefix with a colon names its group.
        command: the command, run in the checkout.
        environment: additional environment variables.
        containers: whether it needs a Docker engine with our images, and a browser.
        report: folder of the chaos report that the command writes; None: it writes none.
    """

    name: str
    command: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)
    containers: bool = False
    report: Path | None = None


def all_parts(seed: int, reports: Path) -> list[Part]:
    """List every part of a night, in the order in which they run.

    Args:
        seed: seed of everything drawn.
        reports: folder for the reports of chaos plans, each in a folder of its own.
    """
    long = {"HYPOTHESIS_PROFILE": "nightly"}
    tests = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--timeout=0")
    spread = ("-n", str(os.cpu_count() or 1), "--dist", "worksteal")
    seeds = range(seed, seed + _SEEDS)
    return [
        Part("classes", (*tests, *spread, *_WHOLE), long),
        Part("benchmarks", (*tests, "tests/slow/test_benchmark.py")),
        Part("fuzz", (*tests, *spread, "tests/fuzz"), long),
        *(_simulated(number) for number in seeds),
        Part(
            "life", (*tests, "tests/slow/test_life.py"), {"LIFE_STEPS": "40", "LIFE_EXAMPLES": "5"}
        ),
        *(_probe(name, arguments) for name, arguments in _PROBED.items()),
        Part("engines", (*tests, *_ENGINES, "-m", "nightly")),
        Part("spark", (*tests, "tests/spark", *_left_out(*_ON_YARN, *_ENGINES), "-m", "nightly")),
        Part("flink", (*tests, *_ON_FLINK)),
        Part("guilty", _slackwater("chaos", "simulate", "--guilty", "all")),
        *(_plan(file, seed, reports) for file in sorted(PLANS.glob("*.yml"))),
        *(_plan(file, seed, reports) for file in sorted((PLANS / "quick").glob("*.yml"))),
        Part("yarn:tests", (*tests, *_ON_YARN)),
        Part("containers:tests", (*tests, "tests/containers", "-m", "nightly"), containers=True),
        *(
            _plan(file, seed, reports, stack=stack)
            for stack in ("yarn", "containers")
            for file in sorted((PLANS / stack).glob("*.yml"))
        ),
    ]


def choose(parts: Sequence[Part], names: Sequence[str]) -> list[Part]:
    """Select parts by their names or groups; all parts if there are no names.

    Raises:
        ValueError: a name is unknown; lists the known ones.
    """
    if not names:
        return list(parts)
    known = {part.name for part in parts} | {_group(part) for part in parts}
    for name in names:
        if name not in known:
            listed = ", ".join(part.name for part in parts)
            msg = f"{name!r} is not a part of the nightly run; there are {listed}"
            raise ValueError(msg)
    return [part for part in parts if part.name in names or _group(part) in names]


def _left_out(*files: str) -> list[str]:
    return [f"--ignore={file}" for file in files]


def _group(part: Part) -> str:
    return part.name.partition(":")[0]


def _slackwater(*arguments: str) -> tuple[str, ...]:
    return (sys.executable, "-m", "slackwater.main", *arguments)


def _simulated(seed: int) -> Part:
    command = _slackwater("chaos", "simulate", "--runs", str(_RUNS), "--seed", str(seed))
    return Part(f"simulate:{seed}", command)


def _probe(name: str, arguments: Sequence[str]) -> Part:
    """Probe a live engine; the part passes if the engine is what the committed table says."""
    command = _slackwater("secret", "probe", *arguments, "--record", str(PROBES))
    return Part(f"probe:{name}", command)


def _plan(file: Path, seed: int, reports: Path, *, stack: str = "local") -> Part:
    group = "plan" if file.parent == PLANS else file.parent.name
    folder = reports / f"{group}-{file.stem}"
    arguments = ["chaos", "run", str(file), "--seed", str(seed), "--report", str(folder)]
    if stack != "local":
        arguments += ["--stack", stack]
    command = _slackwater(*arguments)
    return Part(f"{group}:{file.stem}", command, containers=stack == "containers", report=folder)
