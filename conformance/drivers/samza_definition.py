"""Evaluate scenarios of the window operator by the definition, as far as the log determines them.

The definition reads the whole log at once, not call by call. So it judges the rows of all steps, in
order, and the rejected records; stores and progress are left to the operators.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from conformance.drivers.driver import NotExpressible, Outcome
from conformance.samza.case import Scenario, setup_of
from conformance.samza.judge import rows_of, spell_rows, spelled
from conformance.wid.judge import Verdict
from windowing.model.flow import StreamFlow
from windowing.model.record import Bound, Record
from windowing.semantics import flows


class Definition:
    """The definition of windows, sessions and joins."""

    name = "definition"

    def run(self, scenario: Scenario, /) -> Outcome | NotExpressible:
        """Compare the rows and the rejected records of a log."""
        if not scenario.of_the_log:
            return NotExpressible("it depends on calls or a clock, not on the log alone")
        return Outcome((Verdict(scenario.id, self.name, _difference(scenario)),))


def _difference(scenario: Scenario) -> str | None:
    setup = setup_of(scenario)
    whose = (setup.lanes, setup.disorder, _log(scenario))
    rows: Sequence[Any]
    if isinstance(setup.flow, StreamFlow):
        past_end = bool(setup.options.get("past_end"))
        rows, refused = flows.rows_of(setup.flow, *whose, past_end=past_end)
    else:
        rows, _, refused = flows.pairs_of(setup.flow, *whose)
    steps = scenario.expected["steps"]
    dropping = setup.flow.late.policy == "drop"
    dead = [[letter["lane"], letter["offset"]] for step in steps for letter in step.get("dead", [])]
    for part, wanted, got in (
        ("rows", rows_of(scenario.expected), spell_rows(rows)),
        ("dead", sorted(dead), [] if dropping else sorted([r.lane, r.offset] for r in refused)),
        ("dropped", sum(s.get("dropped", 0) for s in steps), len(refused) if dropping else 0),
    ):
        if spelled(wanted) != spelled(got):
            return f"{part}: expected {spelled(wanted)}, found {spelled(got)}"
    return None


def _log(scenario: Scenario) -> list[Record | Bound]:
    """Return each record once, however often it was delivered."""
    known = {(record.lane, record.offset): record for record in reversed(scenario.records())}
    return list(reversed(known.values()))
