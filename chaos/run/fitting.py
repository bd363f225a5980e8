"""What is known of a plan before anything starts: whether it can run, and what it would do.

An impossible plan costs a second and not an hour. Every problem is one sentence with the plan's
file and line, the rule, and the remedy.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from chaos.faults import FAULTS, fault_named
from chaos.faults.kind import StackKind
from chaos.plan import Plan, PlannedFault, load_plan_with_lines
from chaos.readers.log import LogError
from chaos.run.runner import PreparedPlan
from chaos.verdict.catalogue import CHECKS
from chaos.workload.origin import GeneratorError, Origin
from chaos.workload.records import WorkloadRecord
from jobs.brokers.broker import BrokerError
from jobs.datasets.flights import AIRPORTS
from windowing.model import Pipeline, load_pipeline
from windowing.model.errors import PipelineError, Problem
from windowing.model.file.documents import read_text
from windowing.model.file.yaml_lines import Path as Place
from windowing.model.file.yaml_lines import line_of
from windowing.semantics.values import ValueReader

_SAMPLE = 2_000
"""Number of records in a sample, spread evenly over all records."""

_START_S: Final = 12
_SUBMIT_S: Final = 45
_BATCH_S: Final = 3
_END_S: Final = 12
_JUDGE_S: Final = 25


Bootstrap = Callable[[], str]


def make_order(
    file: Path, folder: Path, *, seed: int, kind: StackKind, bootstrap: Bootstrap
) -> PreparedPlan:
    """Read a plan, and check that it fits its pipeline, its records and the stack.

    Args:
        folder: for its report; need not exist yet.
        bootstrap: returns the broker of a topic to copy; called only if there is one.

    Raises:
        PipelineError: the plan or the pipeline breaks a rule, or they do not fit; lists everything.
    """
    plan, pipeline, problems = fitting_faults(file, kind)
    origin = Origin(plan.workload, pipeline, file.parent, seed, bootstrap)
    source = _named(plan)
    if plan.workload.flights is not None and any(
        part.partitions != len(AIRPORTS) for part in pipeline.source.parts
    ):
        problems.add(source, _not_of_flights(pipeline))
        problems.settle()
    try:
        records = origin.records()
    except (LogError, GeneratorError, BrokerError) as error:
        problems.add(source, str(error))
        problems.settle()
    problems.add(source, _unfit(records, pipeline))
    problems.add(source, plan.too_short(len(records)))
    problems.settle()
    return PreparedPlan(plan, file, folder, records)


def fitting_faults(file: Path, kind: StackKind) -> tuple[Plan, Pipeline, Problems]:
    """Read a plan and its pipeline, and check that every fault can work on it.

    Returns:
        the plan, its pipeline, and a collector for further problems.

    Raises:
        PipelineError: the plan or the pipeline breaks a rule, or a fault cannot work.
    """
    plan, lines = load_plan_with_lines(file)
    pipeline = _pipeline(plan, file, lines)
    problems = Problems(file, lines)
    for number, step in enumerate(plan.faults):
        for why in _misfits(step, pipeline, kind):
            problems.add(("faults", number, "fault"), why)
    if plan.brokers > 1:
        for why in _of_several_brokers(plan, kind):
            problems.add(("brokers",), why)
    problems.settle()
    return plan, pipeline, problems


def _pipeline(plan: Plan, file: Path, lines: Mapping[Place, int]) -> Pipeline:
    named = file.parent / plan.pipeline
    try:
        read_text(named)
    except PipelineError as error:
        problems = Problems(file, lines)
        problems.add(("pipeline",), f"{error}; the path is taken from the plan's folder")
        problems.settle()
    return load_pipeline(named)


def _named(plan: Plan) -> Place:
    """Return the path of the workload's key that says where records come from."""
    given = plan.workload.model_dump()
    names = ("flights", "events", "topic", "python")
    return ("workload", next(name for name in names if given[name] is not None))


class Problems:
    """Collects problems by their place in a plan."""

    def __init__(self, file: Path, lines: Mapping[Place, int]) -> None:
        self._file, self._lines = file, dict(lines)
        self._found: list[Problem] = []

    def add(self, place: Place, why: str | None) -> None:
        """Add a problem, unless `why` is None."""
        if why is not None:
            line, field = line_of(place, self._lines), ".".join(map(str, place))
            self._found.append(Problem(str(self._file), line, field, why))

    def settle(self) -> None:
        """Raise the collected problems, if there are any."""
        if self._found:
            raise PipelineError(self._found)


# --- faults ----------------------------------------------------------------------------------


def _misfits(step: PlannedFault, pipeline: Pipeline, kind: StackKind) -> Iterator[str]:
    fault, about = step.fault, FAULTS[step.fault]
    if kind not in about.stacks:
        others = " or ".join(f"--stack {one}" for one in about.stacks)
        yield f"{fault} has no victim on the stack {kind!r}: run it with {others}"
    if about.one_topic and not pipeline.one_topic:
        topics = " and ".join(part.topic for part in pipeline.source.parts)
        yield f"{fault} works on one topic, and the pipeline joins {topics}: take it out"
    else:
        yield from about.misfits(pipeline)


def _of_several_brokers(plan: Plan, kind: StackKind) -> Iterator[str]:
    if kind != "containers":
        yield (
            f"{plan.brokers} brokers require containers, local processes have one: run it with "
            "--stack containers"
        )
    for step in plan.faults:
        if FAULTS[step.fault].proxied:
            yield (
                f"{step.fault} needs a proxy, which supports a single broker, and there are "
                f"{plan.brokers}: take one of them out"
            )


# --- records ---------------------------------------------------------------------------------


def _not_of_flights(pipeline: Pipeline) -> str:
    counts = " and ".join(f"{part.topic} {part.partitions}" for part in pipeline.source.parts)
    return (
        f"the flights have {len(AIRPORTS)} partitions, and the pipeline declares {counts}: give "
        "records of its own, as workload: {events: mine.jsonl, max_offsets: 300}"
    )


def _unfit(records: Sequence[WorkloadRecord], pipeline: Pipeline) -> str | None:
    """Say why records do not belong to a pipeline: more than half would be dead letters."""
    data = [record for record in records if record.control is None]
    if not data:
        return "no record in it: give some"
    sample = data[:: max(1, len(data) // _SAMPLE)]
    readers: dict[int, ValueReader] = {}
    dead = Counter[str]()
    for record in sample:
        topic = pipeline.source.parts[record.part].topic
        number = pipeline.source.number(topic, record.partition) or 0
        reader = readers.setdefault(number, ValueReader(pipeline, number))
        if isinstance(reason := reader.read(record.value, None), str):
            dead[reason] += 1
    if 2 * dead.total() <= len(sample):
        return None
    reasons = ", ".join(f"{reason} {count}" for reason, count in dead.most_common())
    first = (data[0].value or b"")[:80].decode("utf-8", "replace")
    return (
        f"{dead.total()} of {len(sample)} records would be dead letters ({reasons}), as {first}: "
        f"the pipeline reads {pipeline.source.event_time.field} and "
        f"{', '.join(pipeline.source.fields) or 'no other field'}: give records of its own, as "
        "workload: {events: mine.jsonl, max_offsets: 300}"
    )


def forecast(order: PreparedPlan) -> Iterator[str]:
    """Describe what a plan would do, line by line."""
    plan, size = order.plan, order.plan.workload.max_offsets
    body = len(order.records) - plan.reserve
    yield f"{plan.name}: {order.pipeline} on {', '.join(plan.components)} of its own"
    yield f"  {plan.workload}: {body} sent first, {-(-body // size)} batches of {size} at the most"
    if plan.reserve:
        yield f"  {plan.reserve} held back, for the last fault to send"
    drawn = "in an order drawn from the seed" if plan.order == "seeded" else "in this order"
    rounds = "" if plan.rounds == 1 else f", {plan.rounds} times"
    yield f"  faults, {drawn}{rounds}:"
    for step in plan.faults:
        yield f"    {_forecast(step)}"
    yield "  then the end of each partition is sent, the job comes to it, and is stopped"
    yield f"  checks: {', '.join(('took effect', *plan.checks))}"
    yield (
        f"  about {_minutes(seconds(plan, body))} min on two cores that nobody else uses; a job "
        f"that stands still for {plan.give_up_us / 1e6:g} s is given up"
    )


def seconds(plan: Plan, records: int) -> float:
    """Estimate the duration of a plan in seconds, on two otherwise idle cores.

    `records` are sent before the job starts.
    """
    faults = plan.rounds * sum(_hold_s(step) + FAULTS[step.fault].back_s for step in plan.faults)
    batches = -(-records // plan.workload.max_offsets)
    judged = _JUDGE_S + sum(CHECKS[name].takes_s for name in plan.checks)
    return _START_S + _SUBMIT_S + faults + _BATCH_S * batches + _END_S + judged


def _forecast(step: PlannedFault) -> str:
    batches = "1 batch" if step.after == 1 else f"{step.after} batches"
    hold_s = _hold_s(step)
    held = f", for {hold_s:g} s" if hold_s else ""
    expected = "" if step.expect is None else f", which must be {step.expect}"
    ends = "; the run ends with it" if FAULTS[step.fault].ends == "run" else ""
    return f"after {batches}: {step.fault}{held}{expected}{ends}"


def _hold_s(step: PlannedFault) -> float:
    hold_s = None if step.hold_us is None else step.hold_us / 1e6
    return fault_named(step.fault, hold_s=hold_s, records=step.records).hold_s


def _minutes(seconds: float) -> int:
    return max(1, round(seconds / 60))
