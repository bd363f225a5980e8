"""The command `secret probe`: find a live engine's parameters by experiments."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from slackwater.console import FAILED, PASSED, UNKNOWN, say, tell

if TYPE_CHECKING:
    from jobs.live_engines.findings import Probed


def register(secret: typer.Typer) -> None:
    """Add the command to those of `secret`."""
    secret.command()(probe)


def probe(
    engine: Annotated[str, typer.Argument(metavar="ENGINE", help="spark, flink or slackwater.")],
    mode: Annotated[
        str | None,
        typer.Option(
            help="spark: append (default), update or complete. flink: tvf (default), HOP as a "
            "table function, or group, GROUP BY HOP. slackwater: ordered (default), or partitions: "
            "two of them."
        ),
    ] = None,
    tuples: Annotated[
        bool, typer.Option("--tuples", help="Windows of tuples instead of time.")
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="As JSON, with all inputs and reports.")
    ] = False,
    record: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Keep it in this table, and exit with 0 if it is what the table had, else with 1.",
        ),
    ] = None,
) -> None:
    """Find the parameters of a live engine by experiments, and print them with the evidence.

    Exits with 1 if the model cannot express the engine, and with 3 if two runs of one input differ.
    Takes minutes. Flink needs `make setup-flink`.
    """
    from jobs.live_engines.engines import live_engine
    from jobs.live_engines.findings import Probed, words
    from windowing.research.engines.parameters import Domain
    from windowing.research.prober.probe import probe as find

    asked, domain = live_engine(engine, mode), Domain.tuple if tuples else Domain.time
    tell(f"starting {asked.title}")
    with asked.opened() as opened:
        probed = Probed(asked, opened.version, domain, find(opened.box, domain, tell))
    told = probed.as_data()
    if as_json:
        say(json.dumps(told, ensure_ascii=False))
    else:
        for line in words(told):
            say(line)
    raise typer.Exit(_code(probed) if record is None else _recorded(probed, told, record))


def _code(probed: Probed) -> int:
    if probed.is_unsteady:
        return UNKNOWN
    return PASSED if probed.is_expressible else FAILED


def _recorded(probed: Probed, told: dict[str, Any], folder: Path) -> int:
    """Keep what was found; return whether it is what was found before."""
    from chaos.probes.table import PAGE, differences, keep

    if probed.is_unsteady:
        tell(f"{folder / PAGE} is left as it is: two runs of one input differ")
        return UNKNOWN
    old = keep(told, folder)
    changed = differences(old, told) if old is not None else []
    for line in changed:
        tell(f"was | is: {line}")
    said = "differs from" if changed else "is as in" if old else "is new in"
    say(f"{probed.engine.name} {probed.engine.mode} {said} {folder / PAGE}")
    return FAILED if changed else PASSED
