"""ARCHITECTURE.md's "Follow one record": its functions exist, and each calls the next."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
ROOMS_MAX = 20
"""How many rooms a record may go through."""

_ENTERED_BY_SPARK = "windowing.spark.stages"


def page() -> str:
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    return text.partition("## Follow one record\n")[2].partition("\n## ")[0]


def way() -> list[tuple[str, str]]:
    """The rows of the table: the task, if one begins, and the function."""
    return re.findall(r"^\| (\w*) ?\| `(windowing[\w.]+)` \|", page(), flags=re.MULTILINE)


def resolved(name: str) -> tuple[str, Any]:
    """The module that a dotted name is in, and what it names."""
    parts = name.split(".")
    for end in range(len(parts) - 1, 0, -1):
        try:
            found: Any = importlib.import_module(".".join(parts[:end]))
        except ModuleNotFoundError:
            continue
        for part in parts[end:]:
            found = getattr(found, part)
        return ".".join(parts[:end]), found
    raise AssertionError(name)


def called_in(module: str) -> set[str]:
    """The names of functions and methods that a module calls."""
    tree = ast.parse(inspect.getsource(importlib.import_module(module)))
    calls = [node.func for node in ast.walk(tree) if isinstance(node, ast.Call)]
    return {one.attr if isinstance(one, ast.Attribute) else getattr(one, "id", "") for one in calls}


NAMED = sorted({*re.findall(r"`(windowing(?:\.\w+){2,})`", page())})


@pytest.mark.parametrize("name", NAMED)
def test_what_the_page_names_is_there(name: str) -> None:
    resolved(name)


def test_each_function_is_called_in_a_room_before_it_in_its_task() -> None:
    before: list[str] = []
    for task, name in way():
        module, _ = resolved(name)
        if task:
            before = [module]
            continue
        assert any(name.rpartition(".")[2] in called_in(room) for room in before), name
        before.append(module)


def test_a_record_goes_through_few_rooms_and_returns_to_none() -> None:
    rooms = [resolved(name)[0] for _, name in way()]
    assert len({*rooms}) <= ROOMS_MAX
    others = [room for room in rooms if room != _ENTERED_BY_SPARK]
    assert len(others) == len({*others})
    said = re.search(r"There are (\w+) rooms", page())
    assert said is not None
    assert (
        said[1] == {16: "sixteen", 17: "seventeen", 18: "eighteen", 19: "nineteen"}[len({*rooms})]
    )


def test_the_tasks_are_those_of_the_job() -> None:
    assert [task for task, _ in way() if task] == ["pack", "lane", "shard", "driver"]
