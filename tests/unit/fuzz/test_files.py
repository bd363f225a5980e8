"""Pipeline files and plans: accepted, or one of our errors with file and line, and soon."""

import tempfile
from pathlib import Path

import yaml
from hypothesis import given, settings

from chaos.batch_comparison.plan import load_cuts_plan
from chaos.plan import kind_of, load_plan_with_lines
from chaos.quality import read_block
from tests.unit.fuzz.corpus import every, try_one
from tests.unit.fuzz.mutations import Recorded, yaml_files
from windowing.engine.plan import plan_of
from windowing.explain.pipeline import explain
from windowing.model import PipelineError, Query, load_pipeline

ROOT = Path(__file__).parents[3]
RECORDED = ROOT / "tests" / "data" / "pipelines"
PIPELINES = Recorded(
    path.read_bytes()
    for path in sorted([*RECORDED.glob("*/pipeline.yml"), *(ROOT / "pipelines").glob("*.yml")])
)
PLANS = Recorded(path.read_bytes() for path in sorted((ROOT / "chaos" / "plans").rglob("*.yml")))
FEW = settings(max_examples=settings.default.max_examples * 4)


def well_told(error: PipelineError, path: Path) -> None:
    """An error of ours names the file first, and no control character reaches a terminal."""
    lines = str(error).splitlines()
    assert lines
    assert all(line.startswith(str(path)) and line.isprintable() for line in lines)
    assert all(len(line) < 1200 for line in lines)
    assert all(problem.line >= 0 and problem.message for problem in error.problems)


def read_as_pipeline(contents: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "p.yml"
        path.write_bytes(contents)
        try:
            pipeline = load_pipeline(path)
            read_block(pipeline, str(path))
        except PipelineError as error:
            well_told(error, path)
            return
        if all(one.user is None for query in pipeline.of(Query) for one in query.aggregates):
            assert pipeline.fingerprint
            assert list(explain(plan_of(pipeline)))
        assert pipeline.output
        assert load_pipeline(path).flows == pipeline.flows


def read_as_plan(contents: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "plan.yml"
        path.write_bytes(contents)
        try:
            if kind_of(path) == "cuts":
                load_cuts_plan(path)
            else:
                load_plan_with_lines(path)
        except PipelineError as error:
            well_told(error, path)


@every("pipelines")
def test_pipeline_files_that_once_failed(entry: Path) -> None:
    read_as_pipeline(entry.read_bytes())


@every("plans")
def test_plans_that_once_failed(entry: Path) -> None:
    read_as_plan(entry.read_bytes())


@FEW
@given(yaml_files(PIPELINES, Recorded(map(yaml.safe_load, PIPELINES))))
def test_pipeline_files(contents: bytes) -> None:
    try_one("pipelines", read_as_pipeline, contents)


@FEW
@given(yaml_files(PLANS, Recorded(map(yaml.safe_load, PLANS))))
def test_plans(contents: bytes) -> None:
    try_one("plans", read_as_plan, contents)
