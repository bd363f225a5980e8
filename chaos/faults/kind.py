"""What is known of a fault before it strikes, said once: by `@fault` on its class."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import KW_ONLY, dataclass, replace
from typing import Final, Literal, TypeVar

from chaos.faults.fault import Fault
from windowing.model import Pipeline
from windowing.model.registry import PluginError, Registry

End = Literal["itself", "cure", "run"]
"""How a fault ends: the system mends it, somebody does, or the run is over with it."""

Parameter = Literal["hold", "records"]
"""What a plan may give a fault beside `after`: a length of time, or a number of records."""

FIELDS: Final[dict[Parameter, str]] = {"hold": "hold_s", "records": "records"}
"""The attribute of the class that has a parameter's default, and is set to what the plan gives."""


def _fits_all(pipeline: Pipeline) -> Iterator[str]:
    """Find nothing that would keep a fault from working on a pipeline."""
    del pipeline
    yield from ()


def _always(pipeline: Pipeline) -> bool:
    """Hold of every pipeline."""
    del pipeline
    return True


@dataclass(frozen=True)
class Suggestion:
    """How `slackwater chaos init` brings a fault into a first plan.

    Attributes:
        place: among those that are suggested, from 1.
        why: the comment beside it.
        to: which pipelines it makes sense for.
        aside: only mentioned, to be taken in where it is wanted.
        expect: what is to become of it, for a fault that must say so.
    """

    place: int
    why: str
    to: Callable[[Pipeline], bool] = _always
    aside: bool = False
    expect: str | None = None


def reads_one_topic(pipeline: Pipeline) -> bool:
    """Whether the pipeline has one log, and not the two of a join."""
    return pipeline.join is None


def _undecorated() -> Fault:
    """Stand for the class that a fault is said of, until it is known."""
    msg = "@fault stands on no class"
    raise PluginError(msg)


_Made = TypeVar("_Made", bound=type[Fault])


@dataclass(frozen=True)
class FaultKind:
    """What there is to know of a fault before it strikes; `@fault(...)` on its class says it.

    Attributes:
        name: as it stands in plans.
        takes: parameters that a plan may give it.
        back_s: seconds until the job is back, as the nights measured them (`chaos/README.md`), the
            middle one of several; of those that end the run, until it has said why.
        ends: how it ends. Recovery counts from the injection where the system mends it, from the
            cure where somebody does.
        least_after: after how many committed batches it can strike at the earliest.
        identity: whether checkpoint, tables, topic or driver are not those that belong together
            afterwards: a plan must say what is expected.
        poisons: whether it sends records that must end as dead letters.
        proxied: whether the job must reach the broker through a proxy.
        reserve: whether records must be held back for it.
        deploys: whether Airflow must run, and know the job's pipeline.
        contained: whether its victims must have a network of their own, as containers do.
        one_topic: whether it works on the log itself, of which there must be one.
        misfits: why it cannot work on a pipeline, each in a sentence.
        suggestion: how it comes into a first plan; None: it does not.
        make: makes one, ready to strike.
    """

    name: str
    _: KW_ONLY
    takes: tuple[Parameter, ...] = ()
    back_s: float = 30.0
    ends: End = "itself"
    least_after: int = 1
    identity: bool = False
    poisons: bool = False
    proxied: bool = False
    reserve: bool = False
    deploys: bool = False
    contained: bool = False
    one_topic: bool = False
    misfits: Callable[[Pipeline], Iterator[str]] = _fits_all
    suggestion: Suggestion | None = None
    make: Callable[[], Fault] = _undecorated

    def __call__(self, made: _Made) -> _Made:
        """Register the decorated class, an `Fault` made without arguments.

        Raises:
            PluginError: the class is no attack, or another fault has this name.
        """
        origin = f"{made.__module__}.{made.__qualname__}"
        needed = ("hold_s", "inject", "heal", *(FIELDS[one] for one in self.takes))
        if lacking := [one for one in needed if not hasattr(made, one)]:
            msg = f"{origin} cannot be the fault {self.name!r}: it lacks {', '.join(lacking)}"
            raise PluginError(msg)
        FAULTS.add(self.name, replace(self, make=made), origin)
        return made

    @property
    def last_because(self) -> str | None:
        """Why no fault can come after it; None: one can."""
        if self.ends == "run":
            return "ends the run"
        return "lets the job read the whole log first" if self.reserve else None


fault = FaultKind
"""The decorator: `@fault("kill_broker", takes=("hold",), ends="cure")`."""

FAULTS: Final = Registry[FaultKind]("fault", "faults")
"""Every fault by the name that it has in plans."""
