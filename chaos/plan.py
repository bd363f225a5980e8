"""A plan: its workload, its faults and their order, its checks, and its bound for recovery.

A plan is one YAML document, validated as a whole and frozen; every mistake is reported with file,
line, field and rule. Victims and exact moments are drawn from the seed of a run.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    model_validator,
)
from pydantic_core import PydanticKnownError

from chaos.faults import FAULTS
from chaos.verdict.catalogue import CHECKS, all_checks
from chaos.workload.kinds import Workload
from windowing.model.file.documents import parse_document, read_text
from windowing.model.file.yaml_lines import Path as Place
from windowing.model.file.yaml_lines import load_with_lines
from windowing.model.lengths import duration_us
from windowing.model.names import FileName, PlanName


def _of_a_fault(value: object) -> object:
    return _known(value, FAULTS, lambda: FAULTS)


def _of_a_check(value: object) -> object:
    return _known(value, CHECKS, all_checks)


def _known(value: object, names: Container[object], listed: Callable[[], Iterable[str]]) -> object:
    """Reject an unknown name with pydantic's error for literals."""
    if isinstance(value, str) and value in names:
        return value
    raise PydanticKnownError("literal_error", {"expected": _one_of(listed())})


def _one_of(names: Iterable[str]) -> str:
    *others, last = map(repr, names)
    return f"{', '.join(others)} or {last}" if others else last


FaultName = Annotated[str, BeforeValidator(_of_a_fault)]
"""A key of `FAULTS`."""

CheckName = Annotated[str, BeforeValidator(_of_a_check)]
"""A key of `CHECKS`."""

Expected = Literal["harmless", "named"]
"""The expected outcome of an identity fault: the job continues, or gives up with an error that
names the fault. Its output must be right in both cases."""


def least_after(fault: str) -> int:
    """Return the minimum number of committed batches before a fault."""
    return FAULTS[fault].least_after


RESERVE_BATCHES = 6
"""Number of batches' records that are held back for a fault that silences a partition."""

BATCHES_OF_A_FAULT = 3
"""Number of batches from a fault to recovery: the one that is hit, one begun and committed
afterwards, and a spare one."""


_DAY_US = 86_400_000_000


def _within_a_day(value: object, least_us: int) -> int:
    """Parse a wall-clock duration, at most a day: anything longer is probably a mistake."""
    length_us = duration_us(value, minimum_us=least_us)
    if length_us > _DAY_US:
        msg = f"{value!r} is more than a day: no run waits for so long"
        raise ValueError(msg)
    return length_us


Wait = Annotated[int, BeforeValidator(partial(_within_a_day, least_us=0))]
PositiveWait = Annotated[int, BeforeValidator(partial(_within_a_day, least_us=1))]


SparkSetting = Annotated[str, StringConstraints(pattern=r"^spark\.[\w.]+$", max_length=200)]
"""The name of a setting of Spark."""


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class PlannedFault(_Model):
    """One fault of a plan.

    Attributes:
        after: number of batches to commit after recovery from the previous fault.
        hold_us: duration of a fault that needs healing; None: the fault's default.
        records: number of records that are sent twice.
        expect: the expected outcome of an identity fault; other faults have only one.
    """

    fault: FaultName
    after: Annotated[int, Field(strict=True, ge=1, le=1000)] = 2
    hold_us: PositiveWait | None = Field(default=None, alias="hold")
    records: Annotated[int, Field(strict=True, ge=1, le=10_000)] | None = None
    expect: Expected | None = None

    @model_validator(mode="after")
    def _parameters(self) -> PlannedFault:
        about = FAULTS[self.fault]
        given = {name for name, field in _PARAMETERS.items() if getattr(self, field) is not None}
        if wrong := sorted(given - set(about.takes)):
            takers = sorted(name for name, kind in FAULTS.items() if wrong[0] in kind.takes)
            msg = f"{self.fault} takes no {wrong[0]}: take it out ({', '.join(takers)} take it)"
            raise ValueError(msg)
        if (self.expect is None) == about.identity:
            rule = "needs" if about.identity else "takes no"
            takers = sorted(name for name, kind in FAULTS.items() if kind.identity)
            msg = f"{self.fault} {rule} expect ({', '.join(takers)} take it)"
            raise ValueError(f"{msg}: harmless or named")
        if self.after < about.least_after:
            least = about.least_after
            several = f"{'two' if least == 2 else least} committed batches"
            msg = f"{self.fault} needs {several}, of which one is hit: after: {least}"
            raise ValueError(msg)
        return self


_PARAMETERS = {"hold": "hold_us", "records": "records"}


class Recovery(_Model):
    """The bound for recovery: time from the end of a fault until a whole new batch is committed.

    Attributes:
        within_us: the bound, in wall-clock time.
    """

    within_us: PositiveWait = Field(alias="within")


class Plan(_Model):
    """A workload, its faults, and what must hold afterwards.

    Attributes:
        pipeline: the pipeline file, relative to the plan.
        brokers: number of brokers; three in containers only.
        spark: settings of the job's Spark session, in addition to those of every job under test.
        order: whether faults are injected as listed or in an order drawn from the seed.
        rounds: how many times to run through the list.
        jitter_us: upper bound of the random delay between a fault's batch and its injection.
        give_up_us: how long the job may make no progress before the run is aborted.
    """

    name: PlanName
    pipeline: FileName
    brokers: Literal[1, 3] = 1
    workload: Workload
    spark: dict[SparkSetting, str | int] = Field(default_factory=dict)
    faults: Annotated[tuple[PlannedFault, ...], Field(min_length=1)]
    order: Literal["listed", "seeded"] = "listed"
    rounds: Annotated[int, Field(strict=True, ge=1, le=1000)] = 1
    jitter_us: Wait = Field(default=1_000_000, alias="jitter")
    checks: Annotated[tuple[CheckName, ...], Field(min_length=1)] = Field(
        default_factory=all_checks
    )
    recovery: Recovery
    give_up_us: PositiveWait = Field(default=300_000_000, alias="give_up")

    @property
    def reserve(self) -> int:
        """Number of records held back for a fault that sends them itself."""
        return RESERVE_BATCHES * self.workload.max_offsets if self._reserving else 0

    @property
    def _reserving(self) -> str | None:
        """The fault that sends held-back records itself; None: there is none."""
        return next((one.fault for one in self.faults if FAULTS[one.fault].reserve), None)

    @property
    def components(self) -> tuple[str, ...]:
        """The components of the stack that the plan needs."""
        deploys = any(FAULTS[step.fault].deploys for step in self.faults)
        return ("kafka", "spark", "airflow") if deploys else ("kafka", "spark")

    @model_validator(mode="after")
    def _in_order(self) -> Plan:
        for place, step in enumerate(self.faults, 1):
            why = FAULTS[step.fault].last_because
            alone = place == len(self.faults) and self.rounds == 1 and self.order == "listed"
            if why and not alone:
                msg = f"{step.fault} {why}: list it last, with order: listed and rounds: 1"
                raise ValueError(msg)
        return self

    @model_validator(mode="after")
    def _settings_reach_the_job(self) -> Plan:
        deploying = [step.fault for step in self.faults if FAULTS[step.fault].deploys]
        if self.spark and deploying:
            msg = f"{deploying[0]} lets Airflow submit the job, without spark: take one of them out"
            raise ValueError(msg)
        return self

    @model_validator(mode="after")
    def _long_enough(self) -> Plan:
        if self.workload.known is not None and (rule := self.too_short(self.workload.known)):
            raise ValueError(rule)
        return self

    def too_short(self, records: int) -> str | None:
        """Say why a log of this many records is too short; None: it is long enough."""
        size = self.workload.max_offsets
        needed = self.rounds * sum(step.after + BATCHES_OF_A_FAULT for step in self.faults)
        batches = max(0, records - self.reserve) // size
        if batches >= needed:
            return None
        held = f" (and {self.reserve} held back for {self._reserving})" if self.reserve else ""
        what = "flights" if self.workload.flights is not None else "records"
        return (
            f"{records} {what} at {size} offsets a batch are {batches} batches{held}, and the "
            f"faults need {needed} (after + {BATCHES_OF_A_FAULT} each): more {what}, or fewer "
            "offsets a batch"
        )


def parse_plan(text: str, file: str = "<plan>") -> Plan:
    """Read a plan from YAML text.

    Raises:
        PipelineError: with every problem that was found.
    """
    return _parse(text, file)[0]


def load_plan_with_lines(path: str | Path) -> tuple[Plan, Mapping[Place, int]]:
    """Read a plan file, and where in it everything stands.

    Raises:
        PipelineError: the file is missing, unreadable, or breaks a rule.
    """
    return _parse(read_text(path), str(path))


def _parse(text: str, file: str) -> tuple[Plan, dict[Place, int]]:
    shape = "a plan is a mapping that begins with name: and pipeline:"
    return parse_document(text, file, Plan, shape=shape, prepare=_spread)


def kind_of(path: str | Path) -> str:
    """Return the kind of plan in a file: `faults` unless the file says otherwise.

    Raises:
        PipelineError: the file is missing, unreadable, or not YAML.
    """
    value, _ = load_with_lines(read_text(path), str(path))
    return str(value.get("kind", "faults")) if isinstance(value, dict) else "faults"


def _spread(value: dict[str, Any]) -> dict[str, Any]:
    faults = value.get("faults")
    if not isinstance(faults, list):
        return value
    spread = [{"fault": one} if isinstance(one, str) else one for one in faults]
    return {**value, "faults": spread}
