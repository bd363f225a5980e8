"""The light of an output: a pure function of a few facts, with its reasons in words.

Each rule says what speaks against green, or nothing; the light has the worst colour of all. The
same table is in `docs/overview.md`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from jobs.overview.schema import CheckOutcome, Colour, Light
from windowing.model.lengths import spell_us

DAY_S: Final = 86_400
MARGIN_S: Final = 3_600
"""How much later than the slack (and a schedule's period) results may be final, in seconds."""

NEVER_RUN: Final = "it has never run"

_BAD_STATES: Final = {
    "failed": (Colour.red, "its job has failed"),
    "restarting": (Colour.yellow, "its job is being restarted"),
    "waiting": (Colour.yellow, "its job waits for room on the cluster"),
    "submitted": (Colour.yellow, "its job has not finished a batch since it was started"),
    "stopping": (Colour.yellow, "its job is being stopped"),
    "stopped": (Colour.yellow, "its job is stopped"),
    "superseded": (Colour.yellow, "another run has taken its place"),
}
"""States of a run that are not green; `running` and `finished` are."""

_ORDER: Final = (Colour.green, Colour.grey, Colour.yellow, Colour.red)


@dataclass(frozen=True, kw_only=True)
class Facts:
    """What decides a light.

    Attributes:
        state: the state of the run; None: the pipeline has never run.
        why: a sentence on that state, or None.
        quality: the last check of the output's expectations; None: none was made.
        proof: the last verification; None: none was made.
        proof_age_s: how long ago it was.
        quality_age_s: how long ago the expectations were checked.
        behind: records of the topics that are not committed; None: no broker tells.
        still_s: for how long no batch was committed; None: unknown.
        still_bound_s: the bound of that, while there are records to read.
        beside: what speaks against other runs of the pipeline; None: nothing.
        waits_for: the lane that is furthest back; None: no lane is behind.
        lag_s: how far behind the furthest lane, in seconds of event time; None: it has no progress.
        age_s: how far the results that are final lie behind the clock; None: unknown, or the log is
            a recording.
        bound_s: the bound of both: slack, the period of the schedule, and an hour.
        unreadable: why the output cannot be read; None: it can.
    """

    state: str | None
    why: str | None = None
    quality: CheckOutcome | None = None
    proof: CheckOutcome | None = None
    proof_age_s: float | None = None
    quality_age_s: float | None = None
    behind: int | None = None
    still_s: float | None = None
    still_bound_s: float = MARGIN_S
    beside: str | None = None
    waits_for: str | None = None
    lag_s: float | None = 0.0
    age_s: float | None = None
    bound_s: float = MARGIN_S
    unreadable: str | None = None


Found = tuple[Colour, str] | None
_Rule = Callable[[Facts], Found]


def _of_state(facts: Facts) -> Found:
    if facts.state not in _BAD_STATES:
        return None
    colour, sentence = _BAD_STATES[facts.state]
    return colour, f"{sentence}: {facts.why}" if facts.why else sentence


def _of_reading(facts: Facts) -> Found:
    return None if facts.unreadable is None else (Colour.yellow, facts.unreadable)


def _of_quality(facts: Facts) -> Found:
    if facts.quality is None:
        return Colour.yellow, "its expectations have never been checked"
    if facts.quality.passed:
        if facts.quality_age_s is None or facts.quality_age_s <= DAY_S:
            return None
        ago = spell_s(facts.quality_age_s)
        return Colour.yellow, f"its expectations were last checked {ago} ago"
    return Colour.red, f"an expectation does not hold: {facts.quality.sentence}"


def _of_proof(facts: Facts) -> Found:
    if facts.proof is None:
        return Colour.yellow, "it has never been verified"
    if not facts.proof.passed:
        return Colour.red, f"the last verification has failed: {facts.proof.sentence}"
    if facts.proof_age_s is not None and facts.proof_age_s > DAY_S:
        return Colour.yellow, f"it was last verified {spell_s(facts.proof_age_s)} ago"
    return None


def _of_lanes(facts: Facts) -> Found:
    if facts.waits_for is None:
        return None
    if facts.lag_s is None:
        return Colour.yellow, f"its windows wait for lane {facts.waits_for}, without progress yet"
    if facts.lag_s <= facts.bound_s:
        return None
    return Colour.yellow, (
        f"its windows wait for lane {facts.waits_for}, {spell_s(facts.lag_s)} behind the furthest "
        f"lane; the bound is {spell_s(facts.bound_s)}"
    )


def _of_age(facts: Facts) -> Found:
    if facts.age_s is None or facts.age_s <= facts.bound_s:
        return None
    return Colour.yellow, (
        f"its newest final results are {spell_s(facts.age_s)} old; the bound is "
        f"{spell_s(facts.bound_s)}"
    )


def _of_stillness(facts: Facts) -> Found:
    if not facts.behind or facts.still_s is None or facts.still_s <= facts.still_bound_s:
        return None
    return Colour.yellow, (
        f"no batch for {spell_s(facts.still_s)}, while {facts.behind:,} records of the topic wait; "
        f"the bound is {spell_s(facts.still_bound_s)}"
    )


def _of_others(facts: Facts) -> Found:
    return None if facts.beside is None else (Colour.yellow, facts.beside)


RULES: Final[Sequence[_Rule]] = (
    _of_state,
    _of_reading,
    _of_quality,
    _of_proof,
    _of_lanes,
    _of_age,
    _of_stillness,
    _of_others,
)
"""What may speak against green."""


def light(facts: Facts) -> Light:
    """Return the light of an output; the reasons of the worst colour come first."""
    if facts.state is None:
        return Light(colour=Colour.grey, reasons=[NEVER_RUN])
    against = [found for rule in RULES if (found := rule(facts)) is not None]
    if not against:
        return Light(colour=Colour.green, reasons=_in_favour(facts))
    against.sort(key=lambda found: -_ORDER.index(found[0]))
    return Light(colour=against[0][0], reasons=[sentence for _, sentence in against])


def worst(lights: Iterable[tuple[str, Light]]) -> Light:
    """Return the light of a pipeline: the worst of its outputs', each given with its name.

    Its reasons are those of the outputs with that colour; one that all of them have stands once.
    """
    named = list(lights)
    if not named:
        return Light(colour=Colour.grey, reasons=["it has no outputs"])
    colour = max((one.colour for _, one in named), key=_ORDER.index)
    reasons: dict[str, list[str]] = {}
    for name, one in named:
        if one.colour is colour:
            for reason in one.reasons:
                reasons.setdefault(reason, []).append(name)
    shown = [
        reason if len(names) == len(named) else f"{', '.join(names)}: {reason}"
        for reason, names in reasons.items()
    ]
    return Light(colour=colour, reasons=shown)


def spell_s(seconds: float) -> str:
    """Return a duration for people, with two units at most: `2 h 5 min`."""
    whole = max(0, round(seconds))
    if whole < 60:
        return f"{whole} s"
    for unit, size, smaller, part in (("d", DAY_S, "h", 3600), ("h", 3600, "min", 60)):
        if whole >= size:
            count, rest = divmod(whole, size)
            return f"{count:,} {unit}" + (f" {rest // part} {smaller}" if rest >= part else "")
    return spell_us(whole // 60 * 60 * 1_000_000)


def _in_favour(facts: Facts) -> list[str]:
    proved, checked = (
        "" if age_s is None else f" {spell_s(age_s)} ago"
        for age_s in (facts.proof_age_s, facts.quality_age_s)
    )
    held = f"its expectations hold (checked{checked})" if checked else "its expectations hold"
    return [f"{held}, and it was verified{proved} without a difference"]
