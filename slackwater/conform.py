"""Commands over published semantics: conform judges recorded cases, operators counts windows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from slackwater.console import FAILED, PASSED, USAGE, complain, say

if TYPE_CHECKING:
    from conformance.cases import Driver, OnRefusal, Verdict

    Work = tuple[Iterable[Any], Sequence[Driver[Any]]]
    from windowing.model.windows.policy import Profile


class Kind(StrEnum):
    """The semantics that the cases test."""

    wid = "wid"
    samza = "samza"
    spl = "spl"
    spl_operators = "spl-operators"
    spl_validation = "spl-validation"
    secret = "secret"  # noqa: S105 - the name of a model
    gsn_graphs = "gsn-graphs"
    gsn_firings = "gsn-firings"


class CaseFile(NamedTuple):
    """The file to judge.

    Attributes:
        refuse: takes its lines that are no case.
        interleavings: number of other orders of arrival to try.
    """

    file: Path
    refuse: OnRefusal
    interleavings: int


class JudgedEngine(StrEnum):
    """The engine that computes the output of a case."""

    engine = "engine"
    spark = "spark"
    definition = "definition"


def conform(
    kind: Annotated[
        Kind,
        typer.Argument(
            help="The semantics: wid, the window language; samza, the window operator; spl, "
            "policy windows; secret, models of other engines; gsn-graphs, slides of many queries; "
            "gsn-firings, when these run."
        ),
    ],
    file: Annotated[Path, typer.Argument(metavar="FILE.jsonl", help="Cases, one per line.")],
    by: Annotated[
        JudgedEngine,
        typer.Option(help="What to judge: the engine, here or on Spark, or the definition."),
    ] = JudgedEngine.engine,
    interleavings: Annotated[
        int,
        typer.Option(
            min=0, help="Number of other arrival orders, which must give the same result."
        ),
    ] = 3,
) -> None:
    """Judge cases; for each, print pass or the first difference, and what computed it."""
    if kind not in (Kind.wid, Kind.samza) and by is not JudgedEngine.engine:
        complain(f"cases of {kind.value} are judged in one way only: leave out --by {by.value}")
        raise typer.Exit(USAGE)
    prepare = {
        Kind.wid: _wid,
        Kind.samza: _samza,
        Kind.spl: _spl,
        Kind.spl_operators: _spl_operators,
        Kind.spl_validation: _spl_validation,
        Kind.secret: _secret,
        Kind.gsn_graphs: _gsn_graphs,
        Kind.gsn_firings: _gsn_firings,
    }[kind]
    refused: list[str] = []

    def refuse(place: str, why: str) -> None:
        refused.append(place)
        say(f"{place}: FAIL: {why}")

    cases, drivers = prepare(CaseFile(file, refuse, interleavings), by)
    passed, failed, left_out = _judged(cases, drivers)
    failed += len(refused)
    if not passed and not failed and not left_out:
        complain(f"{file} holds no case: give a file of them, one a line")
        raise typer.Exit(USAGE)
    for driver_name, count in left_out.items():
        say(f"{count} not expressible (by {driver_name})")
    say(f"{passed} passed, {failed} failed")
    raise typer.Exit(FAILED if failed else PASSED)


def _judged(cases: Iterable[Any], drivers: Sequence[Driver[Any]]) -> tuple[int, int, Counter[str]]:
    """Report all verdicts; count what passed and failed, and by driver what it cannot express."""
    passed = failed = 0
    left_out: Counter[str] = Counter()
    for case in cases:
        verdicts: list[Verdict] = []
        for driver in drivers:
            found = _run(case, driver)
            if found is None:
                left_out[driver.name] += 1
            else:
                verdicts += found
        ok = all(verdict.difference is None for verdict in verdicts)
        passed, failed = passed + (ok and bool(verdicts)), failed + (not ok)
    return passed, failed, left_out


def _run(case: Any, driver: Driver[Any]) -> Sequence[Verdict] | None:
    """Report the verdict of one driver on a case; None: it cannot express the case."""
    from conformance.cases import NotExpressible, Verdict, first_of

    try:
        found = driver.run(case)
    except Exception as error:
        if driver.at_once:
            raise  # every case would fail for the same reason
        why = f"it cannot be run: {type(error).__name__}: {first_of(error)}"
        found = [Verdict(case.id, driver.name, why)]
    if isinstance(found, NotExpressible):
        say(found.line(case.id, driver.name))
        return None
    for verdict in found:
        say(verdict.line())
    return found


def _spl(cases: CaseFile, by: JudgedEngine) -> Work:
    from conformance.drivers.spl_windows import WINDOWS
    from conformance.spl import WindowCase, read_lines

    del by
    return read_lines(cases.file, WindowCase, cases.refuse), [WINDOWS]


def _spl_operators(cases: CaseFile, by: JudgedEngine) -> Work:
    from conformance.drivers.spl_operators import OPERATORS
    from conformance.spl import OperatorCase, read_lines

    del by
    return read_lines(cases.file, OperatorCase, cases.refuse), [OPERATORS]


def _spl_validation(cases: CaseFile, by: JudgedEngine) -> Work:
    from conformance.drivers.spl_models import MODELS
    from conformance.spl import ValidationCase, read_lines

    del by
    return read_lines(cases.file, ValidationCase, cases.refuse), [MODELS]


def _secret(cases: CaseFile, by: JudgedEngine) -> Work:
    from conformance.secret import MODEL, read_cases

    del by
    return read_cases(cases.file, cases.refuse), [MODEL]


def _gsn_graphs(cases: CaseFile, by: JudgedEngine) -> Work:
    from conformance.drivers.gsn import GRAPHS
    from conformance.gsn import read_graphs

    del by
    return read_graphs(cases.file, cases.refuse), [GRAPHS]


def _gsn_firings(cases: CaseFile, by: JudgedEngine) -> Work:
    from conformance.drivers.gsn import firings
    from conformance.gsn import read_runs

    del by
    return read_runs(cases.file, cases.refuse), [firings(cases.interleavings)]


def _wid(cases: CaseFile, by: JudgedEngine) -> Work:
    from conformance.wid import read_cases

    read = read_cases(cases.file, cases.refuse)
    if by is JudgedEngine.spark:
        from conformance.drivers.wid import on_spark
        from jobs.many_runs import run_all

        every = list(read)
        return every, [on_spark(every, cases.interleavings, run_all)]
    from conformance.drivers.wid import definition, local_engine

    driver = local_engine if by is JudgedEngine.engine else definition
    return read, [driver(cases.interleavings)]


def _samza(cases: CaseFile, by: JudgedEngine) -> Work:
    """Judge by our operators, and by engine or definition where they can express the case."""
    from conformance.drivers.samza_logs import DEFINITION, local_engine, on_spark
    from conformance.drivers.samza_standalone import standalone
    from conformance.samza import read_scenarios

    every = list(read_scenarios(cases.file, cases.refuse))
    scenarios = {scenario.id: scenario for scenario in every}
    if by is JudgedEngine.definition:
        return every, [DEFINITION]
    if by is JudgedEngine.engine:
        return every, [standalone(scenarios), local_engine(cases.interleavings)]
    from jobs.many_runs import run_all

    return every, [standalone(scenarios), on_spark(every, cases.interleavings, run_all)]


def operators(
    library: Annotated[
        bool,
        typer.Option(
            "--osstreams", help="Use the published library's rules instead of the paper's."
        ),
    ] = False,
) -> None:
    """List the operators over policy windows, and how many configurations each accepts."""
    from windowing.model.windows.policy import Profile

    profile = Profile.osstreams if library else Profile.paper
    counts, kept = _counts(profile, kept=False), _counts(profile, kept=True)
    sliding = counts["Sort"] // 4 - 4
    arithmetic = {
        "Aggregate": "(4 tumbling + 3 x 3 sliding) x 4",
        "Join": "3 x 3 evictions of both sides x (1 + 3 x 3)",
        "Sort": f"(4 tumbling + {sliding} sliding by count(1)) x 4",
        "Dedup": "3 sliding by count(1) x 4",
        "a user's": "(4 tumbling + 3 x 3 sliding) x 4, as Aggregate",
    }
    say("operator   windows  arithmetic")
    for name, how in arithmetic.items():
        say(f"{name:<9}  {counts[name]:>7}  {how}")
    say("Evictions: count, delta, time, and for tumbling windows punctuations. Triggers: count,")
    say("delta, time. x 4: not partitioned, or partitioned with one of three kinds of partition")
    say("eviction; of Join, neither side, or both with one of the three kinds each.")
    say("Partitions that are never evicted as a fifth choice, which the paper does not count:")
    say(", ".join(f"{name} {count}" for name, count in kept.items()) + ".")
    say("The paper gives 52 for Aggregate, 90 for Join, and 44 for Sort. 44 = 11 x 4 would need 11")
    say("pairs of eviction and trigger; the text names 7 (28 windows), the library has 5 (20).")


def _counts(profile: Profile, *, kept: bool) -> dict[str, int]:
    """Return the number of windows of each operator.

    Args:
        profile: the rules to follow.
        kept: count partitions that are never evicted as a separate kind.
    """
    from windowing.model.operators.models import (
        aggregate_windows,
        dedup_windows,
        join_windows,
        sort_windows,
    )

    any_window = len([*aggregate_windows(kept=kept)])
    return {
        "Aggregate": any_window,
        "Join": len([*join_windows(kept=kept)]),
        "Sort": len([*sort_windows(profile, kept=kept)]),
        "Dedup": len([*dedup_windows(kept=kept)]),
        "a user's": any_window,
    }


COMMANDS = (conform, operators)
