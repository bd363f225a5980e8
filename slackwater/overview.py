"""`slackwater overview`: how pipelines stand, as one answer, for people and for programs."""

from __future__ import annotations

import json
import sys
import time
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table
from rich.text import Text

from slackwater.console import err, plain, say, show
from slackwater.options import what_is_up

if TYPE_CHECKING:
    from jobs.overview.schema import Light, Overview
    from jobs.runs.overview import Surroundings
    from windowing.model.file.yaml_lines import Limits

_COLOURS = {"green": "green", "yellow": "yellow", "red": "bold red", "grey": "dim"}
_LANES_SHOWN = 16
_EVERY_S = 2.0


def overview(
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[PIPELINE.yml ...]",
            help="Pipeline files; default: the project's, and all that have runs.",
            show_default=False,
        ),
    ] = None,
    run: Annotated[
        str | None,
        typer.Option("--run", metavar="NAME", help="The run, of one file; default: the live one."),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="One JSON object for one file, else a JSON list.")
    ] = False,
    follow: Annotated[
        bool,
        typer.Option(
            "--follow",
            help="With files: show them again every two seconds. Without, for programs that ask "
            "often: a line with a JSON list of files is answered by a line of JSON, until the "
            "input ends.",
        ),
    ] = False,
) -> None:
    """Show how pipelines stand: lights, lanes, open windows, dead letters, verdicts."""
    if follow and not files:
        if run is not None:
            msg = "--follow without files reads them from its input: give the run's file"
            raise typer.BadParameter(msg)
        _follow()
        return
    if run is not None and len(files or ()) != 1:
        msg = f"--run {run}: give the one pipeline file whose run it is"
        raise typer.BadParameter(msg)
    from jobs.runs.overview import Surroundings

    while True:
        with err().status("looking"):
            about = Surroundings.of(what_is_up())
            found = _found(about, files or [], run)
        if follow and sys.stdout.isatty():
            Console().clear()
        if as_json:
            overviews = [one.model_dump(mode="json") for one in found]
            one_only = files is not None and len(files) == 1
            say(json.dumps(overviews[0] if one_only else overviews, ensure_ascii=False))
        else:
            for one in found:
                _show(one)
        if not follow:
            break
        sys.stdout.flush()
        time.sleep(_EVERY_S)
    if not found and not as_json:
        say("no pipeline here: `slackwater init` makes one")


def _follow() -> None:
    """Answer each line of the input; an error is an answer, too, and the next line another try.

    All that an answer needs is imported before the first question comes.
    """
    import_module("jobs.overview.collect")
    from jobs.runs.overview import Surroundings
    from windowing.model.file.yaml_lines import SHARED_LIMITS

    for line in sys.stdin:
        try:
            files = [Path(file) for file in json.loads(line)]
            about = Surroundings.of(what_is_up(lambda _: None))
            # For everybody: a file that is too large would make all of them wait.
            found = _found(about, files, None, SHARED_LIMITS)
            overviews = [one.model_dump(mode="json") for one in found]
            answer: dict[str, Any] = {"overviews": overviews}
        except Exception as error:  # it is the answer
            answer = {"error": str(error) or type(error).__name__}
        say(json.dumps(answer, ensure_ascii=False))
        sys.stdout.flush()


def _found(
    about: Surroundings, files: list[Path], run: str | None, limits: Limits | None = None
) -> list[Overview]:
    from infra.layout import default_layout
    from jobs.overview.collect import overview as of_pipeline
    from jobs.overview.collect import overviews, pipelines
    from jobs.runs.choice import name_in
    from jobs.runs.folder import find_named
    from windowing.model.file.yaml_lines import LIMITS

    if not files:
        most = limits or LIMITS
        found = pipelines(about, default_layout().pipelines, most)
        return list(overviews(about, found, most))
    named = {name_in(about.endpoints, file): file for file in files}
    if run is None and len(named) > 1:
        return list(overviews(about, named))
    ((name, file),) = named.items()
    chosen = None if run is None else find_named(about.endpoints, name, run)
    return [of_pipeline(about, name, file, chosen)]


def _show(one: Overview) -> None:
    console = Console(highlight=False, markup=False, emoji=False)
    state = one.state["state"] if one.state else None
    run = "never run" if one.run is None else f"run {one.run} {state}, looked at {one.at}"
    console.print(
        Text.assemble(_dot(one.light), " ", (plain(one.pipeline), "bold"), ", ", plain(run)),
        soft_wrap=True,
    )
    for reason in one.light.reasons:
        console.print(Text.assemble("  ", plain(reason)), soft_wrap=True)
    if one.run is not None:
        show(_outputs(one))
        show(_lanes(one))
        for sentence in _sentences(one):
            console.print(Text.assemble("  ", plain(sentence)), soft_wrap=True)
    for problem in one.problems:
        console.print(Text.assemble(("  unknown: ", "yellow"), plain(problem)), soft_wrap=True)


def _dot(light: Light) -> Text:
    return Text(f"● {light.colour}", _COLOURS[light.colour])


def _outputs(one: Overview) -> Table:
    table = Table("output", "", "final until", box=SIMPLE, pad_edge=False)
    for title in ("rows", "revisions", "open windows"):
        table.add_column(title, justify="right")
    waiting = {windows.query: windows.open for windows in one.open_windows}
    for output in one.outputs:
        table.add_row(
            plain(output.query),
            _dot(output.light),
            output.freshness.final_until or "–",
            *map(_count, (output.rows, output.revisions, waiting.get(output.query))),
        )
    return table


def _lanes(one: Overview) -> Table:
    """Return a table of the lanes; of very many, those that are furthest back."""
    table = Table("lane", "progress", box=SIMPLE, pad_edge=False)
    for title in ("lag", "behind", "records", "late", "dead"):
        table.add_column(title, justify="right")
    table.add_column("silent since")
    shown = sorted(one.lanes, key=lambda lane: -(lane.lag_s if lane.lag_s is not None else 1e18))
    chosen = {lane.lane for lane in shown[:_LANES_SHOWN]}
    for lane in one.lanes:
        if lane.lane not in chosen:
            continue
        name = Text.assemble(plain(lane.lane), (" holds back" if lane.holds_back else "", "yellow"))
        late = "–" if lane.late_share is None else f"{lane.late_share:.2%}"
        lag = "–" if lane.lag_s is None else f"{lane.lag_s:,.0f} s"
        progress = "ended" if lane.ended else lane.progress or "none yet"
        counts = (_count(lane.behind), _count(lane.records), late, _count(lane.dead))
        table.add_row(name, progress, lag, *counts, lane.silent_since or "")
    if (more := len(one.lanes) - len(chosen)) > 0:
        table.caption = f"and {more} lanes that are further: --json lists them"
    return table


def _sentences(one: Overview) -> list[str]:
    said = [
        f"{windows.query}: the oldest open window is {windows.oldest}; {windows.release} releases "
        "it"
        for windows in one.open_windows
        if windows.release is not None
    ]
    said += [
        f"dead letters: {letters.count:,} {letters.reason}: {letters.remedy}"
        for letters in one.dead_letters
    ]
    said += [f"{fate.fate}: {_count(fate.count)} records {fate.meaning}" for fate in one.fates]
    batches, size = one.batches, one.state_size
    took = "" if batches.median_ms is None else f", {batches.median_ms:,.0f} ms in the median"
    last = "" if batches.last_at is None else f", the last at {batches.last_at}"
    said.append(f"{batches.count:,} batches{last}{took}")
    if size.bytes is not None:
        said.append(f"state: {size.bytes:,} bytes")
    if len(one.runs) > 1:
        states = one.run_states
        named = [f"{name} ({states[name]})" if name in states else name for name in one.runs]
        said.append(f"all runs: {', '.join(named)}")
    newest: dict[str, str] = {}
    for verdict in one.verdicts:
        word = {True: "passed", False: "FAILED", None: "unknown"}[verdict.passed]
        newest.setdefault(
            verdict.kind, f"{verdict.kind} {word} at {verdict.at}: {verdict.sentence}"
        )
    return [*said, *newest.values()]


def _count(number: int | None) -> str:
    return "–" if number is None else f"{number:,}"


COMMANDS = (overview,)
