"""What a part needs of the machine: whether it is there, and a Docker engine while it is needed."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Self

from chaos.command import run_command
from chaos.nightly.parts import Part
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
