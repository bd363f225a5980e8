"""Judge one run of a pipeline by the `quality` block of its file, and publish Data Docs.

Only `check` imports Great Expectations, since that takes seconds.
"""

from __future__ import annotations

import hashlib
import io
import math
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import pyarrow.parquet as pq

from chaos.quality.batches import RunOutput, defined_windows, final
from chaos.quality.block import Check, with_defaults
from chaos.quality.finality import final_until, instant
from chaos.quality.frames import frames_of
from chaos.quality.names import CONSERVED, FRESH, OF_COUNTS, WINDOW_SET
from chaos.quality.report import QualityError, QualityReport, QualityResult, threshold
from chaos.quality.valid import validate
from chaos.readers.output import read_files
from windowing.files.places import place
from windowing.model.file.pipeline import Pipeline
from windowing.semantics import LogEntry, Outcome, evaluate

if TYPE_CHECKING:
    from chaos.quality.suites import Evidence

Progress = Callable[[str], None]


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
) -> QualityReport:
    """Judge the output of a run.

    Results are added to the Data Docs under `docs_dir`; those of earlier runs are kept. The log is
    read only if some expectation compares with it, and the definition is evaluated at most once.

    Args:
        pipeline: the pipeline, with its `quality` block; few bad and late records are expected too.
        table_dir: the folder of the run's tables; None: its sink needs none.
        run: the run's name.
        log: the whole log, from an independent reader.
        docs_dir: a folder of Great Expectations; created if missing.
        progress: called with a short description of each step.
        file: the pipeline file's name, for messages.
        written: the run's output, if it is not in these tables.

    Raises:
        PipelineError: the `quality` block is invalid.
        OutputError: a table or the run is missing.
        BadLogError: not a log of this pipeline.
        IntSumError: the definition has no result, since a sum of ints exceeds 64 bits.
        QualityError: the folder of the Data Docs cannot be used.
    """
    say: Progress = progress or (lambda _: None)
    say("loading Great Expectations")
    checks, folder = with_defaults(pipeline, validate(pipeline, file)), Path(docs_dir).resolve()
    if written is None:
        written, log = frames_of(pipeline, place(table_dir or "."), run, log)
    final_at = final_until(pipeline, written.reached())  # first, so that the rows have it
    evidence = _evidence(pipeline, checks, log, folder, say)
    from chaos.quality.docs import Site  # noqa: PLC0415 - seconds, wanted only here
    from chaos.quality.suites import expectation  # noqa: PLC0415

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

    Args:
        pipeline: as in `check`.
        output: OUT.jsonl, with OUT.dead.jsonl beside it.
        log: the whole log of the run.
        docs_dir: as in `check`.
    """
    from chaos.quality.file_batches import RunLines  # noqa: PLC0415 - if wanted

    written = RunLines(read_files(output), pipeline, log)
    return check(pipeline, None, Path(output).name, log, docs_dir, written=written)


def _evidence(
    pipeline: Pipeline, checks: list[Check], log: Iterable[LogEntry], folder: Path, say: Progress
) -> Evidence:
    from chaos.quality.suites import Evidence  # noqa: PLC0415 - seconds, wanted only here

    names = {entry.expectation for entry in checks}
    if not names & {CONSERVED, WINDOW_SET, FRESH}:
        return Evidence({}, 0)
    say("reading the log")
    entries = list(log)
    windows: dict[str, Path] = {}
    say("evaluating the definition")
    outcome = evaluate(pipeline, entries)
    # An unrecognized control record counts like an invalid record.
    dead = {(one.source, one.partition, one.offset) for one in outcome.dead if one.query is None}
    read = {(e.source, e.partition, e.offset) for e in entries if e.control is None} | dead
    if WINDOW_SET in names:
        for query in pipeline.flows:
            table = defined_windows(outcome, query, pipeline)
            windows[query.name] = _keep(table, query.name, folder / "definition")
    reached = {query.name: _reached(outcome, query.name) for query in pipeline.flows}
    return Evidence(windows, len(read), reached)


def _reached(outcome: Outcome, query: str) -> str:
    """Return the event time that a log has reached, as `ExpectNewestWindowToBeFresh` defines it."""
    from chaos.quality.freshness import NOTHING_DUE  # noqa: PLC0415 - seconds, wanted only here

    ends = [row.window_end_us for row in outcome.rows if row.query == query]
    if not ends:
        return NOTHING_DUE
    known = [us for us in outcome.progress.values() if us is not None]
    going = [int(us) for us in known if us != math.inf]
    return instant(max(going or ends)) or NOTHING_DUE


def _keep(table: Any, query: str, folder: Path) -> Path:
    """Write a table to a file named after its content, so that later runs do not change it."""
    buffer = io.BytesIO()
    pq.write_table(table, buffer)
    content = buffer.getvalue()
    path = folder / f"{query}-{hashlib.sha256(content).hexdigest()[:16]}.parquet"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    except OSError as error:
        msg = f"{path} cannot be written ({error.strerror}): make room, or give another folder"
        raise QualityError(msg) from error
    return path


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
