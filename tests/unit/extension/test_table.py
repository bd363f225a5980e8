"""What our pages say of the toy package: how many files a change takes, and its code as it is."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
import yaml

from infra.project import Settings
from windowing.model.registry import GROUPS

ROOT = Path(__file__).parents[3]
PACKAGE = Path(__file__).parent / "package"

KINDS = {
    "a fault": {"faults"},
    "a check of a run": {"checks"},
    "a sink": {"sinks", "readers"},
    "a window class": {"windows", "window_parts", "window_definitions", "window_draws"},
    "a generator of progress": {"generators", "lane_generators", "generator_definitions"},
    "an aggregate": {"aggregates"},
    "an expectation": {"expectations"},
    "a format": {"formats", "decoders", "format_definitions", "format_draws"},
    "a step of reading, with a fate": {"reading_steps", "step_parts", "step_definitions"},
}
"""The sorts of plug-ins that a change needs, by its row in the table."""


def modules_of(groups: set[str]) -> set[str]:
    """The modules of the package that plug-ins of some sorts are in."""
    text = (PACKAGE / "pyproject.toml").read_text(encoding="utf-8")
    points = tomllib.loads(text)["project"]["entry-points"]
    named = [value for group in groups for value in points[f"slackwater.{group}"].values()]
    return {value.partition(":")[0] for value in named}


@pytest.mark.parametrize("kind", KINDS)
def test_the_table_says_how_many_files_a_change_needs(kind: str) -> None:
    needed = len(modules_of(KINDS[kind]))
    table = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    [said] = re.findall(rf"^\| add {kind} \((\d+) files?\) \|", table, flags=re.MULTILINE)
    assert int(said) == needed


def test_every_file_of_the_package_is_counted() -> None:
    assert set().union(*KINDS.values()) == set(GROUPS)
    written = {f"tidepool.{path.stem}" for path in PACKAGE.glob("tidepool/[!_]*.py")}
    assert set().union(*map(modules_of, KINDS.values())) == written


ROOT = Path(__file__).parents[3]
PACKAGE = Path(__file__).parent / "package"
PAGE = (ROOT / "docs" / "extending.md").read_text(encoding="utf-8")


def shown(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, flags=re.DOTALL)


MODULES = sorted(PACKAGE.glob("tidepool/[!_]*.py"))


@pytest.mark.parametrize("module", MODULES, ids=[module.stem for module in MODULES])
def test_the_page_shows_what_is_run(module: Path) -> None:
    text = module.read_text(encoding="utf-8")
    assert text in shown("python")
    parts = len(re.findall(r"^@(?!dataclass)", text, flags=re.MULTILINE)) or 1
    assert sum(1 for line in text.splitlines() if line.strip()) <= 40 * parts


def test_the_page_shows_how_it_is_declared() -> None:
    [points], [settings, *_] = shown("toml"), shown("yaml")
    assert (PACKAGE / "pyproject.toml").read_text(encoding="utf-8").endswith(points)
    declared = Settings.model_validate(yaml.safe_load(settings)).plugins
    for sort, named in declared.items():
        for name, value in named.items():
            assert f'[project.entry-points."slackwater.{sort}"]\n{name} = "{value}"' in points
