"""Commands of `slackwater secret`: models of other engines' windows, and a probe of live ones."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from slackwater.console import FAILED, PASSED, UNKNOWN, say, tell

if TYPE_CHECKING:
    from jobs.live_engines.findings import ProbeResult
    from windowing.research.engines.comparison import Comparison
    from windowing.research.engines.parameters import Domain, StreamTuple
    from windowing.research.engines.simulation import SimulatedReport

secret = typer.Typer(
    help="Other engines' windows, by the SECRET model: docs/secret.md.", no_args_is_help=True
)
Engine = Annotated[str, typer.Argument(metavar="ENGINE", help="See slackwater secret engines.")]
Size = Annotated[int, typer.Option(min=1, help="Length of a window: time units, or tuples.")]
Slide = Annotated[
    int | None, typer.Option(min=1, help="Distance between two windows; default: the size.")
]
Tuples = Annotated[bool, typer.Option("--tuples", help="Windows of tuples instead of time.")]
Times = Annotated[
    str | None,
    typer.Option(metavar="T,T,…", help="Application times; each tuple is a batch of its own."),
]
Input = Annotated[
    Path | None,
    typer.Option("--input", metavar="FILE.csv", help="Tuples: lines of arrival,id,time,batch."),
]
Picture = Annotated[
    Path | None, typer.Option(metavar="FILE.png", help="Also draw the reports, as PNG or SVG.")
]


@secret.callback()
def _group() -> None:
    """Say how other engines' windows behave, by the SECRET model."""


@secret.command()
def engines() -> None:
    """List the engines, with the parameters of their windows."""
    from windowing.research.engines.profiles import KNOWN, SIMULATED

    for profile in (*SIMULATED, *KNOWN):
        say(f"{profile.name.lower()}: {profile.title}")
        for kind, operator in (("time", profile.time), ("tuple", profile.tuple)):
            if operator is not None:
                behaviour = operator.behaviour
                flush = ", flush at the end" if behaviour.flush else ""
                say(
                    f"  {kind} windows: start {operator.start.formula}; {behaviour.tick}; "
                    f"report {behaviour.report}{flush}"
                )
        if profile.note:
            say(f"  {profile.note}")


@secret.command()
def simulate(
    engine: Engine,
    size: Size,
    slide: Slide = None,
    tuples: Tuples = False,
    times: Times = None,
    file: Input = None,
    picture: Picture = None,
) -> None:
    """Print what an engine reports of an input, and which tuple causes each report."""
    from windowing.research.engines.comparison import configured
    from windowing.research.engines.profiles import profile_of

    stream, domain, profile = _stream(times, file), _domain(tuples), profile_of(engine)
    configuration = configured(profile, domain, size, slide or size, stream)
    reported = configuration.run(stream)
    say(f"{profile.title}: windows above {configuration.windows.start}, {len(reported)} reports")
    for report in reported:
        say(f"  {_shown(report)}")
    if picture is not None:
        _draw({profile.title: reported}, domain, stream, picture)


@secret.command()
def compare(
    left: Engine,
    right: Engine,
    size: Size,
    slide: Slide = None,
    tuples: Tuples = False,
    times: Times = None,
    file: Input = None,
    picture: Picture = None,
) -> None:
    """Compare two engines on one input; exit with 1 if their reports differ."""
    from windowing.research.engines import comparison
    from windowing.research.engines.profiles import profile_of

    stream, domain = _stream(times, file), _domain(tuples)
    profiles = [profile_of(name) for name in (left, right)]
    one, other = (
        comparison.configured(profile, domain, size, slide or size, stream) for profile in profiles
    )
    found = comparison.compare(one, other, stream)
    titles = [profile.title for profile in profiles]
    _say_comparison(found, *titles)
    if picture is not None:
        _draw(dict(zip(titles, (found.left, found.right), strict=True)), domain, stream, picture)
    raise typer.Exit(PASSED if found.equal else FAILED)


@secret.command()
def like(
    engine: Engine,
    file: Annotated[Path, typer.Argument(metavar="PIPELINE.yml", help="A pipeline.")],
    first: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="Event time of the first record, for engines whose windows begin there.",
        ),
    ] = None,
) -> None:
    """Propose windows and late policies that make a pipeline's windows those of an engine."""
    from windowing.model.file.pipeline import load_pipeline
    from windowing.model.lengths import instant_us
    from windowing.research.engines.likeness import propose
    from windowing.research.engines.profiles import profile_of

    profile = profile_of(engine)
    try:
        first_us = None if first is None else instant_us(first)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--first") from None
    say(f"# windows as in {profile.title}")
    for proposal in propose(profile, load_pipeline(file), first_us):
        for line in proposal.lines():
            say(line)


def _stream(times: str | None, file: Path | None) -> Sequence[StreamTuple]:
    from windowing.research.engines.streams import parse_stream, stream_of_times

    if (times is None) == (file is None):
        msg = "give the input once: --times 1,2,3 or --input FILE.csv"
        raise typer.BadParameter(msg)
    if times is not None:
        return stream_of_times(times)
    assert file is not None  # noqa: S101 - one of the two is given
    with file.open(encoding="utf-8") as lines:
        return parse_stream(lines)


def _domain(tuples: bool) -> Domain:
    from windowing.research.engines.parameters import Domain

    return Domain.tuple if tuples else Domain.time


def _say_comparison(found: Comparison, left: str, right: str) -> None:
    moved = f", {len(found.moved)} of them caused by another tuple" if found.moved else ""
    say(f"{len(found.both)} reports in both{moved}")
    for title, only in ((left, found.only_left), (right, found.only_right)):
        if only:
            say(f"only {title}: {len(only)}")
            for report in only:
                say(f"  {_shown(report)}")
    for one, other in found.moved:
        say(f"moved: {_shown(one)} | {_shown(other)}")
    if found.equal:
        say("equal on this input")
    for number, parameters in enumerate(found.explained_by if not found.equal else ()):
        say("or by" if number else "explained by")
        for parameter in parameters:
            say(f"  {parameter}")


def _shown(report: SimulatedReport) -> str:
    content = ",".join(f"t{number}" for number in report.content)
    cause = "the end of the input" if report.arrival is None else f"arrival {report.arrival}"
    return f"({report.low}, {report.instant}] {{{content}}} at {cause}"


def _draw(
    reported: Mapping[str, Sequence[SimulatedReport]],
    domain: Domain,
    stream: Sequence[StreamTuple],
    picture: Path,
) -> None:
    from jobs.tools.reports_picture import draw

    draw(reported, domain, stream, picture)
    tell(f"picture: {picture}")


@secret.command()
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
    from jobs.live_engines.findings import ProbeResult, words
    from windowing.research.engines.parameters import Domain
    from windowing.research.prober.probe import probe as find

    asked, domain = live_engine(engine, mode), Domain.tuple if tuples else Domain.time
    tell(f"starting {asked.title}")
    with asked.opened() as opened:
        probed = ProbeResult(asked, opened.version, domain, find(opened.box, domain, tell))
    data = probed.as_data()
    if as_json:
        say(json.dumps(data, ensure_ascii=False))
    else:
        for line in words(data):
            say(line)
    raise typer.Exit(_code(probed) if record is None else _recorded(probed, data, record))


def _code(probed: ProbeResult) -> int:
    if probed.is_unsteady:
        return UNKNOWN
    return PASSED if probed.is_expressible else FAILED


def _recorded(probed: ProbeResult, data: dict[str, Any], folder: Path) -> int:
    """Keep what was found; return whether it is what was found before."""
    from chaos.probes import PAGE, differences, keep

    if probed.is_unsteady:
        tell(f"{folder / PAGE} is left as it is: two runs of one input differ")
        return UNKNOWN
    old = keep(data, folder)
    changed = differences(old, data) if old is not None else []
    for line in changed:
        tell(f"was | is: {line}")
    said = "differs from" if changed else "is as in" if old else "is new in"
    say(f"{probed.engine.name} {probed.engine.mode} {said} {folder / PAGE}")
    return FAILED if changed else PASSED
