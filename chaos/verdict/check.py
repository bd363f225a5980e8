"""A check, its outcome, and its description, declared once by `@check` on its function."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, fields, replace
from enum import StrEnum
from inspect import signature
from typing import TYPE_CHECKING, Any, Final, TypeVar

from windowing.model.registry import PluginError, Registry

if TYPE_CHECKING:
    from chaos.faults.fault import PoisonedRecord
    from chaos.history import History
    from chaos.readers.output import Output
    from chaos.verdict.verify import Verdict


State = Mapping[tuple[str, str], list[Any]]
"""Rows by part (a lane or a shard) and table."""

States = Callable[[], Mapping[str, State]]
"""Reads the states `judged` and `clean`; raises StateError if one cannot be read."""


class StateError(RuntimeError):
    """A clean run that did not finish, or a state that cannot be read."""

    exit_code = 1


class Outcome(StrEnum):
    """The outcome of a check."""

    passed = "passed"
    failed = "failed"
    unknown = "unknown"
    unsupported = "unsupported"


@dataclass(frozen=True)
class Check:
    """The result of one check."""

    name: str
    outcome: Outcome
    detail: str
    evidence: tuple[str, ...] = ()


def merged(checks: Iterable[Check]) -> Outcome:
    """Return the worst outcome; unknown if there are no checks."""
    outcomes = {check.outcome for check in checks}
    for worst in (Outcome.failed, Outcome.unknown, Outcome.unsupported):
        if worst in outcomes:
            return worst
    return Outcome.passed if outcomes else Outcome.unknown


@dataclass(frozen=True)
class FinishedRun:
    """The facts about a finished run; a check's parameters name those that it takes.

    Attributes:
        verdict: comparison of the output with the definition; None: there is no output.
        output: the rows and dead letters in the tables; None: the job never finished a batch.
        lanes: all lanes of the source, each with the progress at which it joined; None: the lane
            was there from the start.
        poisoned: records that the job must reject.
        states: reads the state of this run and of a clean one; None: this run did not read all of
            its log.
        taken: whether a fault removed records from the log.
        imported: what the job imported because its log names it, which it must not.
    """

    faults: Sequence[str]
    history: History
    verdict: Verdict | None
    output: Output | None
    lanes: Mapping[str, int | None]
    poisoned: Sequence[PoisonedRecord]
    within_s: float
    states: States | None = None
    taken: bool = False
    imported: Sequence[str] = ()


def _always(run: FinishedRun) -> bool:
    del run
    return True


def _undecorated() -> Check:
    """Stand in for the decorated function until it is known."""
    msg = "@check decorates no function"
    raise PluginError(msg)


_Judge = TypeVar("_Judge", bound=Callable[..., Check])


@dataclass(frozen=True)
class CheckKind:
    """The description of a check, given by `@check(...)` on its function.

    The function is pure, and its parameters are attributes of `FinishedRun`.

    Attributes:
        order: its place among the checks of a plan that lists none; the built-in ones have 1 to 9.
        when: whether it applies to a run.
    """

    name: str
    _: KW_ONLY
    order: int = 100
    when: Callable[[FinishedRun], bool] = _always
    takes_s: float = 0.0
    function: Callable[..., Check] = _undecorated

    def __call__(self, function: _Judge) -> _Judge:
        """Register the decorated function.

        Raises:
            PluginError: a parameter is not a fact of a run, or another check has this name.
        """
        origin = f"{function.__module__}.{function.__qualname__}"
        known = [field.name for field in fields(FinishedRun)]
        if wrong := [one for one in signature(function).parameters if one not in known]:
            asked = f"it asks for {', '.join(wrong)}, and a run has {', '.join(known)}"
            msg = f"{origin} cannot be the check {self.name!r}: {asked}"
            raise PluginError(msg)
        CHECKS.add(self.name, replace(self, function=function), origin)
        return function

    @property
    def asks(self) -> Collection[str]:
        """The attributes of `FinishedRun` that the function takes."""
        return signature(self.function).parameters

    def judge(self, run: FinishedRun) -> Check:
        """Judge a run by the facts that the function takes.

        If the function raises, the outcome is unknown, so that a long run still gets its report.
        """
        facts = {name: getattr(run, name) for name in self.asks}
        try:
            return self.function(**facts)
        except Exception as error:
            raised = f"{self.function.__module__}.{self.function.__qualname__} raised "
            return Check(self.name, Outcome.unknown, f"{raised}{type(error).__name__}: {error}")


check = CheckKind
"""The decorator: `@check("progress", order=4)`."""

CHECKS: Final = Registry[CheckKind]("check", "checks")
"""Every check by the name that it has in plans."""
