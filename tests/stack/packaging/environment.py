"""A fresh environment with a built wheel and what it declares to need, and nothing else.

No network: the declared packages are linked from the environment of the tests. What a wheel does
not declare is therefore missing, as after `pip install`.
"""

from __future__ import annotations

import importlib.metadata
import os
import subprocess
import sys
import venv
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[3]
UV = ROOT / ".slackwater" / "uv" / "bin" / "uv"


def build_wheel(folder: Path) -> Path:
    """Build the wheel of the checkout by the locked back end, without the network."""
    line = [UV, "build", "--wheel", "--offline", "--no-build-isolation", "--python", sys.executable]
    subprocess.run([*line, "-o", folder, ROOT], check=True, capture_output=True)
    return next(folder.glob("slackwater-*.whl"))


@dataclass(frozen=True)
class Environment:
    """A Python of its own.

    Attributes:
        folder: of the environment.
    """

    folder: Path

    def run(self, *line: object, cwd: Path, **variables: str) -> subprocess.CompletedProcess[str]:
        """Run a command of the environment, with nothing of the checkout in its surroundings."""
        names = {"HOME", "LANG", "JAVA_HOME"} & os.environ.keys()
        kept = {name: os.environ[name] for name in names}
        path = f"{self.folder / 'bin'}:/usr/local/bin:/usr/bin:/bin"
        return subprocess.run(
            [str(one) for one in line],
            cwd=cwd,
            env={**kept, "PATH": path, "PYTHONDONTWRITEBYTECODE": "1", **variables},
            capture_output=True,
            text=True,
            check=False,
        )

    @property
    def packages(self) -> Path:
        """Its site-packages."""
        return next(self.folder.glob("lib/python3*/site-packages"))


def make(folder: Path, wheel: Path, extras: frozenset[str] = frozenset()) -> Environment:
    """Make an environment, install the wheel as pip does, and link what it declares."""
    venv.create(folder, with_pip=False, symlinks=True)
    made = Environment(folder)
    python = folder / "bin" / "python"
    line = [UV, "pip", "install", "--offline", "--no-deps", "--python", python, wheel]
    subprocess.run(line, check=True, capture_output=True)
    for name in closure(declared(wheel, extras)):
        _link(name, made.packages)
    return made


def declared(wheel: Path, extras: frozenset[str]) -> list[Requirement]:
    """What a wheel says that it needs, of itself and for these extras."""
    with zipfile.ZipFile(wheel) as archive:
        name = next(name for name in archive.namelist() if name.endswith("/METADATA"))
        lines = archive.read(name).decode().split("\n\n")[0].splitlines()
    mark = "Requires-Dist: "
    wanted = [Requirement(line.removeprefix(mark)) for line in lines if line.startswith(mark)]
    return list(_wanted(wanted, extras))


def closure(requirements: list[Requirement]) -> set[str]:
    """The names of all packages that these come to, with what they need in turn."""
    seen: set[tuple[str, frozenset[str]]] = set()
    todo = [(one.name, frozenset(one.extras)) for one in requirements]
    while todo:
        name, extras = todo.pop()
        key = name.lower().replace("_", "-")
        if key == "slackwater" or (key, extras) in seen:
            continue
        seen.add((key, extras))
        needs = [Requirement(text) for text in importlib.metadata.requires(name) or []]
        todo += [(one.name, frozenset(one.extras)) for one in _wanted(needs, extras)]
    return {name for name, _ in seen}


def _wanted(requirements: list[Requirement], extras: frozenset[str]) -> Iterator[Requirement]:
    for one in requirements:
        asked = ({"extra": extra} for extra in ("", *extras))
        if one.marker is None or any(map(one.marker.evaluate, asked)):
            yield one


def _link(name: str, packages: Path) -> None:
    """Link a package's files, folder by folder, from the environment of the tests."""
    distribution = importlib.metadata.distribution(name)
    tops = {file.parts[0] for file in distribution.files or []} - {"..", "__pycache__"}
    for top in tops:
        source, target = Path(str(distribution.locate_file(top))), packages / top
        if not target.exists() and source.exists():
            target.symlink_to(source)
