"""The command `capacity`: how large a cluster a stated load needs."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated

import typer

from slackwater.console import say
from slackwater.options import PipelineFile

if TYPE_CHECKING:
    from windowing.model import Pipeline
    from windowing.model.windows.window import Window

_TIMES = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9}
_NUMBER = re.compile(r"(\d+(?:\.\d+)?)([kMG]?)")


def capacity(
    pipeline: PipelineFile,
    rate: Annotated[
        str, typer.Option(metavar="N", help="Records per second at the peak: 50000, 1M.")
    ],
    keys: Annotated[str, typer.Option(metavar="N", help="How many keys there are: 10k, 1M.")],
    record_bytes: Annotated[
        float, typer.Option(help="The mean size of a record's value, in bytes.")
    ] = 200,
    every: Annotated[str, typer.Option(metavar="LENGTH", help="Time between batches.")] = "10 s",
    busy: Annotated[
        float, typer.Option(min=0.05, max=1, help="Share of the cores that the peak may use.")
    ] = 0.6,
    executor_cores: Annotated[int, typer.Option(min=1, help="Cores of each executor.")] = 4,
) -> None:
    """Compute partitions, shards, executors and memory for a load, from measured unit costs."""
    from windowing.explain.capacity import Load, UnitCosts, capacity_of
    from windowing.model import load_pipeline
    from windowing.model.lengths import duration_us

    spec = load_pipeline(pipeline)
    windows, held_us, left_out = _windows_of(spec)
    try:
        batch_s = duration_us(every) / 1_000_000
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--every") from None
    load = Load(
        rate=_number("--rate", rate),
        keys=round(_number("--keys", keys)),
        windows=windows,
        record_bytes=record_bytes,
        held_us=held_us,
        batch_s=batch_s,
        busy=busy,
        executor_cores=executor_cores,
    )
    found = capacity_of(load, UnitCosts.load())
    for name, value, now in (
        ("partitions", f"{found.partitions:,}", f"the file has {spec.source.partitions}"),
        ("shards", f"{found.shards:,}", f"the file has {spec.shards}"),
        ("executors", f"{found.executors:,}", f"{executor_cores} cores each"),
        ("memory", _bytes(found.executor_bytes), "for each executor"),
        ("state", _bytes(found.state_bytes), "of all shards"),
        ("checkpoint", _bytes(found.checkpoint_bytes), "on disk"),
        ("a batch", f"{found.batch_rows:,.0f} records", f"in {found.batch_took_s:.1f} s"),
        ("results", f"{found.rows_per_s:,.0f} rows/s", "about, at the most"),
    ):
        say(f"{name:<12}{value:>16}   {now}")
    for sentence in left_out:
        say(f"not counted: {sentence}")
    say("assuming that")
    for sentence in found.assumptions:
        say(f"- {sentence}")


def _windows_of(spec: Pipeline) -> tuple[tuple[Window, ...], int, list[str]]:
    """Return windows, how long records are held beyond them, and why queries are left out.

    Raises:
        CapacityError: no query is of a kind that was measured.
    """
    from windowing.explain.capacity import CapacityError, kind_of
    from windowing.model import Query
    from windowing.model.progress import Slack

    windows: list[Window] = []
    left_out: list[str] = []
    held_us = 0
    for query in spec.flows:
        try:
            if not isinstance(query, Query):
                msg = (
                    "it is a join or an operator, whose costs depend on what meets: run the "
                    "pipeline over a part of the load"
                )
                raise CapacityError(msg)
            kind_of(query.window)
        except CapacityError as error:
            left_out.append(f"query {query.name}: {error}")
            continue
        windows.append(query.window)
        if query.by_users:
            left_out.append(
                f"query {query.name}: what its classes for {', '.join(query.by_users)} cost, a "
                "call per record or more: run it over a part of the load"
            )
        late_us = (query.retention_us or 0) if query.late.policy == "update" else 0
        held_us = max(held_us, late_us)
    if not windows:
        raise CapacityError("; ".join(left_out))
    disorder = spec.source.disorder
    slack_us = disorder.slack_us if isinstance(disorder, Slack) else 0
    return tuple(windows), held_us + slack_us, left_out


def _number(option: str, text: str) -> float:
    if (found := _NUMBER.fullmatch(text.strip())) is None:
        msg = f"{text!r} is not a number: write digits, and k, M or G for thousands, millions, …"
        raise typer.BadParameter(msg, param_hint=option)
    return float(found[1]) * _TIMES[found[2]]


def _bytes(count: float) -> str:
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1_000:
            return f"{count:.3g} {unit}"
        count /= 1_000
    return f"{count:,.1f} TB"


COMMANDS = (capacity,)
