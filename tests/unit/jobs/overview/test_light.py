"""The light of an output: the table of docs/overview.md, line by line."""

from __future__ import annotations

from dataclasses import replace

import pytest

from jobs.overview.light import NEVER_RUN, Facts, light, spell_s, worst
from jobs.overview.schema import CheckOutcome, Light

GOOD = CheckOutcome(at="2026-11-23T17:00:00Z", passed=True, sentence="all is well")
BAD = CheckOutcome(at="2026-11-23T17:00:00Z", passed=False, sentence="lost 1")
ALL_WELL = Facts(state="running", quality=GOOD, proof=GOOD, proof_age_s=60.0)
HOUR = 3600.0


@pytest.mark.parametrize(
    ("change", "colour", "said"),
    [
        ({}, "green", "verified 1 min ago"),
        ({"state": "finished"}, "green", "verified"),
        ({"state": None}, "grey", NEVER_RUN),
        ({"state": None, "quality": BAD}, "grey", NEVER_RUN),
        ({"state": "failed", "why": "no such topic"}, "red", "its job has failed: no such topic"),
        ({"state": "restarting"}, "yellow", "restarted"),
        ({"state": "waiting"}, "yellow", "room"),
        ({"state": "submitted"}, "yellow", "first|a batch"),
        ({"state": "stopping"}, "yellow", "being stopped"),
        ({"state": "stopped"}, "yellow", "is stopped"),
        ({"state": "superseded"}, "yellow", "another run"),
        ({"unreadable": "its table cannot be read"}, "yellow", "table"),
        ({"quality": None}, "yellow", "never been checked"),
        ({"quality": BAD}, "red", "an expectation does not hold: lost 1"),
        ({"proof": None, "proof_age_s": None}, "yellow", "never been verified"),
        ({"proof": BAD}, "red", "the last verification has failed: lost 1"),
        ({"proof_age_s": 24 * HOUR}, "green", "verified"),
        ({"proof_age_s": 24 * HOUR + 1}, "yellow", "last verified 1 d ago"),
        ({"waits_for": "a/0", "lag_s": None}, "yellow", "a/0, without progress"),
        ({"waits_for": "a/0", "lag_s": HOUR}, "green", "verified"),
        ({"waits_for": "a/0", "lag_s": HOUR + 60}, "yellow", "a/0, 1 h 1 min behind"),
        ({"waits_for": "a/0", "lag_s": HOUR + 60, "bound_s": 9 * HOUR}, "green", "verified"),
        ({"age_s": HOUR}, "green", "verified"),
        ({"age_s": 3 * HOUR}, "yellow", "3 h old; the bound is 1 h"),
    ],
)
def test_what_makes_a_light(change: dict[str, object], colour: str, said: str) -> None:
    found = light(replace(ALL_WELL, **change))  # type: ignore[arg-type]
    assert found.colour == colour
    assert any(part in found.reasons[0] for part in said.split("|"))


def test_the_worst_reason_comes_first_and_none_is_left_out() -> None:
    found = light(replace(ALL_WELL, state="stopped", quality=BAD, proof=None))
    assert found.colour == "red"
    assert [reason.split(":")[0] for reason in found.reasons] == [
        "an expectation does not hold",
        "its job is stopped",
        "it has never been verified",
    ]


def test_a_pipeline_has_the_worst_of_its_outputs_lights() -> None:
    green, grey = (Light(colour=colour, reasons=["well"]) for colour in ("green", "grey"))
    red, yellow = (Light(colour=colour, reasons=["bad"]) for colour in ("red", "yellow"))
    assert worst([("a", green), ("b", green)]) == green
    assert worst([("a", green), ("b", grey)]).colour == "grey"
    assert worst([("a", red), ("b", red)]).reasons == ["bad"]
    assert worst([("a", red), ("b", yellow)]) == Light(colour="red", reasons=["a: bad"])
    assert worst([]).colour == "grey"


@pytest.mark.parametrize(
    ("seconds", "spelled"),
    [
        *((0, "0 s"), (59.4, "59 s"), (60, "1 min"), (3599, "59 min"), (3660, "1 h 1 min")),
        *((86_399, "23 h 59 min"), (90_000, "1 d 1 h"), (200 * 86_400, "200 d")),
    ],
)
def test_durations_are_spelled_in_two_units(seconds: float, spelled: str) -> None:
    assert spell_s(seconds) == spelled
