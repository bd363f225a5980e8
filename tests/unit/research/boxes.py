"""Boxes for the prober: simulated engines, and some that no parameters explain."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from windowing.research.engines.parameters import Behaviour, Domain, StreamTuple, Tick, Windows
from windowing.research.engines.simulation import simulate
from windowing.research.prober.experiments import SIZES, Observed, Size, observed
from windowing.research.prober.hypotheses import formulas, hypotheses, starts_tried
from windowing.research.prober.probe import Model


@dataclass
class SimulatedBox:
    """An engine of known parameters that counts its runs."""

    model: Model
    runs: int = 0

    def run(self, domain: Domain, asked: Size, stream: Sequence[StreamTuple]) -> Observed:
        self.runs += 1
        tick, report, pick = self.model.hypothesis
        windows = Windows(domain, asked.size, asked.slide, self.model.formula.start(asked))
        return observed(simulate(Behaviour(tick, report, pick), windows, stream), stream)


class EveryWindow:
    """Each tuple updates every window that holds it, as Kafka Streams does."""

    def run(self, domain: Domain, asked: Size, stream: Sequence[StreamTuple]) -> Observed:
        del domain
        answers = []
        for place, one in enumerate(stream):
            newest = one.time // asked.slide * asked.slide
            starts = range(newest, one.time - asked.size, -asked.slide)
            so_far = stream[: place + 1]
            answers.append(
                tuple(
                    tuple(s.number for s in so_far if start <= s.time < start + asked.size)
                    for start in starts
                )
            )
        return tuple(answers)


@dataclass
class Unsteady:
    """Each run reports something else."""

    runs: int = 0

    def run(self, domain: Domain, asked: Size, stream: Sequence[StreamTuple]) -> Observed:
        del domain, asked
        self.runs += 1
        return (((self.runs,),),) * len(stream)


class Hasty:
    """Stops answering before the end."""

    def run(self, domain: Domain, asked: Size, stream: Sequence[StreamTuple]) -> Observed:
        del domain, asked
        return ((),) * (len(stream) - 1)


def random_model(chance: Random, domain: Domain) -> Model:
    """An engine of the sources' three ticks, with a start that the prober can see."""
    visible = [
        formula
        for formula in formulas()
        if all(formula.start(asked) in starts_tried(asked) for asked in SIZES[domain])
    ]
    possible = [one for one in hypotheses(domain) if one.tick is not Tick.batch_end]
    return Model(chance.choice(possible), chance.choice(visible))


def stream_of(*batches: list[int]) -> list[StreamTuple]:
    """Tuples with these times, batch by batch."""
    times = [(time, number) for number, batch in enumerate(batches, 1) for time in batch]
    return [StreamTuple(n, n, time, batch) for n, (time, batch) in enumerate(times, 1)]


def one_by_one(*times: int) -> list[StreamTuple]:
    """Tuples with these times, each in its own batch."""
    return stream_of(*([time] for time in times))
