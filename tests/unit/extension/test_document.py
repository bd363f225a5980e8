"""docs/extending.md shows the toy package as it is, each kind in at most 40 lines of code."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from infra.project import Settings

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
