"""Engines that no hypothesis explains: the smallest input that shows it, and what it breaks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from windowing.research.engines.parameters import Domain, StreamTuple
from windowing.research.prober.box import Box, Observed, ask
from windowing.research.prober.elimination import explaining, nearest
from windowing.research.prober.hypotheses import Hypothesis
from windowing.research.prober.inputs import Experiment

UNSTEADY = "two runs of one input differ"


class Trial(NamedTuple):
    """An experiment that was run on an engine.

    Attributes:
        left: how many hypotheses the experiments on windows of this size left over.
    """

    experiment: Experiment
    answer: Observed
    left: int


@dataclass(frozen=True)
class Unmodelable:
    """An engine that no hypothesis explains.

    Attributes:
        experiment: the smallest unexplained input.
        nearest: the hypothesis and start that agree after the most tuples; None: repeats differ.
        trials: the planned experiments up to here, in order.
    """

    why: str
    experiment: Experiment
    answer: Observed
    nearest: tuple[Hypothesis, int] | None
    trials: tuple[Trial, ...]


def unexplained(
    box: Box, domain: Domain, alive: Sequence[Hypothesis], trials: Sequence[Trial]
) -> Unmodelable:
    """Return the smallest input that nothing explains of what the sizes before left over.

    Args:
        alive: the hypotheses that explain all sizes before the last one.
        trials: all experiments; those on the last size are explained by none together.
    """
    last = [one for one in trials if one.experiment.asked == trials[-1].experiment.asked]
    for trial in last:
        if not explaining(alive, domain, trial.experiment, trial.answer):
            smallest, answer = _shrunk(box, domain, alive, trial.experiment, trial.answer)
            near = nearest(alive, domain, smallest, answer)
            return Unmodelable(_broken_rule(answer), smallest, answer, near, tuple(trials))
    why = "each input is explained by some hypothesis, but all of this size by none"
    near = nearest(alive, domain, last[0].experiment, last[0].answer)
    return Unmodelable(why, last[0].experiment, last[0].answer, near, tuple(trials))


def _broken_rule(answer: Observed) -> str:
    reports = [(number, set(one)) for number, found in enumerate(answer, 1) for one in found]
    if any(number in content for number, content in reports):
        return "a report holds the tuple that it follows: in the model, contents end before it"
    if any(content and len(content) <= max(content) - min(content) for _, content in reports):
        return "a content is no interval of ids"
    return "no hypothesis explains this input"


def _shrunk(
    box: Box,
    domain: Domain,
    alive: Sequence[Hypothesis],
    experiment: Experiment,
    given: Observed,
) -> tuple[Experiment, Observed]:
    """Leave tuples out, from the last, as long as nothing explains the answer."""
    experiment, given = _shortest(box, domain, alive, experiment, given)
    for place in reversed(range(1, len(experiment.stream) - 1)):
        kept = experiment.stream[:place] + experiment.stream[place + 1 :]
        smaller = replace(experiment, stream=_renumbered(kept))
        answer = ask(box, domain, smaller.asked, smaller.stream)
        if not explaining(alive, domain, smaller, answer):
            experiment, given = smaller, answer
    return experiment, given


def _shortest(
    box: Box,
    domain: Domain,
    alive: Sequence[Hypothesis],
    experiment: Experiment,
    given: Observed,
) -> tuple[Experiment, Observed]:
    """Return the shortest beginning that nothing explains.

    What an engine answers to a beginning is known from its answer to the whole, unless a batch is
    cut in two: so the engine is asked only once in the end.
    """
    for length in range(1, len(experiment.stream)):
        beginning = replace(experiment, stream=experiment.stream[:length])
        if explaining(alive, domain, beginning, given[:length]):
            continue
        answer = ask(box, domain, beginning.asked, beginning.stream)
        if not explaining(alive, domain, beginning, answer):
            return beginning, answer
    return experiment, given


def _renumbered(kept: Sequence[StreamTuple]) -> tuple[StreamTuple, ...]:
    return tuple(
        StreamTuple(number, number, one.time, one.batch) for number, one in enumerate(kept, 1)
    )
