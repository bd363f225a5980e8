"""The command `heartbeat`: bounds for partitions that are silent."""

from __future__ import annotations

import signal
import sys
from datetime import UTC, datetime, timedelta
from threading import Event
from typing import TYPE_CHECKING, Annotated

import typer

from slackwater.console import USAGE, complain, say, tell
from slackwater.options import PipelineFile, broker, length_us

if TYPE_CHECKING:
    from jobs.tools.heartbeat import Beat
    from windowing.model import Pipeline
    from windowing.model.progress import Delays


def heartbeat(
    pipeline: PipelineFile,
    every: Annotated[str, typer.Option(metavar="LENGTH", help="Time between checks.")] = "5 s",
    once: Annotated[bool, typer.Option("--once", help="Check once, then exit.")] = False,
    silent: Annotated[
        str,
        typer.Option(
            metavar="LENGTH", help="Only write to partitions that have been silent for longer."
        ),
    ] = "30 s",
    clock: Annotated[
        bool,
        typer.Option(
            help="Also derive bounds from the wall clock; not for a replay of old records."
        ),
    ] = True,
    max_delay: Annotated[
        str | None,
        typer.Option(metavar="LENGTH", help="For a pipeline whose generator is not heartbeat."),
    ] = None,
    min_delay: Annotated[
        str | None, typer.Option(metavar="LENGTH", help="With --max-delay; default: 0 s.")
    ] = None,
    skew: Annotated[
        str | None, typer.Option(metavar="LENGTH", help="With --max-delay; default: 0 s.")
    ] = None,
    bootstrap: Annotated[
        str | None, typer.Option(help="The broker; default: the local stack's.")
    ] = None,
) -> None:
    """Write bounds into silent partitions until SIGTERM; prints a line for each."""
    from jobs.tools.heartbeat import delays_of, emit
    from slackwater.options import load_single

    spec = load_single(pipeline)
    delays = delays_of(spec, _delays(max_delay, min_delay, skew))
    every_us, silent_us = length_us("--every", every), length_us("--silent", silent)
    if every_us <= 0:
        complain(f"--every {every}: must be more than nothing")
        raise typer.Exit(USAGE)
    stop = Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    written = emit(
        spec,
        broker(bootstrap),
        delays,
        silent_us=silent_us,
        every_s=None if once else every_us / 1e6,
        stop=stop,
        on_beat=lambda beat: _tell_beat(spec, beat),
        by_clock=clock,
    )
    tell(f"{written} bounds written")


def _delays(max_delay: str | None, min_delay: str | None, skew: str | None) -> Delays | None:
    """Return the delays given by the options.

    Raises:
        typer.Exit: they contradict each other.
    """
    from windowing.model.progress import Delays

    if max_delay is None:
        if min_delay is not None or skew is not None:
            complain("--min-delay and --skew go with --max-delay")
            raise typer.Exit(USAGE)
        return None
    longest = length_us("--max-delay", max_delay)
    shortest = length_us("--min-delay", min_delay or "0 s")
    if shortest > longest:
        complain(f"--min-delay {min_delay} is longer than --max-delay {max_delay}")
        raise typer.Exit(USAGE)
    return Delays(longest, shortest, length_us("--skew", skew or "0 s"))


def _tell_beat(spec: Pipeline, beat: Beat) -> None:
    lane = spec.source.lane(beat.lane)
    silent = "always" if beat.silent_us is None else f"for {beat.silent_us / 1e6:.1f} s"
    say(f"{lane}: silent {silent}; nothing below {_instant(beat.bound_us)} follows: {beat.control}")
    sys.stdout.flush()


def _instant(us: int) -> str:
    try:
        return (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=us)).isoformat()
    except OverflowError:
        return f"{us} us"


COMMANDS = (heartbeat,)
