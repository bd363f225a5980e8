"""Files are deployed to a cluster whose master is a stand-in: what is written, begun and ended."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from infra.endpoints import Endpoints
from jobs import runs
from jobs.deployment import deploy
from jobs.deployment.decision import RequestRefusal, RunAction, Wish
from jobs.runs.choice import live_run, meant
from jobs.runs.difference import file_differs
from jobs.runs.life import State
from jobs.runs.looking import life_of
from tests.unit.jobs.master import Master
from windowing.model import Pipeline, load_pipeline
from windowing.spark.sinks.table import TableSink

PIPELINE = """
name: p
source: {topic: s, partitions: 2, format: json, event_time: {field: ts, unit: us},
  fields: {k: int, v: int}, disorder: ordered}
shards: 2
queries:
  a: {window: RANGE 10 us SLIDE 10 us WATTR ts, group_by: [k], aggregates: {n: count}}
"""
MORE = PIPELINE.replace("{n: count}", "{n: count, s: sum(v)}")
OTHER_KEY = PIPELINE.replace("group_by: [k]", "group_by: [v]")
SCHEDULED = PIPELINE + "schedule: '@daily'\n"


@dataclass
class Site:
    """A state folder, a pipeline file, and a master."""

    endpoints: Endpoints
    file: Path
    master: Master

    def write(self, text: str) -> Pipeline:
        self.file.write_text(text)
        return load_pipeline(self.file)

    def submit(self, text: str, run: str | None = None, **wished: object) -> runs.Run:
        prepared = self.prepare(text, run, **wished)
        return deploy.carry_out(self.endpoints, prepared)

    def prepare(self, text: str, run: str | None = None, **wished: object) -> deploy.Deployment:
        pipeline = self.write(text)
        wish = Wish(self.file, pipeline.name, run, **wished)  # type: ignore[arg-type]
        return deploy.prepare(self.endpoints, pipeline, wish)

    def live(self) -> str | None:
        found = live_run(self.endpoints, "p")
        return found.run if found else None

    @contextmanager
    def untouched(self) -> Iterator[None]:
        """Nothing that the project has written changes, and nothing is reported."""
        sent, files = len(self.master.sent), self._files()
        yield
        assert (len(self.master.sent), self._files()) == (sent, files)

    def _files(self) -> dict[Path, bytes]:
        found = (path for path in self.endpoints.state_dir.rglob("*") if path.is_file())
        ours = (path for path in found if path != self.file and path.suffix != ".lock")
        return {path: path.read_bytes() for path in ours}


@pytest.fixture
def site(tmp_path: Path, master: Master) -> Site:
    url = master.url
    endpoints = Endpoints("one:9092", "spark://one:7077", url, url, "", "", "", tmp_path, "")
    return Site(endpoints, tmp_path / "p.yml", master)


def test_an_edited_file_is_refused_and_nothing_is_written(site: Site) -> None:
    """L2: `submit` said 0 and overwrote the run's copy, so that its next restart failed."""
    run = site.submit(PIPELINE, "r1")
    with site.untouched():
        for name in ("r1", None):
            with pytest.raises(RequestRefusal, match=r"queries\.a\.aggregates\.s: new, 'sum\(v\)'"):
                site.submit(MORE, name)
    assert run.own_pipeline().text == PIPELINE


def test_attaching_writes_nothing(site: Site) -> None:
    run = site.submit(PIPELINE, "r1")
    copy = run.file.read_bytes()
    again = site.submit(PIPELINE.replace("10 us SLIDE 10 us", "0.01 ms SLIDE 10 us"), "r1")
    assert (again.submission_id, site.master.living) == (run.submission_id, ["driver-1"])
    assert run.file.read_bytes() == copy
    assert len(site.master.submitted) == 1


def test_a_compatible_file_becomes_the_runs_own(site: Site) -> None:
    run = site.submit(PIPELINE, "r1")
    assert site.submit(SCHEDULED).submission_id == run.submission_id
    assert run.own_pipeline().schedule == "@daily"
    assert file_differs(site.endpoints, run, site.file) is None
    site.submit(PIPELINE + "sink: {table: elsewhere}\n")
    assert run.own_pipeline().output == "p"  # its rows are there, and so are the next ones
    (arguments,) = site.master.submitted
    assert arguments[arguments.index("--table") + 1] == str(run.table)


def test_a_new_run_does_not_end_a_living_job_unasked(site: Site) -> None:
    """L3."""
    site.submit(PIPELINE, "r1")
    with site.untouched(), pytest.raises(RequestRefusal, match=r"run r1 .* has a job that lives"):
        site.submit(PIPELINE, "r2")
    prepared = site.prepare(PIPELINE, "r2", replace=True)
    assert "the job of run r1 is ended first" in prepared.said[1]
    deploy.carry_out(site.endpoints, prepared)
    assert (site.master.living, site.live()) == (["driver-2"], "r2")


def test_a_job_that_was_begun_meanwhile_is_not_ended(site: Site) -> None:
    prepared = site.prepare(PIPELINE, "r2")
    site.submit(PIPELINE, "r1")
    with site.untouched(), pytest.raises(runs.RunError, match=r"run r1 .* was begun meanwhile"):
        deploy.carry_out(site.endpoints, prepared)


def test_what_was_stopped_goes_on_with_its_options(site: Site) -> None:
    pipeline = site.write(PIPELINE)
    first = site.prepare(PIPELINE, "r1", origin='{"0": 7}')
    run = deploy.carry_out(site.endpoints, first, max_offsets=5)
    runs.stop_run(site.endpoints, run)
    assert site.prepare(PIPELINE).plan.step is RunAction.go_on
    site.submit(PIPELINE)
    one, other = site.master.submitted
    assert one == other
    assert json.loads(one[one.index("--first") + 1]) == {"0": 7, "1": -2}
    assert one[one.index("--max-offsets") + 1] == "5"
    assert runs.find(site.endpoints, pipeline, "r1").options.first == {0: 7, 1: -2}


def test_a_run_works_beside_and_takes_over(site: Site) -> None:
    site.submit(PIPELINE, "blue")
    site.submit(MORE, "green", beside=True)
    assert (len(site.master.living), site.live()) == (2, "blue")
    for name, text in (("blue", PIPELINE), ("green", MORE)):  # both are attached to, none ended
        site.submit(text, name)
        assert (len(site.master.living), site.live()) == (2, "blue")
    blue, green = (meant(site.endpoints, site.file, name) for name in ("blue", "green"))
    runs.stop_run(site.endpoints, green)
    site.submit(MORE, "green")  # it continues beside, as it was
    assert (len(site.master.living), site.live()) == (2, "blue")
    for ended in (["blue"], []):  # and once more, where the first was cut off
        assert runs.take_over(site.endpoints, green, blue) == ended
        assert site.live() == "green"
        assert life_of(site.endpoints, blue).state is State.superseded
    assert site.submit(MORE).run == "green"
    with pytest.raises(RequestRefusal, match=r"run green .* has a job that lives"):
        site.submit(MORE, "third")


def test_a_run_begins_where_another_one_is(site: Site) -> None:
    run = site.submit(PIPELINE, "r1")
    with pytest.raises(deploy.OriginError, match="has committed no batch"):
        site.prepare(MORE, "r2", origin="r1", replace=True)
    for log in ("commits", "offsets"):
        (run.checkpoint / log).mkdir(parents=True)
        (run.checkpoint / log / "3").write_text('v1\n{}\n{"s": {"0": 12, "1": 5}}')
    prepared = site.prepare(MORE, "r2", origin="r1", replace=True)
    assert prepared.first == {0: 12, 1: 5}
    assert "it reads s/0 at offset 12, s/1 at offset 5" in " ".join(prepared.said)


@pytest.mark.parametrize(
    ("origin", "said"),
    [
        ("yesterday", "neither a run of pipeline p"),
        ("{}x", "as JSON"),
        ('{"0": -5}', "as JSON"),
        ('{"7": 5}', "there is no lane 7"),
    ],
)
def test_what_is_no_place_in_the_log_is_refused(site: Site, origin: str, said: str) -> None:
    with site.untouched(), pytest.raises(deploy.OriginError, match=said) as caught:
        site.prepare(PIPELINE, "r1", origin=origin)
    assert caught.value.exit_code == 2


def test_what_the_tables_are_given_is_said_before(site: Site) -> None:
    run = site.submit(PIPELINE, "r1")
    TableSink(run.own_pipeline(), run.table, "r1")
    with site.untouched():
        prepared = site.prepare(MORE, "r2", replace=True)
        assert prepared.said[-1] == "new column a.values.s (int)"
        assert deploy.table_of(site.endpoints, prepared.pipeline) == run.table


def test_rows_with_another_key_get_tables_of_their_own(site: Site) -> None:
    run = site.submit(PIPELINE, "r1")
    TableSink(run.own_pipeline(), run.table, "r1")
    said = site.prepare(OTHER_KEY, "r2", replace=True).said
    assert "p cannot take its rows: the key of table a is {k: int}" in said[-2]
    other = site.submit(OTHER_KEY, "r2", replace=True)
    assert other.table == run.table.with_name("p_v2")
    assert other.own_pipeline().output == "p_v2"
    assert file_differs(site.endpoints, other, site.file) is None
    TableSink(other.own_pipeline(), other.table, "r2")
    # A further run of either version finds the tables of its kind.
    assert site.prepare(OTHER_KEY, "r3", replace=True).pipeline.output == "p_v2"
    assert site.prepare(MORE, "r3", replace=True).pipeline.output == "p"
    assert site.submit(OTHER_KEY).run == "r2"
