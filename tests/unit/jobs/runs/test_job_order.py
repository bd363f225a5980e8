"""What a job is asked to do, as the arguments of its program."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.runs.job_order import JobOrder, parse_order

PATHS = st.from_regex(r"/[a-z0-9 ._/]{1,20}", fullmatch=True).map(Path)
OFFSETS = st.dictionaries(st.integers(0, 9), st.integers(-2, 1 << 40))
ADDRESSES = st.tuples(st.sampled_from(["0.0.0.0", "::1", "worker-1"]), st.integers(0, 65_535))  # noqa: S104
NAMES = st.from_regex(r"[a-z][a-z0-9_-]{0,9}", fullmatch=True)
BY_HAND = ["p.yml", "--run", "r1", "--bootstrap", "one:9092", "--table", "tables"]
ORDERS = st.builds(
    JobOrder,
    file=PATHS,
    run=NAMES,
    bootstrap=st.just("one:9092"),
    folder=PATHS,
    checkpoint=PATHS,
    tables=PATHS,
    max_offsets=st.none() | st.integers(1),
    available_now=st.booleans(),
    parallelism=st.none() | st.integers(1, 64),
    first=st.none() | OFFSETS,
    end=st.none() | OFFSETS,
    metrics=st.none() | ADDRESSES,
    targets=st.none() | PATHS,
    environment=st.none() | PATHS,
    kafka=st.none() | PATHS,
)


@given(ORDERS)
def test_a_job_is_asked_what_was_meant(order: JobOrder) -> None:
    assert parse_order(order.arguments()) == order


def test_every_field_is_drawn() -> None:
    drawn = {field.name for field in fields(JobOrder)}
    assert all(f"{name}=" in repr(ORDERS) for name in drawn)


def test_a_job_started_by_hand_keeps_its_notes_above_its_checkpoint() -> None:
    order = parse_order([*BY_HAND, "--checkpoint", "runs/r1/checkpoint"])
    assert order.folder == Path("runs/r1")
    assert order == JobOrder(
        file=Path("p.yml"),
        run="r1",
        bootstrap="one:9092",
        folder=Path("runs/r1"),
        checkpoint=Path("runs/r1/checkpoint"),
        tables=Path("tables"),
    )


def test_a_store_without_atomic_renames_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parse_order([*BY_HAND, "--checkpoint", "s3://bucket/r1"])
    assert "neither a folder nor hdfs://host:port" in capsys.readouterr().err
