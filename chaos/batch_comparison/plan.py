"""A plan of cuts: a pipeline, flights, and two sizes of batches."""

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
    """The first flights of 2013, without poison: the comparison is about batches alone.

    Attributes:
        flights: how many.
    """

    flights: Annotated[int, Field(strict=True, ge=100, le=336_776)]


class CutsPlan(_Model):
    """What is cut, and how.

    Attributes:
        name: for reports.
        kind: what tells this plan from one of faults.
        pipeline: the pipeline file, relative to the plan.
        workload: the log.
        cuts: records a batch, in the one run and in the other.
        draw: the aggregate that the picture shows; every query has it.
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
    """Read a plan of cuts.

    Raises:
        PipelineError: the file is missing, unreadable, or breaks a rule.
    """
    shape = "a plan of cuts is a mapping that begins with name: and kind: cuts"
    return parse_document(read_text(path), str(path), CutsPlan, shape=shape)[0]


def pipeline_of(plan: CutsPlan, file: Path) -> Pipeline:
    """The pipeline of a plan.

    Args:
        plan: the plan.
        file: where it stands; the pipeline is found from there.

    Raises:
        PipelineError: the pipeline breaks a rule, or a query lacks what is to be drawn.
    """
    pipeline = load_pipeline(file.parent / plan.pipeline)
    for query in pipeline.queries:
        names = [aggregate.name for aggregate in query.aggregates]
        if plan.draw not in names:
            rule = f"{plan.draw!r} is no aggregate of {query.name}: draw one of {', '.join(names)}"
            raise PipelineError([Problem(str(file), 0, "draw", rule)])
    return pipeline
