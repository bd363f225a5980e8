"""Installs the toy package as pip would: its modules and its entry points, on the path."""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from chaos.faults import FAULTS
from chaos.quality.expectation import EXPECTATIONS
from chaos.readers.catalogue import READERS
from chaos.simulator.draw.log import FORMAT_DRAWS
from chaos.simulator.draw.windows import DRAWS
from chaos.verdict.catalogue import CHECKS
from windowing.engine.progress.generator import LANE_GENERATORS
from windowing.engine.reading.decoders.decoder import DECODERS
from windowing.engine.reading.steps import STEP_PARTS
from windowing.engine.windows.classes import PARTS
from windowing.model.progress.disorder import GENERATORS
from windowing.model.reading import FORMATS, STEPS
from windowing.model.registry import PLUGINS_VARIABLE, Registry
from windowing.model.windows.registry import WINDOWS
from windowing.semantics import formats, generators
from windowing.semantics.windows import classes
from windowing.spark.sinks import SINKS

PACKAGE = Path(__file__).parent / "package"
REGISTRIES: tuple[Registry[Any], ...] = (
    *(FAULTS, CHECKS, SINKS, READERS, EXPECTATIONS),
    *(WINDOWS, PARTS, classes.DEFINITIONS, DRAWS),
    *(GENERATORS, LANE_GENERATORS, generators.DEFINITIONS),
    *(FORMATS, DECODERS, formats.FORMAT_DEFINITIONS, FORMAT_DRAWS),
    *(STEPS, STEP_PARTS, formats.STEP_DEFINITIONS),
)


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What a plug-in registers is gone when its test is over."""
    monkeypatch.delenv(PLUGINS_VARIABLE, raising=False)
    for registry in REGISTRIES:
        for name, held in vars(registry).items():
            monkeypatch.setattr(registry, name, held.copy() if isinstance(held, dict) else held)
    yield
    for name in [name for name in sys.modules if name.partition(".")[0] == "tidepool"]:
        del sys.modules[name]


@pytest.fixture
def tidepool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The package, installed; its folder."""
    for folder in installed(tmp_path):
        monkeypatch.syspath_prepend(str(folder))
    return PACKAGE


def installed(folder: Path) -> tuple[Path, Path]:
    """What is to be on the path: the package's modules, and its entry points below a folder."""
    project = tomllib.loads((PACKAGE / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    info = folder / "site" / f"{project['name']}-{project['version']}.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Name: {project['name']}\nVersion: {project['version']}\n")
    lines = []
    for group, points in project["entry-points"].items():
        lines += [f"[{group}]", *(f"{name} = {value}" for name, value in points.items())]
    (info / "entry_points.txt").write_text("\n".join(lines) + "\n")
    return PACKAGE, folder / "site"
