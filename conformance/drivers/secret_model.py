"""Run recorded cases on models of other engines."""

from __future__ import annotations

from conformance.drivers.driver import NotExpressible, Outcome
from conformance.secret.case import Case
from conformance.secret.judge import judge, judge_product


class Model:
    """SECRET with the profile of the case's engine, or the rules of a product."""

    name = "secret"

    def run(self, case: Case, /) -> Outcome | NotExpressible:
        """Compare a run of the simulator, or the output of a product."""
        if case.engine_version is None:
            return Outcome((judge(case, self.name),))
        found = judge_product(case, "products")
        if found is None:
            why = f"no rules are known of {case.window} windows in {case.engine_version}"
            return NotExpressible(why)
        return Outcome((found,))
