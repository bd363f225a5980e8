"""Overviews of pipelines of which little is known: that never ran, or cannot be read."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from jobs.overview.light import NEVER_RUN, Facts, light
from jobs.overview.schema import (
    Batches,
    Colour,
    Freshness,
    Light,
    OutputStatus,
    Overview,
    StateSize,
)
from jobs.runs.overview import Surroundings
from windowing.model import Pipeline


def nothing() -> dict[str, Any]:
    """Return the parts of an overview that come from batches, without any."""
    size = StateSize(bytes=None, rows=None, bound=None)
    batches = Batches(count=0, last_at=None, median_ms=None, p95_ms=None)
    lists = ("lanes", "open_windows", "history", "dead_letters", "fates", "quality")
    return {**{name: [] for name in lists}, "state_size": size, "batches": batches}


def never_run(
    about: Surroundings, pipeline: Pipeline | None, problems: Sequence[str]
) -> dict[str, Any]:
    """Return the parts of an overview without a run; `problems`: why the file is unread."""
    grey = light(Facts(state=None))
    never = Freshness(final_until=None, age_s=None, sentence=NEVER_RUN)
    tables = about.endpoints.state_dir / "tables" / (pipeline.output if pipeline else "")
    outputs = (
        []
        if pipeline is None
        else [
            OutputStatus(
                query=flow.name,
                light=grey,
                quality=None,
                freshness=never,
                proof=None,
                rows=None,
                revisions=None,
                table=str(tables / pipeline.table_of(flow.name)),
            )
            for flow in pipeline.flows
        ]
    )
    whole = grey if pipeline else Light(colour=Colour.red, reasons=list(problems))
    none: dict[str, Any] = {"run": None, "state": None, "verdicts": [], "links": []}
    return {**nothing(), **none, "light": whole, "outputs": outputs}


def unknown(name: str, file: Path | None, why: str) -> Overview:
    """Return an overview of which nothing is known but why."""
    none = nothing()
    return Overview(
        at=datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
        pipeline=name,
        file=None if file is None else str(file),
        run=None,
        state=None,
        runs=[],
        light=Light(colour=Colour.red, reasons=[why]),
        outputs=[],
        verdicts=[],
        plan="",
        links=[],
        problems=[why],
        **none,
    )
