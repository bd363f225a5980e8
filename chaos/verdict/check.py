"""What a check is: its outcome, and what is said of it once, by `@check` on its function."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, fields, replace
from enum import StrEnum
from inspect import signature
from typing import TYPE_CHECKING, Final, TypeVar

from windowing.model.registry import PluginError, Registry

if TYPE_CHECKING:
    from chaos.faults.fault import PoisonedRecord
    from chaos.history import History
    from chaos.readers.output import Output
    from chaos.verdict.same_state import States
    from chaos.verdict.verify import Verdict


class Outcome(StrEnum):
    """What a check came to."""

    passed = "passed"
    failed = "failed"
    unknown = "unknown"
    unsupported = "unsupported"


@dataclass(frozen=True)
class Check:
    """One check and its outcome.

    Attributes:
        name: of the check, as in plans.
        outcome: what it came to.
        detail: the figures, in one sentence.
        evidence: lines that show a failure.
    """

    name: str
    outcome: Outcome
    detail: str
    evidence: tuple[str, ...] = ()


def merged(checks: Iterable[Check]) -> Outcome:
    """What checks come to together; none at all is unknown."""
    outcomes = {check.outcome for check in checks}
    for worst in (Outcome.failed, Outcome.unknown, Outcome.unsupported):
        if worst in outcomes:
            return worst
    return Outcome.passed if outcomes else Outcome.unknown


@dataclass(frozen=True)
class FinishedRun:
    """What is known of a run that is over: a check takes those of these that it names.

    Attributes:
        faults: of the plan, by name.
        history: what happened.
        verdict: of the output against the definition; None: there is no output.
        output: the rows and dead letters in the tables; None: the job never came to a batch.
        lanes: all lanes of the source, each with the progress that it joined at; None: one that was
            there from the start.
        poisoned: records that were sent to be refused.
        within_s: the plan's bound for a recovery, in seconds.
        states: what this run and a clean one keep, read when asked for; None: this run did not take
            in all of its log.
        taken: whether a fault took records from the log.
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


def _always(run: FinishedRun) -> bool:
    """Hold of every run."""
    del run
    return True


def _undecorated() -> Check:
    """Stand for the function that a check is said of, until it is known."""
    msg = "@check stands on no function"
    raise PluginError(msg)


_Judge = TypeVar("_Judge", bound=Callable[..., Check])


@dataclass(frozen=True)
class CheckKind:
    """What there is to know of a check; `@check(...)` on its function says it.

    The function is pure, and its parameters are attributes of `FinishedRun`.

    Attributes:
        name: as it stands in plans.
        order: its place among the checks that a plan has if it lists none; ours are 1 to 8.
        when: which runs it can say anything of; others go without it.
        takes_s: how long it takes about, in seconds.
        function: judges a run.
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
            PluginError: it asks for what no run has, or another check has this name.
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
        """Judge a run by those of its facts that the function takes.

        A function that raises has shown nothing: the report of a long run is written all the same.
        """
        facts = {name: getattr(run, name) for name in self.asks}
        try:
            return self.function(**facts)
        except Exception as error:
            told = f"{self.function.__module__}.{self.function.__qualname__} raised "
            return Check(self.name, Outcome.unknown, f"{told}{type(error).__name__}: {error}")


check = CheckKind
"""The decorator: `@check("progress", order=4)`."""

CHECKS: Final = Registry[CheckKind]("check", "checks")
"""Every check by the name that it has in plans."""
