"""Topics on a real broker: as declared, their ids and ends, and partitions added later."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from infra.endpoints import Endpoints
from jobs import runs
from jobs.brokers.producing import send_all
from jobs.brokers.topic_admin import clean_by, delete_topic, topic_id
from jobs.brokers.topics import (
    Topic,
    TopicError,
    add_partitions,
    create_topic,
    create_topics,
    delete_before,
    end_offsets,
    lane_ends,
)
from jobs.checkpoints.partitions import REFUSED_BATCH, PartitionsError, accept
from jobs.checkpoints.topic_facts import TopicIds, topics_of
from jobs.runs import FAILURE_FILE, Run
from jobs.runs.folder import write_note
from jobs.runs.owner import Owner
from jobs.tools.heartbeat import watching
from jobs.tools.recording import Event, record
from tests.unit.jobs.brokers.test_topics import (
    name,  # noqa: F401 - a fixture
    pipeline,
)
from tests.unit.jobs.checkpoints.test_partitions import (
    NAMED,
    topic,  # noqa: F401 - a fixture
)
from windowing.model import Pipeline, load_pipeline, parse_pipeline
from windowing.model.run_errors import UndeclaredPartition


def test_a_topic_is_made_once(kafka_broker: str, name: str) -> None:
    assert create_topics(pipeline(name, 5), kafka_broker) == [Topic(name, 5, True)]
    assert create_topics(pipeline(name, 5), kafka_broker) == [Topic(name, 5, False)]
    assert end_offsets(kafka_broker, name) == dict.fromkeys(range(5), 0)


def test_another_number_of_partitions_is_refused(kafka_broker: str, name: str) -> None:
    create_topics(pipeline(name, 2), kafka_broker)
    for declared in (1, 3):
        with pytest.raises(
            TopicError, match=rf"has 2 partitions, the pipeline declares {declared}"
        ):
            create_topics(pipeline(name, declared), kafka_broker)
    assert end_offsets(kafka_broker, name) == {0: 0, 1: 0}


def test_a_topic_that_is_not_there(kafka_broker: str, name: str) -> None:
    with pytest.raises(TopicError, match=f"'{name}' does not exist"):
        end_offsets(kafka_broker, name)


def test_a_topic_and_the_one_that_is_made_in_its_place(kafka_broker: str, name: str) -> None:
    source = pipeline(name, 2).source
    create_topic(kafka_broker, name, 2)
    send_all(kafka_broker, name, [(0, b"{}", None)] * 5)
    delete_before(kafka_broker, name, 0, 2)
    found = topics_of(kafka_broker, source)[name]
    assert (found.begins, found.ends, found.compacted) == ({0: 2, 1: 0}, {0: 5, 1: 0}, False)
    assert found.record_bytes_max == 1_048_588  # Kafka's default
    for policy, expected in (("compact,delete", True), ("delete", False), ("compact", True)):
        clean_by(kafka_broker, name, policy)
        assert topics_of(kafka_broker, source)[name].compacted is expected

    ids = TopicIds(kafka_broker, source)
    assert ids() == {name: found.topic_id} == {name: topic_id(kafka_broker, name)}
    delete_topic(kafka_broker, name)
    with pytest.raises(TopicError, match=f"'{name}' does not exist"):
        ids()
    with pytest.raises(TopicError, match=f"'{name}' does not exist"):
        topics_of(kafka_broker, source)
    create_topic(kafka_broker, name, 2)
    assert ids()[name] not in ("", found.topic_id)
    ids.close()
    assert ids()[name] not in ("", found.topic_id)
    ids.close()


def begun(root: Path, spec: Pipeline) -> Run:
    """A run whose first batch has not been committed."""
    folder = root / "runs" / "p" / "r1"
    checkpoint, file = folder / "checkpoint", folder / "p.yml"
    checkpoint.mkdir(parents=True)
    file.write_text(spec.text)
    run = Run("p", "r1", "driver-1", folder, checkpoint, root / "tables" / "p", file)
    write_note(run)
    return run


def test_commands_name_the_partition(kafka_broker: str, topic: str) -> None:
    spec = pipeline(topic)
    with pytest.raises(TopicError, match=rf"{topic}/2 was added, .*--accept-partitions"):
        create_topics(spec, kafka_broker)
    with pytest.raises(TopicError, match=NAMED):
        lane_ends(kafka_broker, spec.source)
    assert lane_ends(kafka_broker, spec.source, declared_only=True) == {0: 0, 1: 0}
    with pytest.raises(TopicError, match=NAMED), watching(spec, kafka_broker):
        pass
    with pytest.raises(UndeclaredPartition, match=NAMED):
        record(spec, [Event(topic, 2, 0, b"{}", None, None)])


def test_a_run_takes_it_in(kafka_broker: str, topic: str, tmp_path: Path) -> None:
    """Whatever else is in the user's file stays there; the run's name is enough to find it."""
    spec = pipeline(topic)
    run = begun(tmp_path, spec)
    accepted = accept(run, spec, kafka_broker)
    assert [(lane.name, lane.number, lane.at) for lane in accepted.lanes] == [(f"{topic}/2", 2, ())]
    own = load_pipeline(run.file)
    assert spec.fingerprint in own.earlier
    create_topics(own, kafka_broker)
    endpoints = Endpoints(kafka_broker, "", "", "", "", "", "", tmp_path, "")
    scheduled = parse_pipeline(spec.text + "schedule: '@daily'\n")
    found = runs.as_accepted(endpoints, scheduled, "r1")
    assert (found.fingerprint, found.schedule) == (own.fingerprint, "@daily")
    assert runs.as_accepted(endpoints, spec, "r2") is spec
    other = pipeline(topic, disorder="{slack: 1 s}")
    assert runs.as_accepted(endpoints, other, "r1") is other
    told_otherwise = parse_pipeline(own.text.replace("at: {}", "at: {ts: 7}"))
    assert runs.as_accepted(endpoints, told_otherwise, "r1") is told_otherwise
    with pytest.raises(PartitionsError, match="that is all there is: nothing to accept"):
        accept(run, spec, kafka_broker)
    add_partitions(kafka_broker, topic, 5)
    with pytest.raises(PartitionsError, match="differs from the one"):
        accept(run, told_otherwise, kafka_broker)
    again = accept(run, spec, kafka_broker)
    assert [lane.number for lane in again.lanes] == [3, 4]
    assert [lane.number for lane in again.pipeline.source.added_lanes] == [2, 3, 4]


def test_what_cannot_be_accepted(kafka_broker: str, topic: str, tmp_path: Path) -> None:
    spec = pipeline(topic)
    run = begun(tmp_path, spec)
    with pytest.raises(PartitionsError, match="differs from the one that the run was submitted"):
        accept(run, pipeline(topic, disorder="{slack: 1 s}"), kafka_broker)
    (run.checkpoint / "offsets").mkdir()
    (run.checkpoint / "offsets" / "0").write_text("v1\n{}\n{}")
    failure = run.folder / FAILURE_FILE
    for said in ({"error": "another"}, {"error": "this", REFUSED_BATCH: 1}):
        failure.write_text(json.dumps(said))
        with pytest.raises(PartitionsError, match="batch 0 of run r1 was begun, and is not done"):
            accept(run, spec, kafka_broker)
    failure.write_text(json.dumps({"error": "this", REFUSED_BATCH: 0}))
    living = Owner(run.folder, beat_s=0.05)
    living.claim()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("jobs.checkpoints.partitions.Owner", lambda folder: Owner(folder, 0.05, 0.3))
        with pytest.raises(PartitionsError, match="has a job that is alive"):
            accept(run, spec, kafka_broker)
    living.release()
    assert load_pipeline(run.file).fingerprint == spec.fingerprint
    assert accept(run, spec, kafka_broker).lanes


def test_a_generator_that_names_lanes_names_the_new_one(
    kafka_broker: str, topic: str, tmp_path: Path
) -> None:
    lanes = [f"{topic}/{number}: {{max_delay: 5 s}}" for number in range(3)]
    spec = pipeline(topic, 2, f"{{heartbeat: {{{', '.join(lanes[:2])}}}}}")
    run = begun(tmp_path, spec)
    with pytest.raises(PartitionsError, match=f"{topic}/2 is missing.*say what holds for these"):
        accept(run, spec, kafka_broker)
    grown = pipeline(topic, 3, f"{{heartbeat: {{{', '.join(lanes)}}}}}")
    assert accept(run, grown, kafka_broker).pipeline.earlier == {spec.fingerprint: 2}
