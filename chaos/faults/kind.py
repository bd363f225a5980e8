"""Description of a fault, given once, by `@fault` on its class."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from typing import Final, Literal, TypeVar, get_args

from chaos.faults.fault import Fault
from windowing.model import Pipeline
from windowing.model.registry import PluginError, Registry

StackKind = Literal["local", "containers", "yarn"]
"""What runs the stack: Spark's master and workers as processes or as containers; HDFS and YARN."""

ANY: Final[tuple[StackKind, ...]] = get_args(StackKind)
STANDALONE: Final[tuple[StackKind, ...]] = ("local", "containers")
"""Kinds with a Spark master and its workers, and with checkpoints in folders."""

End = Literal["itself", "cure", "run"]
"""How a fault ends: the system recovers by itself, `heal` cures it, or the run ends with it."""

Parameter = Literal["hold", "records"]
"""What a plan may set besides `after`: a duration, or a number of records."""

FIELDS: Final[dict[Parameter, str]] = {"hold": "hold_s", "records": "records"}
"""For each parameter, the class attribute that holds its default and takes the plan's value."""


def _fits_all(pipeline: Pipeline) -> Iterator[str]:
    del pipeline
    yield from ()


def _always(pipeline: Pipeline) -> bool:
    del pipeline
    return True


@dataclass(frozen=True)
class Suggestion:
    """How `slackwater chaos init` suggests a fault for a first plan.

    Attributes:
        place: position among the suggestions, from 1.
        why: the comment beside it.
        to: which pipelines it makes sense for.
        aside: suggest it in a comment only.
        expect: the expected outcome, for a fault that needs one.
    """

    place: int
    why: str
    to: Callable[[Pipeline], bool] = _always
    aside: bool = False
    expect: str | None = None


def reads_one_topic(pipeline: Pipeline) -> bool:
    """Whether the pipeline reads one topic, unlike a join."""
    return pipeline.one_topic


def _undecorated() -> Fault:
    """Stand in for the decorated class until it is known."""
    msg = "@fault decorates no class"
    raise PluginError(msg)


_Made = TypeVar("_Made", bound=type[Fault])


@dataclass(frozen=True)
class FaultKind:
    """The description of a fault, given by `@fault(...)` on its class.

    Attributes:
        takes: parameters that a plan may set.
        back_s: median time to recovery in the nightly runs (`chaos/README.md`), in seconds; for a
            fault that ends the run, time until the job has said why.
        ends: how it ends. Recovery time counts from the injection if the system recovers by
            itself, from the cure otherwise.
        least_after: minimum number of committed batches before it can be injected.
        identity: whether checkpoint, tables, topic or driver no longer belong together afterwards;
            a plan must then say what it expects.
        poisons: whether it sends records that must become dead letters.
        proxied: whether the job must reach the broker through a proxy.
        reserve: whether records must be held back for it.
        deploys: whether Airflow must run and know the job's pipeline.
        stacks: the kinds of stack that have its victims.
        one_topic: whether it changes the log itself and so needs a single topic.
        misfits: yields the reasons why it cannot work on a pipeline, a sentence each.
        suggestion: how a first plan suggests it; None: not at all.
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
    stacks: tuple[StackKind, ...] = ANY
    one_topic: bool = False
    misfits: Callable[[Pipeline], Iterator[str]] = _fits_all
    suggestion: Suggestion | None = None
    make: Callable[[], Fault] = _undecorated

    def __call__(self, made: _Made, **given: object) -> _Made:
        """Register the decorated class, a `Fault`; `given` is what its constructor needs.

        Raises:
            PluginError: the class is not a fault, or another fault has this name.
        """
        origin = f"{made.__module__}.{made.__qualname__}"
        needed = ("hold_s", "inject", "heal", *(FIELDS[one] for one in self.takes))
        if lacking := [one for one in needed if not hasattr(made, one)]:
            msg = f"{origin} cannot be the fault {self.name!r}: it lacks {', '.join(lacking)}"
            raise PluginError(msg)
        make: Callable[..., Fault] = made
        FAULTS.add(self.name, replace(self, make=partial(make, **given)), origin)
        return made

    @property
    def last_because(self) -> str | None:
        """Why no fault can follow this one; None: one can."""
        if self.ends == "run":
            return "ends the run"
        return "lets the job read the whole log first" if self.reserve else None


fault = FaultKind
"""The decorator: `@fault("kill_broker", takes=("hold",), ends="cure")`."""

FAULTS: Final = Registry[FaultKind]("fault", "faults")
"""Every fault by the name that it has in plans."""
