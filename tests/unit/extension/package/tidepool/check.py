"""A custom check: this log is clean, so nothing may be refused."""

from chaos.readers.output import Output
from chaos.verdict.check import Check, FinishedRun, Outcome, check


def sends_no_poison(run: FinishedRun) -> bool:
    """Whether the plan leaves the log clean."""
    return "poison_records" not in run.faults


@check("no_dead_letters", order=9, when=sends_no_poison)
def no_dead_letters(output: Output) -> Check:
    """No record is refused."""
    outcome = Outcome.failed if output.dead else Outcome.passed
    shown = tuple(line for _, line in output.dead[:3])
    return Check("no_dead_letters", outcome, f"{len(output.dead)} dead letters", shown)
