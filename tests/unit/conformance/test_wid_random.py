"""Other cases than the recorded ones: whatever the definition expects, the engine gives.

The recorded cases show that the definition is right; these, that the engine is, where features meet
that no recorded case combines.
"""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from conformance.drivers import wid_local
from conformance.wid import judge as wid
from conformance.wid.case import Case
from tests.unit.conformance.wid_cases import CLASSES, GENERATORS, random_case

_EXAMPLES = max(settings.default.max_examples // 3, 4) if settings.default else 4


def expecting(case: Case) -> Case:
    return case.model_copy(update={"expected": wid.by_definition(case)})


# Windows over the very field that is aggregated.
@example(seed=2_473_991_298)
@settings(max_examples=_EXAMPLES)
@given(seed=st.integers(0, 2**32))
def test_the_engine_gives_what_is_defined(seed: int) -> None:
    for verdict in wid_local.judge(expecting(random_case(seed)), interleavings=1):
        assert verdict.difference is None, verdict.line()


@pytest.mark.parametrize("generator", GENERATORS)
@pytest.mark.parametrize("kind", CLASSES)
def test_the_cases_show_rows_and_hardly_any_errors(kind: str, generator: str) -> None:
    found = [wid.by_definition(random_case(seed, kind, generator)) for seed in range(40)]
    assert sum("error" in each for each in found) < 20
    assert sum(bool(each.get("rows")) for each in found) > 10
