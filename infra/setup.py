"""Prepares a fresh checkout: `python3 -m infra.setup`, which `make setup` runs.

For an installed package, `slackwater setup` installs what pip does not: Airflow and jars.

Needs Python 3.11+ with pip, Java 17+ and Maven; uses the standard library only. Each step keeps a
stamp with a hash of its inputs, so a second run installs nothing. Independent steps run together.
"""

import argparse
import hashlib
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Collection
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path

from infra import jars
from infra.layout import (
    AIRFLOW_VENV,
    FLINK_VENV,
    HOME,
    MUTANTS_VENV,
    PACKAGED,
    ROOT,
    STAMPS,
    UV,
    VENV,
    Layout,
)
from infra.locks import locked

REQUIREMENTS = ROOT / "infra" / "requirements"
POMS = ROOT / "infra" / "jvm"
HADOOP_POM = POMS / "hadoop" / "pom.xml"
LOGS = Layout(HOME).logs
PYTHON_MIN = (3, 11)
JAVA_MIN = 17
LOCKS = ("uv", "build", "main", "airflow", "flink", "mutants")
PACKAGES = ("chaos", "conformance", "dags", "infra", "jobs", "slackwater", "windowing")


class SetupError(Exception):
    """The machine lacks something, or a step failed; the text says what to do."""


@dataclass(frozen=True)
class Step:
    """One thing to install.

    Attributes:
        name: what the user sees, and the name of the stamp and of the log.
        inputs: files whose content decides whether the step must run again.
        output: exists once the step is done.
        run: carries it out; gets the log file to write to.
        after: names of the steps that must be done first; when one of them changes, this step runs
            again.
        optional: whether it runs only if it is named.
    """

    name: str
    inputs: tuple[Path, ...]
    output: Path
    run: Callable[[Path], None]
    after: tuple[str, ...] = ()
    optional: bool = False


def steps() -> tuple[Step, ...]:
    """List what has to be installed, in an order that respects `after`."""
    poms = tuple(sorted(set(POMS.rglob("pom.xml")) - {HADOOP_POM}))
    hadoop = (POMS / "pom.xml", HADOOP_POM, jars.HADOOP_LOCK)
    build, locked = REQUIREMENTS / "build.txt", REQUIREMENTS / "airflow.txt"
    airflow = AIRFLOW_VENV / "bin" / "airflow"
    listed = [
        Step("uv", (REQUIREMENTS / "uv.txt",), UV, _install_uv),
        Step("jvm", (*poms, jars.LOCK), HOME / "jvm", _install_jars),
        Step("hadoop", hadoop, HOME / "hadoop", _install_hadoop, optional=True),
        Step("airflow", (locked, build), airflow, _install_airflow, ("uv",)),
    ]
    if PACKAGED:  # pip has installed the rest
        return tuple(listed)
    python = VENV / "bin" / "python"
    main = REQUIREMENTS / "main.txt"
    run = partial(_install_environment, VENV, main)
    listed.append(Step("python", (main, build), python, run, ("uv",)))
    project = ROOT / "pyproject.toml"
    if project.exists():
        command = VENV / "bin" / "slackwater"
        listed.append(Step("slackwater", (project,), command, _install_project, ("python",)))
    for name, target in (("flink", FLINK_VENV), ("mutants", MUTANTS_VENV)):
        lock, output = REQUIREMENTS / f"{name}.txt", target / "bin" / "python"
        run = partial(_install_environment, target, lock)
        listed.append(Step(name, (lock, build), output, run, ("uv",), optional=True))
    return tuple(listed)


# --- the steps ---------------------------------------------------------------------------------


def _install_uv(log: Path) -> None:
    target = UV.parent.parent
    shutil.rmtree(target, ignore_errors=True)
    lock = str(REQUIREMENTS / "uv.txt")
    pip = [sys.executable, "-m", "pip", "install", "--no-input", "--disable-pip-version-check"]
    _run([*pip, "--require-hashes", "--target", str(target), "-r", lock], log)


def _install_jars(log: Path) -> None:
    _install_locked(POMS / "pom.xml", HOME / "jvm", jars.LOCK, log)


def _install_hadoop(log: Path) -> None:
    _install_locked(HADOOP_POM, HOME / "hadoop", jars.HADOOP_LOCK, log)


def _install_locked(pom: Path, target: Path, lock: Path, log: Path) -> None:
    shutil.rmtree(target, ignore_errors=True)
    fresh = _fetch_jars(pom, target, log)
    if complaint := jars.complaint(fresh, lock):
        text = (
            f"{complaint}: nothing was installed. Is the mirror sound? After a change of "
            f"infra/jvm run `make lock`, and read what it changes in {lock.relative_to(ROOT)}"
        )
        raise SetupError(text)
    fresh.rename(target)


def _fetch_jars(pom: Path, target: Path, log: Path) -> Path:
    """Have Maven resolve and fetch; return the folder, which may be partly filled already."""
    fresh = target.with_name(f"{target.name}.part")  # partial or foreign, it never looks installed
    shutil.rmtree(fresh, ignore_errors=True)
    maven = ["mvn", "--batch-mode", "--strict-checksums", "--no-transfer-progress"]
    _run([*maven, "-f", str(pom), f"-Djars={fresh}", "generate-resources"], log)
    return fresh


def _install_airflow(log: Path) -> None:
    _install_environment(AIRFLOW_VENV, REQUIREMENTS / "airflow.txt", log)
    if PACKAGED:  # DAGs read pipeline files; the rest of our environment must stay out of theirs
        packages = next(AIRFLOW_VENV.glob("lib/python3*/site-packages"))
        (packages / "windowing").unlink(missing_ok=True)
        (packages / "windowing").symlink_to(ROOT.parents[1] / "windowing")


def _install_environment(target: Path, lock: Path, log: Path) -> None:
    python = target / "bin" / "python"
    if not python.exists():
        base = getattr(sys, "_base_executable", None) or sys.executable
        _run([str(UV), "venv", "--clear", "--python", base, str(target)], log)
    # Source-only packages are built by locked tools too.
    options = ["--require-hashes", "--build-constraints", str(REQUIREMENTS / "build.txt")]
    _run([str(UV), "pip", "sync", "--python", str(python), *options, str(lock)], log)


def _install_project(log: Path) -> None:
    # The build back end is in the lock; without isolation nothing unlocked is fetched.
    options = ["--no-deps", "--no-build-isolation", "--editable", str(ROOT)]
    python = str(VENV / "bin" / "python")
    _run([str(UV), "pip", "install", "--python", python, *options], log)
    _run([python, "-m", "compileall", "-q", *PACKAGES], log)
    _run([python, "-m", "windowing.engine.loops"], log)


def lock_requirements(log: Path) -> None:
    """Resolve everything again into lock files for Python and jars: hashes, without addresses."""
    log.parent.mkdir(parents=True, exist_ok=True)
    for name in LOCKS:
        source, lock = f"{name}.in", f"{name}.txt"
        command = [str(UV), "pip", "compile", "--generate-hashes", "--no-header", "--upgrade"]
        command += ["--python-version", ".".join(map(str, PYTHON_MIN)), source, "-o", lock]
        _run(command, log, cwd=REQUIREMENTS)
    jars.write(_fetch_jars(POMS / "pom.xml", HOME / "jvm", log))
    jars.write(_fetch_jars(HADOOP_POM, HOME / "hadoop", log), jars.HADOOP_LOCK)


def _run(command: list[str], log: Path, cwd: Path = ROOT) -> None:
    environment = {
        **os.environ,
        "UV_PYTHON_DOWNLOADS": "never",
        "UV_NO_PROGRESS": "1",
        # Many short-lived processes import it, and some may not write bytecode.
        "UV_COMPILE_BYTECODE": "1",
    }
    environment.pop("VIRTUAL_ENV", None)
    with log.open("ab") as out:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            cwd=cwd,
            env=environment,
            check=False,
        )
    if done.returncode != 0:
        text = (
            f"{Path(command[0]).name} ended with code {done.returncode}; its last words:\n"
            f"{_tail(log)}\nThe whole log: {log}"
        )
        raise SetupError(text)


def _tail(log: Path, lines: int = 8) -> str:
    text = log.read_text(errors="replace").strip().splitlines()
    return "\n".join("    " + line for line in text[-lines:])


# --- what must be there ------------------------------------------------------------------------


def check_machine(names: Collection[str]) -> None:
    """Look for Python and Java, and for pip and Maven where a step needs them.

    Args:
        names: of the steps that will run.

    Raises:
        SetupError: one of them is missing or too old; says which, and what to install.
    """
    if sys.version_info < PYTHON_MIN:
        found = ".".join(map(str, sys.version_info[:3]))
        raise SetupError(f"Python {found} is too old: 3.11 is needed; try `make PYTHON=python3.11`")
    if "uv" in names and find_spec("pip") is None:
        text = f"{sys.executable} has no pip: `deactivate`, or try `make PYTHON=/usr/bin/python3`"
        raise SetupError(text)
    java = java_version()
    if java is None:
        text = (
            "Java is missing: Kafka and Spark need 17 or newer. "
            "Install a JDK (Debian: apt-get install openjdk-17-jdk-headless) or set JAVA_HOME."
        )
        raise SetupError(text)
    if java < JAVA_MIN:
        text = f"Java {java} is too old: Kafka and Spark need 17 or newer. Set JAVA_HOME to one."
        raise SetupError(text)
    if not {"jvm", "hadoop"}.isdisjoint(names) and shutil.which("mvn") is None:
        text = (
            "Maven is missing: it fetches Kafka and Spark's Kafka connector. "
            "Install it (Debian: apt-get install maven) and see that `mvn` is on the PATH."
        )
        raise SetupError(text)


def java_command() -> str | None:
    """Find the `java` that the stack will use: like Spark, JAVA_HOME first, then the PATH."""
    home = os.environ.get("JAVA_HOME")
    if home:
        inside = Path(home) / "bin" / "java"
        return str(inside) if inside.exists() else None
    return shutil.which("java")


def java_version() -> int | None:
    """Ask Java for its major version; None if no Java answers."""
    command = java_command()
    if command is None:
        return None
    asked = subprocess.run([command, "-version"], capture_output=True, text=True, check=False)
    found = re.search(r'version "(?:1\.)?(\d+)', asked.stderr)
    return int(found.group(1)) if found else None


# --- running the steps -------------------------------------------------------------------------


def _wanted(step: Step, stamps: dict[str, str]) -> str:
    """Return the hash that the step's stamp must hold; it includes other steps' stamps."""
    digest = hashlib.sha256(f"{sys.version_info[:2]} {step.name}".encode())
    for path in step.inputs:
        digest.update(str(path.relative_to(ROOT)).encode() + b"\0" + path.read_bytes())
    for name in step.after:
        digest.update(stamps[name].encode())
    return digest.hexdigest()


def _is_done(step: Step, stamp: str) -> bool:
    try:
        return (STAMPS / step.name).read_text() == stamp and step.output.exists()
    except FileNotFoundError:
        return False


def _perform(step: Step, stamp: str) -> float:
    log = LOGS / f"setup-{step.name}.log"
    log.unlink(missing_ok=True)
    (STAMPS / step.name).unlink(missing_ok=True)
    began = time.monotonic()
    step.run(log)
    if not step.output.exists():
        text = f"step {step.name} made no {step.output.relative_to(ROOT)}; see {log}"
        raise SetupError(text)
    (STAMPS / step.name).write_text(stamp)
    return time.monotonic() - began


def install(say: Callable[[str], None], only: Collection[str] = ()) -> int:
    """Run the steps that are not done yet, in parallel as far as their order allows.

    Args:
        say: gets one line when a step starts and one when it is done.
        only: names of the wanted steps; empty for all that are not optional. The steps before them
            must be done already, or be wanted too.

    Returns:
        The number of steps that ran.

    Raises:
        SetupError: the machine lacks something, or a step failed.
    """
    stamps: dict[str, str] = {}
    for step in steps():
        stamps[step.name] = _wanted(step, stamps)
    wanted = [s for s in steps() if (s.name in only if only else not s.optional)]
    todo = [step for step in wanted if not _is_done(step, stamps[step.name])]
    if not todo:
        return 0
    check_machine([step.name for step in todo])
    for folder in (STAMPS, LOGS):
        folder.mkdir(parents=True, exist_ok=True)
    _run_all(todo, stamps, say)
    return len(todo)


def _run_all(todo: list[Step], stamps: dict[str, str], say: Callable[[str], None]) -> None:
    waiting = {step.name: step for step in todo}
    running: dict[Future[float], str] = {}
    with ThreadPoolExecutor(max_workers=len(todo)) as pool:
        while waiting or running:
            unfinished = set(waiting) | set(running.values())
            for name in [n for n, s in waiting.items() if not unfinished.intersection(s.after)]:
                say(f"setup  {name:<11} …")
                step = waiting.pop(name)
                running[pool.submit(_perform, step, stamps[name])] = name
            done, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in done:
                name = running.pop(future)
                say(f"setup  {name:<11} done in {future.result():.1f} s")


def run(*, lock: bool = False, only: Collection[str] = ()) -> int:
    """Run the set-up, report progress, and return the exit code.

    Args:
        lock: resolve the requirements again first.
        only: names of the steps wanted; empty for all.
    """

    def say(line: str) -> None:
        sys.stdout.write(line + "\n")
        sys.stdout.flush()

    began = time.monotonic()
    try:
        with locked(HOME / "setup.lock"):
            # New locks need not match the current ones.
            ran = install(say, ("uv",) if lock else only)
            if lock:
                say(f"lock   resolving {', '.join(LOCKS)} and the jars …")
                lock_requirements(LOGS / "lock.log")
                ran += install(say, only)
    except SetupError as error:
        sys.stderr.write(f"setup failed: {error}\n")
        return 1
    except OSError as error:
        sys.stderr.write(f"setup failed: {error}. Is the disk full, or the folder read-only?\n")
        return 1
    if ran:
        say(f"setup  all done in {time.monotonic() - began:.1f} s")
    return 0


def main() -> int:
    """Run the set-up, or re-lock the requirements with `--lock`; return the exit code."""
    parser = argparse.ArgumentParser(description="Install what the project needs.")
    parser.add_argument("--lock", action="store_true", help="resolve the requirements again")
    names = [step.name for step in steps()]
    parser.add_argument("--only", nargs="+", choices=names, default=(), help="these steps alone")
    arguments = parser.parse_args()
    return run(lock=arguments.lock, only=arguments.only)


if __name__ == "__main__":
    sys.exit(main())
