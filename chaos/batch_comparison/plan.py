"""The plan of a batch comparison: a pipeline, flights, and two batch sizes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from windowing.model.errors import PipelineError, Problem
from windowing.model.file.documents import parse_document, read_text
from windowing.model.file.pipeline import Pipeline, load_pipeline
from windowing.model.names import FileName, PlanName

Rows = Annotated[int, Field(strict=True, ge=1, le=336_776)]


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Flights(_Model):
    """The first flights of 2013, without poison: the comparison is about batches alone."""

    flights: Annotated[int, Field(strict=True, ge=100, le=336_776)]


class CutsPlan(_Model):
    """The plan of a batch comparison.

    Attributes:
        kind: distinguishes this plan from one with faults.
        pipeline: the pipeline file, relative to the plan.
        cuts: records per batch in the two runs.
        draw: the aggregate in the figure; every query must have it.
    """

    name: PlanName
    kind: Literal["cuts"]
    pipeline: FileName
    workload: Flights
    cuts: tuple[Rows, Rows]
    draw: str

    @model_validator(mode="after")
    def _two_cuts(self) -> CutsPlan:
        if self.cuts[0] == self.cuts[1]:
            msg = f"cuts: {self.cuts[0]} twice compares a run with itself: give two sizes"
            raise ValueError(msg)
        return self


def load_cuts_plan(path: str | Path) -> CutsPlan:
    """Read the plan of a batch comparison.

    Raises:
        PipelineError: the file is missing, unreadable, or breaks a rule.
    """
    shape = "a plan of cuts is a mapping that begins with name: and kind: cuts"
    return parse_document(read_text(path), str(path), CutsPlan, shape=shape)[0]


def pipeline_of(plan: CutsPlan, file: Path) -> Pipeline:
    """Read the pipeline of a plan.

    The pipeline's path is relative to the plan's `file`.

    Raises:
        PipelineError: the pipeline breaks a rule, or a query lacks the aggregate to draw.
    """
    pipeline = load_pipeline(file.parent / plan.pipeline)
    for query in pipeline.flows:
        if plan.draw not in query.shows:
            known = ", ".join(query.shows)
            rule = f"{plan.draw!r} is no aggregate of {query.name}: draw one of {known}"
            raise PipelineError([Problem(str(file), 0, "draw", rule)])
    return pipeline
