"""What a probe of a live engine found: as data, and in words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, pairwise
from typing import Any, NamedTuple

from jobs.live_engines.engine import LiveEngine
from windowing.research.engines.parameters import Domain
from windowing.research.engines.profiles import profile_of
from windowing.research.prober.experiments import Experiment, Observed
from windowing.research.prober.hypotheses import Hypothesis
from windowing.research.prober.probe import UNSTEADY, Finding, Recovered, Trial, Unmodelable

_FORMULAS_SHOWN, _REPORTS_SHOWN = 3, 6


class ProbeResult(NamedTuple):
    """A live engine, and what a probe found.

    Attributes:
        finding: what it is.
    """

    engine: LiveEngine
    version: str
    domain: Domain
    finding: Finding

    @property
    def is_expressible(self) -> bool:
        """Whether some parameters explain the engine."""
        return isinstance(self.finding, Recovered)

    @property
    def is_unsteady(self) -> bool:
        """Whether two runs of one input differed, so that nothing is known."""
        return isinstance(self.finding, Unmodelable) and self.finding.why == UNSTEADY

    def as_data(self) -> dict[str, Any]:
        """Return everything as plain data: parameters, and the evidence of each experiment."""
        data: dict[str, Any] = {
            "engine": self.engine.name,
            "mode": self.engine.mode,
            "title": self.engine.title,
            "version": self.version,
            "windows": str(self.domain),
        }
        if isinstance(self.finding, Recovered):
            data |= {"expressible": True, **self._parameters(self.finding)}
        else:
            data |= {"expressible": False, **_shortcoming(self.finding)}
        data["evidence"] = [_trial(one) for one in self.finding.trials]
        return data

    def _parameters(self, found: Recovered) -> dict[str, Any]:
        return {
            "ticks": _distinct(one.tick for one in found.hypotheses),
            "reports": _distinct(one.report for one in found.hypotheses),
            "picks": _distinct(one.pick for one in found.hypotheses)
            if self.domain is Domain.tuple
            else [],
            "starts": sorted(_distinct(one.formula for one in found.models), key=_simplicity),
            "starts_by_size": {str(asked): sorted(one) for asked, one in found.starts.items()},
            "profile": self.engine.profile,
            "as_profile": self._is_as_its_profile(found),
            "refused": {str(asked): why for asked, why in found.refused.items()},
            "random_inputs": found.extra,
        }

    def _is_as_its_profile(self, found: Recovered) -> bool | None:
        """Whether the engine's profile is in the class; None: there is no such profile."""
        if self.engine.profile is None:
            return None
        operator = profile_of(self.engine.profile).operator(self.domain)
        tick, report, pick = (
            getattr(operator.behaviour, name) for name in ("tick", "report", "pick")
        )
        return Hypothesis(tick, report, pick) in found.hypotheses and all(
            operator.start.of(*asked) in starts for asked, starts in found.starts.items()
        )


def words(data: dict[str, Any]) -> Iterator[str]:
    """Yield the data of a probe as lines for people."""
    yield f"{data['title']}, version {data['version']}: {data['windows']} windows"
    yield from _found(data) if data["expressible"] else _lacking(data)
    evidence = sample(data)
    if evidence:
        yield (
            f"evidence: {len(data['evidence'])} inputs, each run twice; those for "
            f"{evidence[0]['size']}, with the reports after each tuple:"
        )
    for one in evidence:
        yield f"  {one['input']}: {spelled_input(one)}"
        yield f"    {spelled_reports(one)}"


def sample(data: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the experiments that show the most: on overlapping windows, or on the last ones."""
    sizes = [one["size"] for one in data["evidence"]]
    shown = next((size for size in sizes if "slide 2" in size), sizes[-1] if sizes else "")
    return [one for one in data["evidence"] if one["size"] == shown]


def spelled_starts(starts: Sequence[str]) -> str:
    """Spell a class of formulas, of which there may be dozens."""
    shown = ", or ".join(starts[:_FORMULAS_SHOWN])
    more = len(starts) - _FORMULAS_SHOWN
    return (shown or "no formula fits") + (f", or {more} more" if more > 0 else "")


def spelled_input(one: dict[str, Any]) -> str:
    """Spell an input: times, with those of one batch in brackets; the same again is counted."""
    pairs = zip(one["batches"], one["times"], strict=True)
    batches = [[time for _, time in batch] for _, batch in groupby(pairs, key=lambda pair: pair[0])]
    alone = (f"[{_counted(batch)}]" if len(batch) > 1 else str(batch[0]) for batch in batches)
    return _counted(alone)


def spelled_reports(one: dict[str, Any]) -> str:
    """Spell what was reported after which tuple."""
    parts = [
        f"t{after}: {_contents(reports)}"
        for after, reports in enumerate(one["reports"], 1)
        if reports
    ]
    return "; ".join(parts) or "nothing was reported"


def _found(data: dict[str, Any]) -> Iterator[str]:
    yield f"tick: {' or '.join(data['ticks'])}"
    yield f"report: {'; or '.join(data['reports'])}"
    if data["picks"]:
        yield f"pick: {' or '.join(data['picks'])}"
    yield f"start: {spelled_starts(data['starts'])}"
    if data["profile"] is not None:
        is_so = "as" if data["as_profile"] else "NOT as"
        yield f"{is_so} its profile {data['profile']} says"
    for size, why in data["refused"].items():
        yield f"refused: {size}: {why}"


def _lacking(data: dict[str, Any]) -> Iterator[str]:
    yield f"not expressible in SECRET: {data['why']}"
    yield f"smallest input: {data['smallest']['size']}: {spelled_input(data['smallest'])}"
    yield f"  reported after {spelled_reports(data['smallest'])}"
    if data["nearest"]:
        yield f"nearest: {data['nearest']}"


def _shortcoming(found: Unmodelable) -> dict[str, Any]:
    near = found.nearest
    return {
        "why": found.why,
        "smallest": _run(found.experiment, found.answer),
        "nearest": None if near is None else f"{near[0]}, start {near[1]}",
    }


def _trial(one: Trial) -> dict[str, Any]:
    return {**_run(one.experiment, one.answer), "hypotheses_left": one.left}


def _run(experiment: Experiment, answer: Observed) -> dict[str, Any]:
    return {
        "input": experiment.name,
        "size": str(experiment.asked),
        "times": [one.time for one in experiment.stream],
        "batches": [one.batch for one in experiment.stream],
        "reports": [[[*content] for content in reports] for reports in answer],
    }


def _distinct(values: Iterator[object]) -> list[str]:
    return [*dict.fromkeys(str(value) for value in values)]


def _simplicity(formula: str) -> tuple[int, str]:
    return len(formula), formula


def _counted(values: Iterable[object]) -> str:
    runs = [(value, len([*same])) for value, same in groupby(values)]
    return " ".join(f"{value}×{times}" if times > 1 else str(value) for value, times in runs)


def _contents(reports: Sequence[Sequence[int]]) -> str:
    shown = " ".join(_content(numbers) for numbers in reports[:_REPORTS_SHOWN])
    more = len(reports) - _REPORTS_SHOWN
    return f"{shown} and {more} more" if more > 0 else shown


def _content(numbers: Sequence[int]) -> str:
    """Spell a content; consecutive ids as a range."""
    if len(numbers) > 2 and all(after == before + 1 for before, after in pairwise(numbers)):
        return f"{{t{numbers[0]}…t{numbers[-1]}}}"
    return "{" + ",".join(f"t{number}" for number in numbers) + "}"
