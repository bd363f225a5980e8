"""What belongs together is let run; an old copy is run again exactly; all else is named."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from jobs.brokers.broker import BrokerError
from jobs.checkpoints.agreement import Agreement, Topic, compare
from jobs.checkpoints.plans import Checkpoint
from jobs.checkpoints.topic_facts import TopicIds, topics_of
from tests.unit.jobs.brokers.test_topics import pipeline
from windowing.runtime.token import Kept, Tables, Token

NAMES = ("q", "dead_letters", "metrics")
LANES = ("t/0", "t/1")


@dataclass(frozen=True)
class Moment:
    """Checkpoint and tables at one moment of a run."""

    checkpoint: Checkpoint
    tables: Tables


def ends_of(cuts: Sequence[tuple[int, int]]) -> dict[int, dict[str, int]]:
    """Where batches end that bring so many records of the two lanes."""
    ends = {-1: dict.fromkeys(LANES, 0)}
    for batch, counts in enumerate(cuts):
        pairs = zip(LANES, counts, strict=True)
        ends[batch] = {lane: ends[batch - 1][lane] + count for lane, count in pairs}
    return ends


def moments(cuts: Sequence[tuple[int, int]]) -> list[Moment]:
    """All moments at which a run may die: after each file and each commit that it writes."""
    ends = ends_of(cuts)
    whole = Checkpoint("c", len(cuts) - 1, len(cuts) - 1, ends)
    ids = {"t": "u1"}
    all_ = {b: Token(b, whole.lanes(b) or {}, ids, "f") for b in range(len(cuts))}
    checkpoint = Checkpoint("c", -1, -1, {})
    tables = Tables("the tables", {}, dict.fromkeys(NAMES, Kept(None)))
    found = [Moment(checkpoint, tables)]
    for batch in range(len(cuts)):
        planned = {number: ends[number] for number in range(-1, batch + 1)}
        checkpoint = replace(checkpoint, planned=batch, ends=planned)
        found.append(Moment(checkpoint, tables))
        tables = replace(tables, tokens={b: all_[b] for b in range(batch + 1)})
        found.append(Moment(checkpoint, tables))
        for name in NAMES:
            has = Kept(batch, all_[batch].digest)
            tables = replace(tables, tables={**tables.tables, name: has})
            found.append(Moment(checkpoint, tables))
        checkpoint = replace(checkpoint, committed=batch)
        found.append(Moment(checkpoint, tables))
    return found


def topic(**changes: object) -> dict[str, Topic]:
    return {"t": replace(Topic("u1", {0: 0, 1: 0}, {0: 10**6, 1: 10**6}, False), **changes)}


def judged(
    checkpoint: Checkpoint, tables: Tables, topics: dict[str, Topic] | None = None, **more: object
) -> Agreement:
    return compare(
        checkpoint,
        tables,
        topics or topic(),
        known=more.get("known", {}),  # type: ignore[arg-type]
        may_be_compacted=more.get("may_be_compacted", frozenset()),  # type: ignore[arg-type]
        fingerprint="f",
        earlier=more.get("earlier", ()),  # type: ignore[arg-type]
    )


cuts = st.lists(st.tuples(st.integers(0, 5), st.integers(1, 5)), min_size=1, max_size=5)
draws = st.randoms(use_true_random=False)


@given(cuts)
def test_a_run_that_died_at_any_moment_goes_on(cut: list) -> None:
    for moment in moments(cut):
        found = judged(moment.checkpoint, moment.tables)
        assert not found.mismatches
        assert not found.again


@given(cuts, draws)
def test_an_older_checkpoint_is_run_again_as_the_tables_have_it(cut: list, rng) -> None:  # type: ignore[no-untyped-def]
    all_ = moments(cut)
    old, new = sorted(rng.choices(range(len(all_)), k=2))
    checkpoint, tables = all_[old].checkpoint, all_[new].tables
    found = judged(checkpoint, tables)
    assert not found.mismatches
    later = [tables.tokens[b] for b in sorted(tables.tokens) if b > checkpoint.planned]
    assert list(found.again) == later


@given(cuts, cuts, draws)
def test_batches_that_an_old_copy_has_planned_otherwise_are_planned_again(
    cut: list,
    other: list,
    rng,  # type: ignore[no-untyped-def]
) -> None:
    common = rng.randrange(len(cut))
    other = [*cut[:common], *other]
    assume(other[common] != cut[common])
    tables = moments(cut)[-1].tables
    ends = {number: ends for number, ends in ends_of(other).items() if number <= common}
    planned = Checkpoint("c", common - 1, common, ends)
    assert list(judged(planned, tables).again) == [
        tables.tokens[b] for b in range(common, len(cut))
    ]
    done = replace(planned, committed=common)
    (said,) = judged(done, tables).mismatches
    assert f"has committed batch {common} " in said
    assert f"hold batch {common} " in said
    assert "start a new run" in said


@given(cuts, draws, st.sampled_from(NAMES))
def test_a_table_that_was_lost_or_put_back_is_named(cut: list, rng, name: str) -> None:  # type: ignore[no-untyped-def]
    end = moments(cut)[-1]
    older = rng.choice(
        [None, Kept(None), *(Kept(b, end.tables.tokens[b].digest) for b in range(len(cut) - 1))]
    )
    tables = replace(end.tables, tables={**end.tables.tables, name: older})
    (said,) = judged(end.checkpoint, tables).mismatches
    assert f"table {name} in the tables" in said
    assert "put it back as it was, or start a new run" in said


@given(cuts, draws)
def test_tokens_that_were_lost_are_named(cut: list, rng) -> None:  # type: ignore[no-untyped-def]
    end = moments(cut)[-1]
    kept = rng.randrange(len(cut))
    tokens = {b: end.tables.tokens[b] for b in range(kept)}
    said = judged(end.checkpoint, replace(end.tables, tokens=tokens)).mismatches
    assert "table tokens beside it knows nothing" in said[0]


def test_all_tables_lost_and_all_tables_old() -> None:
    all_ = moments([(1, 1)] * 3)
    nothing = replace(all_[-1].tables, tokens={}, tables=dict.fromkeys(NAMES))
    assert len(judged(all_[-1].checkpoint, nothing).mismatches) == len(NAMES)
    old = all_[len(all_) // 2].tables
    assert "older copy" in judged(all_[-1].checkpoint, old).mismatches[0]


def test_tables_without_tokens_have_lost_them() -> None:
    end = moments([(1, 1)] * 3)[-1]
    found = judged(end.checkpoint, replace(end.tables, tokens={})).mismatches
    assert len(found) == len(NAMES)
    assert "of which table tokens beside it knows nothing" in found[0]


def test_a_table_of_another_state_of_things_is_named() -> None:
    end, other = moments([(1, 1), (2, 2)])[-1], moments([(1, 1), (2, 3)])[-1]
    mixed = replace(end.tables, tables={**end.tables.tables, "q": other.tables.tables["q"]})
    (said,) = judged(end.checkpoint, mixed).mismatches
    assert "table q in the tables holds another batch 1" in said


def test_what_another_pipeline_wrote_is_not_run_again() -> None:
    all_ = moments([(1, 1)] * 2)
    tokens = {b: replace(t, pipeline="g") for b, t in all_[-1].tables.tokens.items()}
    (said,) = judged(all_[0].checkpoint, replace(all_[-1].tables, tokens=tokens)).mismatches
    assert "fingerprint g, now f" in said


def test_what_an_earlier_pipeline_of_the_run_wrote_is_run_again() -> None:
    all_ = moments([(1, 1)] * 2)
    tokens = {b: replace(t, pipeline="old") for b, t in all_[-1].tables.tokens.items()}
    tables = replace(all_[-1].tables, tokens=tokens)
    found = judged(all_[0].checkpoint, tables, earlier=("old",))
    assert not found.mismatches
    assert list(found.again) == [*tokens.values()]


def test_a_topic_that_was_made_again_is_named_with_both_ids() -> None:
    all_ = moments([(1, 1)] * 2)
    (said,) = judged(all_[-1].checkpoint, all_[-1].tables, topic(topic_id="u2")).mismatches
    assert "deleted and made again" in said
    assert "u1" in said
    assert "u2" in said
    nothing = all_[0]  # before the first batch only the run's own note knows
    found = judged(nothing.checkpoint, nothing.tables, topic(topic_id="u2"), known={"t": "u1"})
    assert "made again" in found.mismatches[0]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"ends": {0: 10, 1: 3}}, "has read t/1 up to offset 3, and the topic ends before 3"),
        ({"begins": {0: 5, 1: 0}}, "records of t-0 from offset 4 on, before 5, are gone"),
        ({"compacted": True}, "cleanup.policy=compact"),
    ],
)
def test_a_topic_that_lacks_what_the_run_needs(changes: dict, said: str) -> None:
    end = moments([(2, 2)] * 2)[-1]
    found = judged(end.checkpoint, end.tables, topic(**changes)).mismatches
    assert len(found) == 1
    assert said in found[0]


def test_a_topic_may_begin_where_the_run_goes_on_and_be_compacted_if_the_file_says_so() -> None:
    end = moments([(2, 2)] * 2)[-1]
    assert not judged(end.checkpoint, end.tables, topic(begins={0: 4, 1: 4})).mismatches
    accepted = judged(
        end.checkpoint, end.tables, topic(compacted=True), may_be_compacted=frozenset({"t"})
    )
    assert not accepted.mismatches
    # What must be run again is needed from its beginning.
    start = moments([(2, 2)] * 2)[0]
    assert (
        "are gone" in judged(start.checkpoint, end.tables, topic(begins={0: 1, 1: 0})).mismatches[0]
    )


@pytest.fixture
def name() -> str:
    return f"facts-{uuid.uuid4().hex[:8]}"


def test_a_dead_broker_is_waited_for_and_then_one_sentence(
    dead_broker: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from jobs.checkpoints import topic_facts

    monkeypatch.setattr(topic_facts, "_PATIENCE_S", 0.5)
    source = pipeline(name, 1).source
    with pytest.raises(BrokerError, match="no Kafka broker answers"):
        TopicIds(dead_broker, source)()
    with pytest.raises(BrokerError, match="no Kafka broker answers"):
        topics_of(dead_broker, source)
