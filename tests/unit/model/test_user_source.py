"""What a user's class needs is part of what a run is, wherever in its package it stands."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from dags.entities import read_deployments
from windowing.engine.plan import plan_of
from windowing.explain.pipeline import explain
from windowing.model import Pipeline, load_pipeline, parse_pipeline
from windowing.model.user.user_aggregate import load
from windowing.model.user.user_source import sources

PIPELINE = """
name: p
source: {topic: s, partitions: 1, format: json, event_time: {field: ts, unit: us},
  fields: {v: int}, disorder: ordered}
queries: {q: {window: RANGE 1 s SLIDE 1 s WATTR ts, aggregates: {a: "python:REFERENCE(v)"}}}
"""
CLASS = """
class Class:
    returns = "int"
    def init(self): return 0
    def update(self, state, value): return state + FACTOR * value
    def merge(self, left, right): return left + right
    def result(self, state): return state
"""
FILES = {
    "own/__init__.py": "",
    "own/deep/__init__.py": "",
    "own/deep/model.py": "from ..scale import FACTOR\nfrom own.deep import names\n" + CLASS,
    "own/scale.py": "import json\nimport other.rate\nfrom own import limits as _\nFACTOR = 2\n",
    "own/limits.py": "try:\n    import own.nothing\nexcept ImportError:\n    pass\n",
    "own/deep/names.py": "def name():\n    from .late import LATER\n    return LATER\n",
    "own/deep/late.py": "LATER = 1\n",
    "own/unused.py": "UNUSED = 1\n",
    "other/__init__.py": "",
    "other/rate.py": "RATE = 1\n",
    "alone.py": "from beside import FACTOR\nimport own.scale\n" + CLASS,
    "beside.py": "FACTOR = 3\n",
}
NEEDED = {"own.deep.model", "own.scale", "own.limits", "own.deep.names", "own.deep.late"}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    for name, text in FILES.items():
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    importlib.invalidate_caches()
    before = {*sys.modules}
    yield tmp_path
    for name in {*sys.modules} - before:
        del sys.modules[name]
    load.cache_clear()


def pipeline(reference: str) -> Pipeline:
    return parse_pipeline(PIPELINE.replace("REFERENCE", reference))


def test_of_a_package_all_that_is_imported_counts(folder: Path) -> None:
    importlib.import_module("own.deep.model")
    assert {*sources("own.deep.model")} == NEEDED | {"own", "own.deep"}


def test_of_a_module_without_a_package_its_neighbours_count(folder: Path) -> None:
    importlib.import_module("alone")
    assert {*sources("alone")} == {"alone", "beside"}


@pytest.mark.parametrize("name", sorted(FILES))
@pytest.mark.parametrize("reference", ["own.deep.model:Class", "alone:Class"])
def test_another_source_of_what_it_needs_is_another_pipeline(
    folder: Path, reference: str, name: str
) -> None:
    before = pipeline(reference).fingerprint
    assert pipeline(reference).fingerprint == before
    file = folder / name
    file.write_text(file.read_text() + "\nMORE = 1\n")
    module = name.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    needed = sources(reference.partition(":")[0])
    assert (pipeline(reference).fingerprint != before) == (module in needed)


def test_ends_of_lines_do_not_count(folder: Path) -> None:
    before = pipeline("own.deep.model:Class").fingerprint
    file = folder / "own/scale.py"
    file.write_bytes(file.read_bytes().replace(b"\n", b"\r\n"))
    assert pipeline("own.deep.model:Class").fingerprint == before


def test_reading_a_file_imports_none_of_it(folder: Path) -> None:
    """It is imported, and digested, where a run first asks for the fingerprint."""
    read = pipeline("own.deep.model:Class")
    assert read.flows[0].aggregates[0].code is None
    assert not {name for name in sys.modules if name.partition(".")[0] in ("own", "other")}
    assert read.fingerprint
    assert "own.deep.model" in sys.modules


def test_neither_a_scheduler_nor_explain_imports_any(folder: Path) -> None:
    """Airflow's DAG processor reads every file, again and again."""
    files = folder / "pipelines"
    files.mkdir()
    for name, reference in (("a", "own.deep.model:Class"), ("b", "breaks:Class")):
        text = PIPELINE.replace("REFERENCE", reference).replace("name: p", f"name: {name}")
        (files / f"{name}.yml").write_text(text)
    (folder / "breaks.py").write_text("raise SystemExit(7)\n")
    deployments, broken = read_deployments(folder, files)
    assert ([one.name for one in deployments], broken) == (["a", "b"], [])
    for file in files.glob("*.yml"):
        assert len([*explain(plan_of(load_pipeline(file)))]) > 3
    assert not {name for name in sys.modules if name.partition(".")[0] in ("own", "breaks")}
