"""The command `audit`: judge the windows that another engine wrote."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterable
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from slackwater.console import FAILED, PASSED, bar, err, plain, say, tell
from slackwater.noted import tell_of_file
from slackwater.options import As, PipelineFile, check_of_file

if TYPE_CHECKING:
    from chaos.audit.verdict import Audit
    from chaos.readers.log import LogRecord

_SHOWN = 10


class Reads(StrEnum):
    """How an engine reads the partitions of its input."""

    together = "together"
    apart = "apart"


Like = Annotated[str, typer.Option(metavar="ENGINE", help="spark-window, flink or kafka-streams.")]
Output = Annotated[
    Path,
    typer.Option(
        metavar="PATH",
        help="What it wrote: a folder of Parquet, a Delta table, JSON lines or CSV.",
    ),
]
Input = Annotated[
    Path | None,
    typer.Option(
        "--input", metavar="FILE", help="What it read: EVENTS.jsonl, as it arrived; or see --as."
    ),
]
Start = Annotated[
    str | None,
    typer.Option(metavar="COLUMN", help="Where the output has the start of a window."),
]
Reading = Annotated[
    Reads,
    typer.Option(
        help="together: it reads all partitions at the same pace, as they arrive. apart: it may "
        "read one whole before another, as in a replay."
    ),
]


def audit(
    pipeline: PipelineFile,
    like: Like,
    output: Output,
    input_: Input = None,
    as_: As = None,
    topic: Annotated[
        bool, typer.Option("--topic", help="What it read: the pipeline's topic.")
    ] = False,
    bootstrap: Annotated[
        str | None, typer.Option(help="Broker for --topic; default: the local stack's.")
    ] = None,
    query: Annotated[
        str | None, typer.Option(metavar="NAME", help="The query; default: the only one.")
    ] = None,
    start: Start = None,
    reads: Reading = Reads.together,
    report: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Write a page, its picture and JSON here.")
    ] = None,
) -> None:
    """Judge what another engine wrote: equal, explained by some schedule, or impossible.

    The pipeline file describes the engine's job: its source and windows, the delay of its watermark
    as slack, and key fields and aggregates under the names that the output has.
    """
    from chaos.audit.job import Job
    from chaos.audit.output import read_written
    from chaos.audit.verdict import audit as judge
    from chaos.audit.windows import expected
    from slackwater.verify import Log
    from windowing.model import load_pipeline

    if topic == (input_ is not None):
        msg = "say what the engine has read, once: --topic or --input EVENTS.jsonl"
        raise typer.BadParameter(msg)
    check_of_file(input_, as_, end=False)
    job = Job.of(like, load_pipeline(pipeline), query)
    written = read_written(output, job, start)
    with bar(f"audit {job.query.name}") as progress:
        log = Log(job.pipeline.source, input_, bootstrap, None, rows_of=as_)
        read = progress.track(log, task_id=progress.task_ids[0])
        together = reads is Reads.together
        known = _in_order(read, together=together) if topic else read
        found = judge(job, expected(job, known, together=together), written)
    for line in found.lines():
        say(line)
    _show(found)
    tell_of_file(job.pipeline)
    log.notes.tell(job.pipeline)
    page = None if report is None else _write(found, report)
    _keep(job.pipeline.name, found, page)
    raise typer.Exit(PASSED if found.ok else FAILED)


def _in_order(log: Iterable[LogRecord], *, together: bool) -> list[LogRecord]:
    """Return the records of a topic in the order of their arrival.

    Raises:
        AuditError: it is needed, and the topic does not know it.
    """
    from chaos.audit.job import AuditError

    records = list(log)
    if any(record.append_us is None for record in records):
        if together:
            msg = (
                "the topic has the producers' times, so the order between partitions is not known: "
                "audit it with --reads apart, or set message.timestamp.type=LogAppendTime"
            )
            raise AuditError(msg)
        return records
    return sorted(records, key=lambda one: (one.append_us or 0, one.partition, one.offset))


def _show(found: Audit) -> None:
    from chaos.audit.report import as_data

    impossible = [one for one in as_data(found)["told"] if one["verdict"] == "impossible"]
    for one in impossible[:_SHOWN]:
        key = ", ".join(map(str, one["key"]))
        say(plain(f"impossible: {one['start']} to {one['end']}, key [{key}]: {one['why']}"))
    if len(impossible) > _SHOWN:
        say(f"and {len(impossible) - _SHOWN:,} more")


def _write(found: Audit, folder: Path) -> Path:
    from chaos.audit.report import write_audit

    folder.mkdir(parents=True, exist_ok=True)
    command = shlex.join(["slackwater", *sys.argv[1:]])
    with err().status("drawing"):
        page = write_audit(found, folder, command)
    tell(f"page: {page}")
    return page


def _keep(name: str, found: Audit, page: Path | None) -> None:
    """Keep the verdict for `slackwater overview`, if there is a project to keep it in."""
    from infra.errors import InfraError
    from infra.layout import default_layout
    from jobs.runs.verdicts import Verdict, audits_file, note_verdict

    try:
        state_dir = default_layout().state_dir
    except InfraError:
        return
    if not state_dir.is_dir():
        return
    at = datetime.now(UTC).isoformat(timespec="seconds")
    verdict = Verdict(at, found.ok, next(found.lines()))
    note_verdict(audits_file(state_dir, name), "audit", verdict, page and page.resolve())


COMMANDS = (audit,)
