"""The parts of a nightly run, which have names and can be run one by one."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from chaos.nightly.judged import ENGINE, JOB, MODELS

Need = Literal["containers", "flink", "hadoop", "mutants"]
"""What a part needs beyond the checkout: a Docker engine with our images and a browser; Flink;
Hadoop; the environment that makes mutants."""

PLANS = Path("chaos") / "plans"
_SIMULATIONS = 3
_RUNS = 10_000
_MUTANTS = 30
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
    *(
        "tests/unit/engine",
        "tests/unit/runtime",
        "tests/unit/sinks",
        "tests/unit/conformance",
        "tests/unit/checkpoints",
    ),
    "tests/unit/slackwater/test_inputs.py",
)
PROBES = Path("docs") / "probes"
_ON_YARN = ("tests/night/test_hdfs.py", "tests/night/test_yarn.py")


@dataclass(frozen=True)
class Part:
    """One part of a night.

    Attributes:
        name: its name; a prefix with a colon names its group.
        command: the command, run in the checkout.
        environment: additional environment variables.
        needs: what the machine must have.
        judges: the folders whose code the verdict is about.
        seeded: whether the command takes `--seed`, and gets another one each time.
        report: folder of the chaos report that the command writes; None: it writes none.
        cases: folder in which the command keeps the cases of failed simulated runs, if it does.
    """

    name: str
    command: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)
    needs: tuple[Need, ...] = ()
    judges: tuple[str, ...] = JOB
    seeded: bool = False
    report: Path | None = None
    cases: Path | None = None


def all_parts(work: Path) -> list[Part]:
    """List every part of a night, in the order in which they run and stand on the page.

    Args:
        work: folder for what they write: a report of each chaos plan, and cases.
    """
    long = {"HYPOTHESIS_PROFILE": "nightly"}
    tests = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--timeout=0")
    spread = ("-n", str(os.cpu_count() or 1), "--dist", "worksteal")
    steps = {"LIFE_STEPS": "40", "LIFE_EXAMPLES": "5"}
    simulate = _slackwater("chaos", "simulate")
    return [
        Part("classes", (*tests, *spread, *_WHOLE), long, judges=ENGINE),
        Part("cluster", (*tests, "tests/night/test_first_cluster.py")),
        Part("fixtures", (*tests, "tests/night/test_job_under_test.py")),
        Part("benchmarks", (*tests, "tests/night/test_benchmark.py")),
        Part("fuzz", (*tests, *spread, "tests/unit/fuzz"), long),
        *(_simulated(number, work) for number in range(1, _SIMULATIONS + 1)),
        Part("pairs", (*tests, "tests/night/test_pairs.py"), judges=ENGINE),
        Part("life", (*tests, "tests/stack/test_life.py", "tests/night/test_life.py"), steps),
        *(_probe(name, arguments) for name, arguments in _PROBED.items()),
        Part("engines", (*tests, "tests/night/test_engines.py"), needs=("flink",), judges=MODELS),
        Part("spark", (*tests, "tests/night/spark")),
        Part("flink", (*tests, "tests/night/test_flink.py"), needs=("flink",)),
        Part("guilty", (*simulate, "--guilty", "all"), judges=ENGINE, seeded=True),
        Part("mutants:drawn", (*tests, "tests/night/test_mutants.py"), needs=("mutants",)),
        Part(
            "mutants",
            _slackwater("chaos", "mutants", "--number", str(_MUTANTS)),
            needs=("mutants",),
            judges=ENGINE,
        ),
        *(_plan(file, work) for file in sorted(PLANS.glob("*.yml"))),
        *(_plan(file, work) for file in sorted((PLANS / "quick").glob("*.yml"))),
        Part("yarn:tests", (*tests, *_ON_YARN), needs=("hadoop",)),
        Part("containers:tests", (*tests, "tests/night/containers"), needs=("containers",)),
        *(_plan(file, work, "hadoop") for file in sorted((PLANS / "yarn").glob("*.yml"))),
        *(_plan(file, work, "containers") for file in sorted((PLANS / "containers").glob("*.yml"))),
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


def _group(part: Part) -> str:
    return part.name.partition(":")[0]


def _slackwater(*arguments: str) -> tuple[str, ...]:
    return (sys.executable, "-m", "slackwater.main", *arguments)


def _simulated(number: int, work: Path) -> Part:
    """Simulate; the part has a number, so that one night can draw several seeds."""
    kept = work / f"cases-{number}"
    command = _slackwater("chaos", "simulate", "--runs", str(_RUNS), "--keep", str(kept))
    return Part(f"simulate:{number}", command, judges=ENGINE, seeded=True, cases=kept)


def _probe(name: str, arguments: Sequence[str]) -> Part:
    """Probe a live engine; the part passes if the engine is what the committed table says."""
    command = _slackwater("secret", "probe", *arguments, "--record", str(PROBES))
    needs: tuple[Need, ...] = ("flink",) if arguments[0] == "flink" else ()
    judges = JOB if arguments[0] == "slackwater" else MODELS
    return Part(f"probe:{name}", command, needs=needs, judges=judges)


def _plan(file: Path, work: Path, need: Need | None = None) -> Part:
    group = "plan" if file.parent == PLANS else file.parent.name
    folder = work / "reports" / f"{group}-{file.stem}"
    command = _slackwater("chaos", "run", str(file), "--report", str(folder))
    if need is not None:  # the plan's folder is named after the stack that it needs
        command += ("--stack", group)
    needs = () if need is None else (need,)
    return Part(f"{group}:{file.stem}", command, needs=needs, seeded=True, report=folder)
