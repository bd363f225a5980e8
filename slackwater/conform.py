"""The command `conform`: judge recorded cases of the sources' semantics."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from slackwater.console import FAILED, PASSED, USAGE, complain, say

if TYPE_CHECKING:
    from conformance.wid.judge import Verdict


class Kind(StrEnum):
    """The semantics that the cases test."""

    wid = "wid"
    samza = "samza"
    spl = "spl"
    spl_operators = "spl-operators"
    spl_validation = "spl-validation"


class Judged(StrEnum):
    """What computes the output of a case."""

    engine = "engine"
    spark = "spark"
    definition = "definition"


def register(app: typer.Typer) -> None:
    """Add this command."""
    app.command()(conform)


def conform(
    kind: Annotated[
        Kind,
        typer.Argument(
            help="The semantics: wid, the window language; samza, the window operator; spl, "
            "policy windows."
        ),
    ],
    file: Annotated[Path, typer.Argument(metavar="FILE.jsonl", help="Cases, one per line.")],
    by: Annotated[
        Judged, typer.Option(help="What to judge: the engine, here or on Spark, or the definition.")
    ] = Judged.engine,
    interleavings: Annotated[
        int,
        typer.Option(
            min=0, help="Number of other arrival orders, which must give the same result."
        ),
    ] = 3,
) -> None:
    """Judge cases; for each, print pass or the first difference, and what computed it."""
    if kind.value.startswith("spl") and by is not Judged.engine:
        complain("scenarios of policy windows are run by the windows themselves: --by engine")
        raise typer.Exit(USAGE)
    if kind is Kind.samza and by is Judged.definition:
        complain("a definition takes no calls, which scenarios are made of: --by engine or spark")
        raise typer.Exit(USAGE)
    judged = {
        Kind.wid: _wid,
        Kind.samza: _samza,
        Kind.spl: _spl,
        Kind.spl_operators: _spl_operators,
        Kind.spl_validation: _spl_validation,
    }[kind]
    results = judged(file, by, interleavings)
    passed = failed = 0
    for verdicts in results:
        for verdict in verdicts:
            say(verdict.line())
        ok = all(verdict.difference is None for verdict in verdicts)
        passed, failed = passed + ok, failed + (not ok)
    if not passed and not failed:
        complain(f"{file} holds no case: give a file of them, one a line")
        raise typer.Exit(USAGE)
    say(f"{passed} passed, {failed} failed")
    raise typer.Exit(FAILED if failed else PASSED)


def _spl(file: Path, by: Judged, interleavings: int) -> Iterator[list[Verdict]]:
    from conformance.drivers import spl_windows
    from conformance.spl.case import WindowCase, read_lines

    del by, interleavings  # a scenario is one order of calls
    yield from map(spl_windows.judge, read_lines(file, WindowCase))


def _spl_operators(file: Path, by: Judged, interleavings: int) -> Iterator[list[Verdict]]:
    from conformance.drivers import spl_operators
    from conformance.spl.case import OperatorCase, read_lines

    del by, interleavings
    yield from map(spl_operators.judge, read_lines(file, OperatorCase))


def _spl_validation(file: Path, by: Judged, interleavings: int) -> Iterator[list[Verdict]]:
    from conformance.drivers import spl_operators
    from conformance.spl.case import ValidationCase, read_lines

    del by, interleavings
    yield from map(spl_operators.judge_validation, read_lines(file, ValidationCase))


def _wid(file: Path, by: Judged, interleavings: int) -> Iterator[list[Verdict]]:
    from conformance.wid import judge as wid

    cases = wid.read_cases(file)
    if by is Judged.spark:
        from conformance.drivers import wid_spark
        from jobs.many_runs import run_all

        yield from wid_spark.judge(list(cases), interleavings, run_all)
    elif by is Judged.engine:
        from conformance.drivers import wid_local

        yield from (wid_local.judge(case, interleavings) for case in cases)
    else:
        for case in cases:
            yield [wid.judge(case, wid.by_definition, "definition", interleavings)]


def _samza(file: Path, by: Judged, interleavings: int) -> Iterator[list[Verdict]]:
    """Run by our operators, and also as a pipeline on the chosen engine if one can express it."""
    from conformance.drivers import samza_local, samza_standalone
    from conformance.samza.case import read_scenarios

    scenarios = {scenario.id: scenario for scenario in read_scenarios(file)}
    found = ((s.id, samza_local.asked(s)) for s in scenarios.values())
    asked = {name: question for name, question in found if question is not None}
    on_spark: dict[str, Verdict] = {}
    if by is Judged.spark and asked:
        from jobs.many_runs import run_all

        verdicts = samza_local.judge_on_spark([*asked.values()], interleavings, run_all)
        on_spark = dict(zip(asked, verdicts, strict=True))
    for name, scenario in scenarios.items():
        verdicts = [samza_standalone.judge(scenario, scenarios)]
        if name in on_spark:
            verdicts.append(on_spark[name])
        elif name in asked:
            verdicts.append(samza_local.judge(asked[name], interleavings))
        yield verdicts
