"""Judge one run of a pipeline by the `quality` block of its file, and publish Data Docs.

Only `check` imports Great Expectations, since that takes seconds.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import pandas as pd

from chaos.quality.batches import RunLines, output_of
from chaos.quality.block import Check, with_defaults
from chaos.quality.evidence import Progress, gather
from chaos.quality.expectation import OF_COUNTS
from chaos.quality.finality import final_until
from chaos.quality.frames import RunOutput, final
from chaos.quality.results import QualityReport, QualityResult, threshold
from chaos.quality.valid import validate
from chaos.readers.output import read_files
from windowing.files.places import place
from windowing.model.file.pipeline import Pipeline
from windowing.semantics import LogEntry


def check(
    pipeline: Pipeline,
    table_dir: str | Path | None,
    run: str,
    log: Iterable[LogEntry],
    docs_dir: str | Path,
    *,
    progress: Progress | None = None,
    file: str = "<pipeline>",
    written: RunOutput | None = None,
    before: int | None = None,
) -> QualityReport:
    """Judge the output of a run.

    Results are added to the Data Docs under `docs_dir`; those of earlier runs are kept. The log is
    read only if some expectation compares with it, and the definition is evaluated at most once.

    Args:
        pipeline: the pipeline, with its `quality` block; few bad and late records are expected too.
        table_dir: the folder of the run's tables; None: its sink needs none.
        docs_dir: a folder of Great Expectations; created if missing.
        written: the run's output, if it is not in these tables.
        before: the first batch to leave out, which a job may be writing; the log ends before it,
            too. None: there is no such job.

    Raises:
        PipelineError: the `quality` block is invalid.
        OutputError: a table or the run is missing.
        BadLogError: not a log of this pipeline.
        QualityError: the folder of the Data Docs cannot be used.
    """
    say: Progress = progress or (lambda _: None)
    say("loading Great Expectations")
    from chaos.quality.docs import Site  # noqa: PLC0415 - wanted only here
    from chaos.quality.suites import expectation  # noqa: PLC0415

    checks, folder = with_defaults(pipeline, validate(pipeline, file)), Path(docs_dir).resolve()
    if written is None:
        written, log = output_of(pipeline, place(table_dir or "."), run, log, before)
    final_at = final_until(pipeline, written.reached())
    evidence = replace(gather(pipeline, checks, log, folder, say), progress=written.progress())
    site = Site(folder)
    found: dict[int, tuple[bool, str]] = {}
    for name, positions in _by_batch(checks).items():
        say(f"checking {name}")
        found |= site.judge(
            batch=name,
            frame=_frame(pipeline, written, checks[positions[0]]),
            expectations=[
                expectation(pipeline, checks[at], at, evidence, file) for at in positions
            ],
            run=re.sub(r"[^\w-]", "_", run),
        )
    say("writing Data Docs")
    results = [_result(entry, *found[at]) for at, entry in enumerate(checks)]
    passed = all(result.success for result in results)
    return QualityReport(passed, results, site.publish(), written.size(), final_at)


def _result(entry: Check, success: bool, detail: str) -> QualityResult:
    given = threshold(entry.arguments)
    return QualityResult(entry.query, entry.expectation, success, detail, given)


def check_file(
    pipeline: Pipeline, output: str | Path, log: Sequence[LogEntry], docs_dir: str | Path
) -> QualityReport:
    """Judge a file that `slackwater run` wrote; arguments and errors are those of `check`.

    `output` is OUT.jsonl, with OUT.dead.jsonl beside it.
    """
    written = RunLines(read_files(output), pipeline, log)
    return check(pipeline, None, Path(output).name, log, docs_dir, written=written)


def _by_batch(checks: list[Check]) -> dict[str, list[int]]:
    """Return the positions of the entries that judge the same rows, by name of the batch."""
    batches: dict[str, list[int]] = {}
    for at, entry in enumerate(checks):
        if entry.expectation in OF_COUNTS:
            name = "counts" if entry.query is None else f"counts-{_without_dots(entry.query)}"
        else:
            kind = "final" if entry.revisions == "final" else "revisions"
            name = f"{kind}-{_without_dots(str(entry.query))}"
        batches.setdefault(name, []).append(at)
    return batches


def _without_dots(name: str) -> str:
    # Great Expectations treats a dot in a name as a folder separator.
    return name.replace(".", "~")


def _frame(pipeline: Pipeline, tables: RunOutput, entry: Check) -> pd.DataFrame:
    if entry.expectation in OF_COUNTS:
        every = [query.name for query in pipeline.flows]
        return tables.counts(every if entry.query is None else [entry.query])
    query = next(query for query in pipeline.flows if query.name == entry.query)
    rows = tables.rows(query)
    return rows if entry.revisions == "all" else final(query, rows)
