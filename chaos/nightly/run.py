"""Run parts of a nightly run one after another; a failure does not stop the others."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from chaos.nightly.parts import Part
from chaos.nightly.verdicts import PartVerdict
from chaos.reports.contents import read_report
from chaos.verdict.check import Outcome

_CODES = {0: Outcome.passed, 3: Outcome.unknown}
_ENGINE = (sys.executable, "-m", "infra.containers")
_CHANGED = ("status", "--porcelain", "--untracked-files=no", "--", ":(top,exclude)docs/nightly")


def run_parts(
    parts: Sequence[Part],
    logs: Path,
    done: Callable[[PartVerdict], None],
    news: Callable[[str], None],
) -> list[PartVerdict]:
    """Run parts in turn, with a Docker engine for those that need one.

    Args:
        parts: the parts.
        logs: folder for a log of each part.
        done: called with each verdict as soon as it is known.
        news: receives the name and the log of each part that starts.
    """
    logs.mkdir(parents=True, exist_ok=True)
    verdicts = []
    alone = [part for part in parts if not part.containers]
    contained = [part for part in parts if part.containers]
    for part in alone:
        verdicts.append(_run(part, logs, news))
        done(verdicts[-1])
    if contained:
        with _docker(logs) as missing:
            for part in contained:
                verdicts.append(_run(part, logs, news) if not missing else _not_run(part, missing))
                done(verdicts[-1])
    return verdicts


def _run(part: Part, logs: Path, news: Callable[[str], None]) -> PartVerdict:
    log = logs / f"{part.name.replace(':', '-')}.log"
    news(f"{part.name}: begins; {log}")
    began, start = _now(), time.monotonic()
    code, said = _command(part.command, log, part.environment)
    return PartVerdict(
        part=part.name,
        outcome=_CODES.get(code, Outcome.failed),
        began=began,
        seconds=round(time.monotonic() - start, 1),
        commit=_commit(),
        cores=os.cpu_count(),
        said=said or f"exit code {code}",
        report=None if part.report is None else read_report(part.report / "report.json"),
    )


def _not_run(part: Part, why: str) -> PartVerdict:
    return PartVerdict(part.name, Outcome.failed, _now(), 0.0, _commit(), os.cpu_count(), why)


def _command(
    command: Sequence[str], log: Path, environment: Mapping[str, str] | None = None
) -> tuple[int, str]:
    """Run a command to its end; return its exit code and its last line of output."""
    merged = {**os.environ, **(environment or {})}
    last: deque[str] = deque(maxlen=1)
    with (
        log.open("w", encoding="utf-8") as file,
        subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=merged, text=True
        ) as process,
    ):
        assert process.stdout is not None  # noqa: S101 - it was asked for
        try:
            for line in process.stdout:
                file.write(line)
                file.flush()
                if line.strip():
                    last.append(line.strip())
        except BaseException:
            process.terminate()
            raise
    return process.returncode, last[0] if last else ""


@contextmanager
def _docker(logs: Path) -> Iterator[str]:
    """Provide Docker with our images, a browser and Compose; yield what is missing, if anything."""
    compose = ["docker-compose=docker-compose"]
    if (
        subprocess.run(
            ["docker", "compose", "version"], check=False, capture_output=True
        ).returncode
        == 0
    ):
        compose = []
    steps = {
        "packages": [
            "infra/missing-packages",
            *compose,
            "chromium=chromium",
            "chromedriver=chromium-driver",
        ],
        "engine": [*_ENGINE, "start"],
        "images": ["infra/images/build"],
    }
    missing = ""
    for name, command in steps.items():
        code, said = _command(command, logs / f"docker-{name}.log")
        if code:
            missing = f"{' '.join(command)}: exit code {code}: {said}"
            break
    try:
        yield missing
    finally:
        subprocess.run([*_ENGINE, "stop"], check=False)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _commit() -> str:
    """Return the checkout's commit, with a `+` if files other than the verdicts differ from it."""
    commit = _git("describe", "--always", "--exclude=*")
    return commit + "+" if _git(*_CHANGED) else commit


def _git(*arguments: str) -> str:
    done = subprocess.run(["git", *arguments], check=False, capture_output=True, text=True)
    return done.stdout.strip()
