from pathlib import Path

from chaos.readers.output import Output
from chaos.replay.run import digest
from chaos.replay.trials import draw_trials
from chaos.workload.feed import cut, departed
from chaos.workload.kinds import Workload
from chaos.workload.own_pipeline import own_pipeline
from windowing.model import load_pipeline

PIPELINE = Path(__file__).parents[4] / "pipelines" / "flight_delays.yml"


def test_trials_differ_in_cuts_and_spread_and_a_seed_gives_them_again() -> None:
    trials = draw_trials(5, 3, offsets=3000, shards=8)
    assert trials == draw_trials(5, 3, offsets=3000, shards=8)
    assert trials != draw_trials(5, 4, offsets=3000, shards=8)
    assert len({trial.max_offsets for trial in trials}) == 5
    assert {trial.executors for trial in trials} == {1, 2, 4}
    assert all(100 <= trial.max_offsets <= 1000 for trial in trials)
    assert len({trial.shards for trial in trials}) > 1
    assert all(1 <= trial.shards <= 16 and trial.tasks >= 1 for trial in trials)
    assert [t.max_offsets for t in draw_trials(2, 1, offsets=1, shards=1)] == [1, 1]


def test_a_digest_knows_every_byte_and_no_order() -> None:
    rows = [(("a",), "line a"), (("b",), "line b")]

    def of(*lines: tuple[tuple[str, ...], str]) -> str:
        return digest(Output(list(lines), [], None, ordered=False, name=""))

    assert of(*rows) == of(*reversed(rows))
    assert of(*rows) != of(rows[0])
    assert of(*rows) != of(rows[0], (("b",), "line B"))


def test_a_pipeline_of_its_own_computes_the_same() -> None:
    ours = load_pipeline(PIPELINE)
    own = own_pipeline(PIPELINE, "trial", topic="other")
    assert (own.name, own.source.topic) == ("flight_delays-trial", "other")
    assert own.sink is not None
    assert ours.sink is not None
    assert own.sink.name != ours.sink.name
    assert own.flows == ours.flows
    assert own_pipeline(PIPELINE, "trial").fingerprint == ours.fingerprint
    assert own_pipeline(PIPELINE, "trial", shards=3).shards == 3


def test_the_workload_is_cut_before_its_ends() -> None:
    pipeline = load_pipeline(PIPELINE)
    log = departed(Workload(flights=500, max_offsets=10), pipeline)
    part = cut(log, pipeline, reserve=60)
    assert (len(part.body), len(part.reserve), len(part.ends)) == (450, 60, 3)
    assert not any(record.is_end for record in (*part.body, *part.reserve))
    assert [record.partition for record in part.ends] == [0, 1, 2]
    assert all(record.is_end for record in part.ends)
