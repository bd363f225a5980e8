"""Runs that work beside each other, compared as they stand in tables and checkpoints.

The master is a stand-in, and nobody computes meanwhile; tests/spark has a real stack.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from chaos import handover
from chaos.handover import HandoverError, RunComparison, compare, sides
from infra.endpoints import Endpoints
from jobs import runs
from jobs.deployment.decision import Wish
from jobs.deployment.deploy import carry_out, prepare
from jobs.runs.choice import meant
from tests.unit.jobs.master import Master, standing_in
from tests.unit.sinks.test_table_growth import ONE, BatchedRun, Version
from windowing.engine.reading.batches import batches
from windowing.model import load_pipeline

MORE = Version({"a": (("k",), ("n: count", "y: max(f)"))})
OTHER_WINDOW = Version({"a": (("k",), ("n: count",))}, window="RANGE 20 us SLIDE 20 us WATTR ts")


@dataclass
class Site:
    """A state folder, a pipeline file, and a master."""

    endpoints: Endpoints
    file: Path
    master: Master

    def begin(self, version: Version, run: str, **wished: object) -> Working:
        """Submit a run, and compute what its job would write."""
        self.file.write_text(version.pipeline.text)
        spec = load_pipeline(self.file)
        wish = Wish(self.file, spec.name, run, **wished)  # type: ignore[arg-type]
        found = carry_out(self.endpoints, prepare(self.endpoints, spec, wish))
        return Working(version, found)

    def compare(self, to: str = "green") -> RunComparison:
        blue, green = sides(self.endpoints, self.file, to)
        assert blue is not None
        return compare(self.endpoints, blue, green, within_s=0, news=print)


class Working(BatchedRun):
    """A run of the site, which leaves a checkpoint as Spark does."""

    def __init__(self, version: Version, of: runs.Run) -> None:
        super().__init__(version, of.table, of.run)
        first = (of.options.first or {}).get(0, 0)
        self._checkpoint, self._done = of.checkpoint, first // 2
        self._batches = enumerate(batches(self.log[first:], 2, self.pipeline))

    def step(self) -> bool:
        if not super().step():
            return False
        self._done += 1
        end = min(self._done * 2, len(self.log))
        for log in ("offsets", "commits"):
            folder = self._checkpoint / log
            folder.mkdir(parents=True, exist_ok=True)
            (folder / str(self._done - 1)).write_text(f'v1\n{{}}\n{{"s": {{"0": {end}}}}}')
        return True


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    with standing_in() as master:
        url = master.url
        endpoints = Endpoints("one:9092", "spark://one:7077", url, url, "", "", "", tmp_path, "")
        yield Site(endpoints, tmp_path / "p.yml", master)


def test_a_run_that_is_behind_takes_nothing_over(site: Site) -> None:
    site.begin(ONE, "blue").finish()
    site.begin(MORE, "green", beside=True).step()
    with pytest.raises(HandoverError, match="run green is 5 offsets behind run blue"):
        site.compare()


def test_runs_that_agree(site: Site) -> None:
    for version, run in ((ONE, "blue"), (MORE, "green")):
        site.begin(version, run, beside=run == "green").finish()
    found = site.compare()
    assert found.ok
    assert found.apart == ("of query a not compared: y",)
    assert found.sentences()[-1] == (
        f"blue and green: 0 of {len(found.windows.pairs)} windows differ: "
        "0 changed, 0 added, 0 gone"
    )
    assert found.windows.pairs


def test_rows_that_only_the_new_run_has_are_seen_too(site: Site) -> None:
    """The old run has read as much, so a row that it did not write is a difference."""
    site.begin(ONE, "blue").finish()
    green = site.begin(MORE, "green", beside=True)
    green.finish()
    DeltaTable(green.folder / "a").delete("run = 'blue'")
    found = site.compare()
    assert not found.ok
    assert {pair.change for pair in found.windows.differing} == {handover.Change.added}


def test_a_row_that_the_new_run_lacks_is_seen(site: Site) -> None:
    site.begin(ONE, "blue").finish()
    green = site.begin(MORE, "green", beside=True)
    green.finish()
    DeltaTable(green.folder / "a").delete("run = 'green' and revision = 1")
    found = site.compare()
    assert not found.ok
    assert "windows differ" in found.sentences()[-1]
    assert not found.sentences()[-1].startswith("blue and green: 0 of")


def test_a_lacking_dead_letter_is_seen(site: Site) -> None:
    site.begin(ONE, "blue").finish()
    green = site.begin(MORE, "green", beside=True)
    green.finish()
    letters = DeltaTable(green.folder / "dead_letters")
    row = {**dict.fromkeys(letters.schema().to_arrow().names), "run": "blue", "source": "s"}
    row |= {"partition": 0, "offset": 3, "query": "a", "reason": "late", "batch_id": 9}
    schema = pa.schema(letters.schema().to_arrow())
    write_deltalake(letters, pa.Table.from_pylist([row], schema=schema), mode="append")
    found = site.compare()
    assert not found.ok
    assert found.sentences()[-1].startswith("dead letters that one lacks: 1, as {")


def test_a_query_of_another_meaning_is_not_compared(site: Site) -> None:
    site.begin(ONE, "blue").finish()
    site.begin(OTHER_WINDOW, "green", beside=True).finish()
    found = site.compare()
    assert found.ok
    assert not found.windows.pairs
    assert found.apart == ("query a is not compared: its windows or its key are others",)


def test_the_run_that_takes_over_must_be_alive_and_may_already_be_live(site: Site) -> None:
    site.begin(ONE, "blue").finish()
    green = site.begin(MORE, "green", beside=True)
    green.finish()
    runs.stop_run(site.endpoints, meant(site.endpoints, site.file, "green"))
    with pytest.raises(HandoverError, match=r"run green is stopped.*--run green --beside"):
        sides(site.endpoints, site.file, "green")
    assert sides(site.endpoints, site.file, "blue")[0] is None
    with pytest.raises(runs.RunError, match="has no run 'nobody'"):
        sides(site.endpoints, site.file, "nobody")


def test_what_began_in_the_middle_is_compared_where_that_makes_no_difference(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    blue = site.begin(ONE, "blue")
    blue.finish()
    monkeypatch.setattr(handover, "read_topics", lambda *_: iter(blue.log))
    green = site.begin(ONE, "green", beside=True, origin='{"0": 2}')
    green.finish()
    found = site.compare()
    assert found.ok
    compared = {(pair.place.start_us, pair.place.key) for pair in found.windows.pairs}
    assert compared
    assert (0, "[0]") not in compared  # its first record lies before the beginning


def test_the_copy_of_a_run_is_what_is_compared(site: Site) -> None:
    """Whatever stands in the user's file by now."""
    site.begin(ONE, "blue").finish()
    site.begin(MORE, "green", beside=True).finish()
    site.file.write_text(OTHER_WINDOW.pipeline.text)
    assert site.compare().apart == ("of query a not compared: y",)
