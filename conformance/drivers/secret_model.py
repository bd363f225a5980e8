"""Run recorded cases on the SECRET model."""

from __future__ import annotations

from conformance.drivers.driver import NotExpressible, Outcome
from conformance.secret.case import Case
from conformance.secret.judge import judge


class Model:
    """The SECRET model with the profile of the case's engine."""

    name = "secret"

    def run(self, case: Case, /) -> Outcome | NotExpressible:
        """Compare a run of the simulator; outputs of products go beyond the model."""
        if case.engine_version is not None:
            why = f"output of the product {case.engine_version}, not of the simulator"
            return NotExpressible(why)
        return Outcome((judge(case, self.name),))
