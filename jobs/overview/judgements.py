"""What was judged about a run: verdicts of all kinds, and expectations over time."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError

from infra.layout import Layout
from jobs.overview.schema import (
    VERDICTS_MAX,
    CheckOutcome,
    PastVerdict,
    QualityOverTime,
    QualityPoint,
)
from jobs.runs.folder import Run
from jobs.runs.verdicts import HISTORY_FILE, Judge, audits_file, last_verdict, noted_verdicts

QUALITY_FILES: Final = (Path("quality_history.jsonl"), Path("quality") / "history.jsonl")
"""Histories of checks in a run's folder, the better one first: a line per check and expectation
(with `threshold` and `observed`), or a line per check with all its `results`."""

EVERY_QUERY: Final = "*"
"""Stands in a history for the query of an expectation about every query's records."""

POINTS_MAX: Final = 200
"""How many checks of an expectation are shown: the newest ones."""

_TAIL: Final = 4 << 20
"""How much of the end of a history is read, in bytes."""


@dataclass(frozen=True)
class ExpectationResult:
    """One expectation in one check.

    Attributes:
        at: when it was checked.
        query: the query; None: every query's records.
        sentence: the result in words.
    """

    at: str
    query: str | None
    expectation: str
    passed: bool
    observed: str | None
    threshold: str | None
    sentence: str | None


def checks_of(run: Run) -> tuple[list[ExpectationResult], list[str]]:
    """Return the checks of a run's expectations, the oldest first, and what could not be read."""
    for name in QUALITY_FILES:
        file, found, bad = run.folder / name, list[ExpectationResult](), 0
        if not file.exists():
            continue
        for line in _lines(file):
            try:
                found += _checked(json.loads(line))
            except (ValueError, KeyError, TypeError, AttributeError):
                bad += 1
        problem = f"{file}: {bad:,} lines are not those of a check, and were left out"
        return found, [problem] if bad else []
    return [], []


def _checked(line: Mapping[str, Any]) -> list[ExpectationResult]:
    at = utc(line["at"])
    if "results" in line:
        return [
            ExpectationResult(
                at,
                one["query"],
                one["expectation"],
                bool(one["success"]),
                one.get("detail") or None,
                None,
                None,
            )
            for one in line["results"]
        ]
    observed, threshold = (
        None if line.get(name) is None else str(line[name]) for name in ("observed", "threshold")
    )
    query = None if line["query"] == EVERY_QUERY else line["query"]
    passed, sentence = bool(line["passed"]), line.get("sentence")
    return [
        ExpectationResult(at, query, line["expectation"], passed, observed, threshold, sentence)
    ]


def over_time(checks: Iterable[ExpectationResult]) -> list[QualityOverTime]:
    """Return the expectations over time; their order distinguishes equal names."""
    points: dict[tuple[str | None, str, int], list[ExpectationResult]] = {}
    turns: dict[tuple[str, str | None, str], int] = {}
    for one in checks:
        within = (one.at, one.query, one.expectation)
        turns[within] = turn = turns.get(within, -1) + 1
        points.setdefault((one.query, one.expectation, turn), []).append(one)
    return [
        QualityOverTime(
            query=query,
            expectation=name,
            threshold=own[-1].threshold,
            points=[
                QualityPoint(at=one.at, passed=one.passed, observed=one.observed)
                for one in own[-POINTS_MAX:]
            ],
        )
        for (query, name, _), own in points.items()
    ]


def quality_of(run: Run, checks: Sequence[ExpectationResult], query: str) -> CheckOutcome | None:
    """Return the last check of a query's expectations, those of every query included."""
    last = max((one.at for one in checks), default=None)
    own = [one for one in checks if one.at == last and one.query in (None, query)]
    if last is None or not own:
        return judged(run, Judge.quality)
    wrong = [one.sentence or _failing(one) for one in own if not one.passed]
    holding = f"{len(own) - len(wrong)} of {len(own)} expectations hold"
    sentence = "; not: ".join([holding, *(["; ".join(wrong)] if wrong else [])])
    return CheckOutcome(at=last, passed=not wrong, sentence=sentence)


def _failing(one: ExpectationResult) -> str:
    return one.expectation if one.observed is None else f"{one.expectation} ({one.observed})"


def judged(run: Run, judge: Judge) -> CheckOutcome | None:
    """Return the last verdict of a kind; None: there is none."""
    found = last_verdict(run, judge)
    if found is None:
        return None
    return CheckOutcome(at=utc(found.at), passed=found.passed, sentence=found.sentence)


def verdicts_of(
    run: Run, state_dir: Path, names: Sequence[str]
) -> tuple[list[PastVerdict], list[str]]:
    """Return the last verdicts, the newest first, and what could not be read.

    Args:
        state_dir: the state folder, which has the reports of chaos runs.
        names: the pipeline's name and that of its file, by which plans may name it.
    """
    problems: list[str] = []
    found = [*_noted(run.folder / HISTORY_FILE), *_noted(audits_file(state_dir, run.pipeline))]
    known = {(one.kind, one.at) for one in found}
    docs = Layout(state_dir).data_docs(run.pipeline) / "index.html"
    for judge in Judge:
        last = judged(run, judge)
        if last is not None and (str(judge), last.at) not in known:
            verdict = {"kind": str(judge), **last.model_dump(), "href": None}
            found.append(PastVerdict.model_validate(verdict))
    found = [
        one.model_copy(update={"href": str(docs)})
        if one.kind == "quality" and one.href is None and docs.exists()
        else one
        for one in found
    ]
    found += _of_chaos(state_dir, names, problems)
    return sorted(found, key=lambda one: one.at, reverse=True)[:VERDICTS_MAX], problems


def _noted(file: Path) -> Iterator[PastVerdict]:
    for noted in noted_verdicts(file)[-VERDICTS_MAX:]:
        try:
            yield PastVerdict.model_validate({**noted, "at": utc(noted["at"])})
        except (ValidationError, KeyError, TypeError, ValueError):
            continue  # of another version


def _of_chaos(state_dir: Path, names: Sequence[str], problems: list[str]) -> Iterator[PastVerdict]:
    """Yield the verdicts of chaos runs with the pipeline's file, from their reports."""
    for file in sorted((state_dir / "chaos" / "reports").glob("*/report.json")):
        try:
            report = json.loads(file.read_bytes())
            if Path(report["plan"]["pipeline"]).stem not in names:
                continue
            yield _of_report(file, report)
        except (OSError, ValueError, KeyError, TypeError) as error:
            problems.append(f"{file} is no report of a chaos run that can be read: {error!r}")


def _of_report(file: Path, report: Mapping[str, Any]) -> PastVerdict:
    outcome, checks = report["outcome"], report["checks"]
    wrong = [f"{one['name']}: {one['detail']}" for one in checks if one["outcome"] != "passed"]
    faults = f"{len(report.get('faults', ()))} faults"
    said = "; ".join(wrong) or f"all {len(checks)} checks passed"
    page = file.with_name("report.html")
    return PastVerdict(
        kind="chaos",
        at=utc(report["began"]),
        passed={"passed": True, "failed": False}.get(outcome),
        sentence=f"plan {report['plan']['name']}, {faults}: {said}",
        href=str(page) if page.exists() else None,
    )


def utc(at: str) -> str:
    """Return an instant that ends with an offset of nought as one that ends with `Z`."""
    return at.replace("+00:00", "Z")


def _lines(file: Path) -> list[bytes]:
    """Return the last lines of a file; one that is being written is left out."""
    with file.open("rb") as opened:
        size = opened.seek(0, 2)
        opened.seek(max(0, size - _TAIL))
        lines = opened.read().split(b"\n")[:-1]
    return lines if size <= _TAIL else lines[1:]
