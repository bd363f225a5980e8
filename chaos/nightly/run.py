"""Run parts of a nightly run one after another; a failure does not stop the others."""

from __future__ import annotations

import os
import re
import secrets
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Self

from chaos.command import run_command
from chaos.nightly.parts import Part, digest
from chaos.nightly.verdicts import PartVerdict
from chaos.reports.pages import read_report
from chaos.verdict.check import Outcome
from infra.layout import FLINK_VENV, HADOOP_JARS, MUTANTS_VENV

_ENGINE = (sys.executable, "-m", "infra.containers")
_INSTALLED = {
    "flink": (FLINK_VENV, "make setup-flink"),
    "hadoop": (HADOOP_JARS, "make setup-yarn"),
    "mutants": (MUTANTS_VENV, "make setup-mutants"),
}


class Machine:
    """This machine, on which parts run one after another."""

    def __init__(self, logs: Path) -> None:
        self._logs = logs
        self._no_docker = ""
        self._docker = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self._stop_docker()

    def missing(self, part: Part) -> str:
        """Provide what a part needs; return what is missing, or nothing.

        A Docker engine that it starts runs until a part comes that needs none.
        """
        if "containers" in part.needs:
            return self._start_docker()
        self._stop_docker()
        for need in part.needs:
            folder, command = _INSTALLED[need]
            if not folder.exists():
                return f"{need} is not installed: {command}"
        return ""

    def _start_docker(self) -> str:
        """Provide Docker with our images, a browser and Compose; once it has failed, say so."""
        if self._docker or self._no_docker:
            return self._no_docker
        asked = ["docker", "compose", "version"]
        composes = (
            shutil.which(asked[0])
            and not subprocess.run(asked, check=False, capture_output=True).returncode
        )
        compose = [] if composes else ["docker-compose=docker-compose"]
        browser = ["chromium=chromium", "chromedriver=chromium-driver"]
        steps = {
            "packages": ["infra/missing-packages", *compose, *browser],
            "engine": [*_ENGINE, "start"],
            "images": ["infra/images/build"],
        }
        self._docker = True
        for name, command in steps.items():
            ended = run_command(command, self._logs / f"docker-{name}.log")
            if ended.code:
                self._no_docker = f"{' '.join(command)}: exit code {ended.code}: {ended.said}"
                self._stop_docker()
                break
        return self._no_docker

    def _stop_docker(self) -> None:
        if self._docker:
            self._docker = False
            subprocess.run([*_ENGINE, "stop"], check=False)


RECORDED = Path("tests") / "data" / "simulated"
"""Cases that every run of the tests replays."""

_RECORDED_MAX = 5
_COUNTS = re.compile(r"\d+ (?:passed|failed)\b")
_PLACE = re.compile(r"(?:https?:/|(?<![\w.]))(?:/[\w.@-]+)+")
_CODES = {0: Outcome.passed, 3: Outcome.unknown}
_WRITTEN = (":(top,exclude)docs/nightly", ":(top,exclude)README.md")
_CHANGED = ("status", "--porcelain", "--untracked-files=no", "--", *_WRITTEN)

NextPart = Callable[[AbstractSet[str]], Part | None]
"""Chooses the part to run next, given the names of those that cannot run here; None: the end."""


@dataclass(frozen=True)
class Night:
    """How parts are run.

    Attributes:
        news: receives the name and the log of each part that starts, and why one cannot run.
        seed: seed of all parts; None: each draws one.
        until: when the night is over, on the monotonic clock; None: never.
        recorded: folder for cases of simulated runs that failed.
    """

    logs: Path
    done: Callable[[PartVerdict], None]
    news: Callable[[str], None]
    seed: int | None = None
    until: float | None = None
    recorded: Path = field(default=RECORDED)

    def run(self, next_part: NextPart) -> tuple[list[PartVerdict], set[str]]:
        """Run parts in turn.

        Returns:
            the verdicts, and the names of the parts that cannot run on this machine.
        """
        self.logs.mkdir(parents=True, exist_ok=True)
        verdicts: list[PartVerdict] = []
        unable: set[str] = set()
        with Machine(self.logs) as machine:
            while part := next_part(unable):
                if missing := machine.missing(part):
                    unable.add(part.name)
                    self.news(f"{part.name}: cannot run on this machine: {missing}")
                    continue
                verdicts.append(self._run(part))
                self.done(verdicts[-1])
        return verdicts, unable

    def _run(self, part: Part) -> PartVerdict:
        log = self.logs / f"{part.name.replace(':', '-')}.log"
        command, seed = part.command, None
        if part.seeded:
            seed = secrets.randbelow(2**31) if self.seed is None else self.seed
            command += ("--seed", str(seed))
        self.news(f"{part.name}: begins{'' if seed is None else f', seed {seed}'}; {log}")
        if part.cases is not None:
            shutil.rmtree(part.cases, ignore_errors=True)
        engine, commit = digest(part.judges), _commit()
        began, start = datetime.now(UTC).isoformat(timespec="seconds"), time.monotonic()
        ended = run_command(command, log, part.environment, until=self.until)
        seconds = round(time.monotonic() - start, 1)
        said = said_by(log.read_text(encoding="utf-8")) or f"exit code {ended.code}"
        outcome = _CODES.get(ended.code, Outcome.failed)
        if not ended.in_time:
            outcome, said = Outcome.unknown, f"not finished: ended after {seconds} s; {said}"
        if cases := record_cases(part.cases, self.recorded):
            said += f"; recorded: {', '.join(cases)}"
        return PartVerdict(
            part=part.name,
            outcome=outcome,
            began=began,
            seconds=seconds,
            commit=commit,
            cores=os.cpu_count(),
            said=said,
            report=None if part.report is None else read_report(part.report / "report.json"),
            engine=engine,
            seed=seed,
            finished=ended.in_time,
        )


def said_by(log: str) -> str:
    """Return what a part has said of its result, without the places of this machine.

    It is the last line that counts what passed: libraries may complain behind it when Python ends.
    Without any, it is the last line.
    """
    lines = [line.strip(" =") for line in log.splitlines() if line.strip()]
    counts = [line for line in lines if _COUNTS.match(line)]
    return _PLACE.sub(lambda place: place[0].rpartition("/")[2], (counts or lines or [""])[-1])


def in_turn(parts: Sequence[Part]) -> NextPart:
    """Return a choice of each part once."""
    left = iter(parts)
    return lambda _: next(left, None)


def record_cases(kept: Path | None, recorded: Path) -> list[str]:
    """Copy the smallest cases of failed runs to where every run of the tests replays them.

    Returns:
        the names of the new files.
    """
    if kept is None or not kept.is_dir():
        return []
    smallest = sorted(kept.glob("*.json"), key=lambda file: (file.stat().st_size, file.name))
    recorded.mkdir(parents=True, exist_ok=True)
    for file in smallest[:_RECORDED_MAX]:
        shutil.copy(file, recorded / file.name)
    return [file.name for file in smallest[:_RECORDED_MAX]]


def _commit() -> str:
    """Return the checkout's commit, with a `+` if files other than the verdicts differ from it."""
    commit = _git("describe", "--always", "--exclude=*")
    return commit + "+" if _git(*_CHANGED) else commit


def _git(*arguments: str) -> str:
    done = subprocess.run(["git", *arguments], check=False, capture_output=True, text=True)
    return done.stdout.strip()
