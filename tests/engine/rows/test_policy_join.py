"""SPL's Join in pipelines: the definition's rows, however the logs come; and each rule by hand."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from chaos.simulator.draw.wish import POLICY_JOIN
from tests.engine.test_engine import defined, lines
from tests.strategies import entry, interleavings, join_cases
from windowing.engine.input.batches import batches
from windowing.model import parse_pipeline
from windowing.runtime.local import LocalEngine


@given(data=st.data())
def test_engine_equals_definition(data: st.DataObject) -> None:
    """Another interleaving, other cuts, redelivered batches, and a restart with other cuts."""
    case = data.draw(join_cases(kind=POLICY_JOIN))
    spec = parse_pipeline(case.pipeline)
    log = [entry(event) for event in data.draw(interleavings(case.lanes))]
    restarted = data.draw(st.integers(0, len(log)))
    first_rows, second_rows = (data.draw(st.integers(1, 12)) for _ in range(2))
    engine = LocalEngine(spec)
    engine.shard.compact_after = data.draw(st.sampled_from([1, 2, 8]))
    for batch in batches(log[:restarted], first_rows, spec):
        engine.feed(batch)
        if data.draw(st.integers(0, 3)) == 0:
            engine.feed(batch)
    checkpoint = engine.snapshot()
    for batch in batches(log[restarted:], first_rows, spec):
        engine.feed(batch)
    engine.restore(checkpoint)
    for batch in batches(log[restarted:], second_rows, spec):
        engine.feed(batch)
    assert sorted(set(lines(engine.output))) == sorted(defined(spec, case))
