"""The parts of a nightly run, which have names and can be run one by one."""

from __future__ import annotations

import hashlib
import io
import os
import sys
import tokenize
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Literal

ENGINE = ("windowing",)
"""What every run computes with: model, engine, definition, runtime and Spark's half."""

JOB = ("windowing", "jobs")
"""The engine, and the job that runs it on a cluster."""

MODELS = ("windowing/research/engines", "jobs/live_engines")
"""The models of other engines, and what runs these live."""

_APART = ("windowing/research/engines", "windowing/explain", "jobs/live_engines")
_BEFORE_A_STATEMENT = {tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING}
_DIGITS = 12


def digest(rooms: Sequence[str]) -> str:
    """Return a digest of the files of some folders, by names and contents.

    Comments and docstrings do not count: they change no result, and hours of evidence should not
    be lost to a better word. It is the same on every machine and version of Python, and does not
    depend on commits. Models of other engines and explanations count only where they are named.

    Args:
        rooms: folders, relative to the working directory.

    Raises:
        FileNotFoundError: there is no such folder.
    """
    found = hashlib.sha256()
    for file in sorted(_files(rooms)):
        content = file.read_bytes()
        if file.suffix == ".py":
            content = code(content).encode()
        for part in (file.as_posix().encode(), content):
            found.update(len(part).to_bytes(8, "big") + part)
    return found.hexdigest()[:_DIGITS]


@cache
def code(source: bytes) -> str:
    """Return Python source without comments, docstrings and empty lines."""
    lines = io.TextIOWrapper(io.BytesIO(source), "utf-8").readlines()
    tokens = list(tokenize.tokenize(io.BytesIO(source).readline))
    words = [token for token in tokens if token.type not in {tokenize.NL, tokenize.COMMENT}]
    spans = [token for token in tokens if token.type == tokenize.COMMENT]
    spans += [
        token
        for before, token, after in zip(words, words[1:], words[2:], strict=False)
        if token.type == tokenize.STRING
        and before.type in _BEFORE_A_STATEMENT
        and after.type == tokenize.NEWLINE
    ]
    for span in sorted(spans, key=lambda token: token.start, reverse=True):
        (first, start), (last, end) = span.start, span.end
        lines[first - 1 : last] = [lines[first - 1][:start] + lines[last - 1][end:]]
    return "\n".join(line.rstrip() for line in lines if line.strip())


def _files(rooms: Sequence[str]) -> Iterator[Path]:
    apart = [Path(room) for room in _APART if room not in rooms]
    for room in rooms:
        if not Path(room).is_dir():  # it has moved: nothing would ever be outdated
            raise FileNotFoundError(room)
        for file in Path(room).rglob("*"):
            inside = set(file.parents)
            if file.is_file() and "__pycache__" not in file.parts and inside.isdisjoint(apart):
                yield file


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
