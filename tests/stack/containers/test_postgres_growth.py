"""Two versions of a pipeline in one schema of a real PostgreSQL; views on the newest version."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import psycopg
import pytest
import yaml

from chaos.readers.postgres import read_postgres
from chaos.verdict.verify import verify
from infra.endpoints import Endpoints
from jobs.deployment.deploy import _placed as placed
from tests.unit.sinks.test_table_growth import ONE, BatchedRun, Version
from windowing.model import Pipeline, parse_pipeline
from windowing.model.run_errors import TableConflict
from windowing.spark.sinks.postgres import PostgresSink

MORE = Version({"a": (("k",), ("n: count", "y: max(f)")), "b": ((), ("m: count",))})
OTHER_KEY = Version({"a": (("k", "z"), ("n: count",))})
OTHER_TYPE = Version({"a": (("k",), ("n: mean(v)",))})
RETRACTING = Version({"a": (("k",), ("n: count",))}, accumulation="retracting")


class Writing(BatchedRun):
    """A run that writes to PostgreSQL."""

    def __init__(self, version: Version, schema: str, run: str) -> None:
        self._schema = schema
        super().__init__(version, Path(), run)

    def open(self) -> Any:
        self.pipeline = in_schema_of(self.pipeline, self._schema)
        return PostgresSink(self.pipeline, self._schema, self.run)

    def check(self) -> None:
        verdict = verify(self.pipeline, self.log, read_postgres(self.pipeline, self.run))
        assert verdict.ok, "\n".join(verdict.lines())
        assert verdict.rows.found


def in_schema_of(pipeline: Pipeline, schema: str) -> Pipeline:
    document = yaml.safe_load(pipeline.text) | {"sink": {"postgres": schema}}
    return parse_pipeline(yaml.safe_dump(document))


def columns(schema: str) -> dict[tuple[str, str], str]:
    with psycopg.connect() as connection:
        found = connection.execute(
            "select table_name, column_name, data_type from information_schema.columns"
            " where table_schema = %s",
            [schema],
        ).fetchall()
    return {(table, column): type_ for table, column, type_ in found}


@pytest.mark.parametrize("more", [MORE, RETRACTING], ids=["columns and a table", "a mark"])
def test_tables_grow_under_a_run_that_goes_on(postgres: str, more: Version) -> None:
    blue = Writing(ONE, "out", "blue")
    blue.step()
    green = Writing(more, "out", "green")
    green.step()
    blue.finish()
    green.finish()
    blue.check()
    green.check()
    again = Writing(ONE, "out", "again")  # of a column that it lacks, it writes null
    again.finish()
    again.check()


@pytest.mark.parametrize("other", [OTHER_KEY, OTHER_TYPE], ids=["key", "type"])
def test_what_cannot_stand_in_one_table_touches_none(postgres: str, other: Version) -> None:
    Writing(ONE, "out", "blue").finish()
    before = columns("out")
    with pytest.raises(TableConflict, match=r"schema out cannot take .*is to (be|have)"):
        Writing(other, "out", "green")
    assert columns("out") == before


def test_a_version_of_its_own_and_the_views_of_the_newest(postgres: str, tmp_path: Path) -> None:
    endpoints = Endpoints("", "", "", "", "", "", "", tmp_path, "")
    assert placed(endpoints, in_schema_of(OTHER_KEY.pipeline, "out"))[0].name == "out"
    Writing(ONE, "out", "blue").finish()
    assert placed(endpoints, in_schema_of(MORE.pipeline, "out"))[1] == [
        "new table b",
        "new column a.y (double precision)",
    ]
    placement, _ = placed(endpoints, in_schema_of(OTHER_KEY.pipeline, "out"))
    assert placement.name == "out_v2"
    assert placement.sentences()[0] == (
        "out cannot take its rows: the key of table a has no z, and is to have it"
    )
    assert not columns("out_newest")
    green = Writing(OTHER_KEY, "out_v2", "green")
    green.finish()
    green.check()
    assert ("a", "z") in columns("out_newest")
    Writing(OTHER_TYPE, "out_v3", "third").finish()
    assert columns("out_newest")["a", "n"] == "double precision"
    Writing(OTHER_KEY, "out_v2", "green again").finish()  # an older version changes no view
    assert columns("out_newest")["a", "n"] == "double precision"
    with psycopg.connect() as connection:
        (count,) = connection.execute("select count(*) from out_newest.a").fetchone() or (0,)
    assert count > 0


def test_a_data_base_that_does_not_answer_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGHOST", str(tmp_path))
    endpoints = Endpoints("", "", "", "", "", "", "", tmp_path, "")
    placement, said = placed(endpoints, in_schema_of(ONE.pipeline, "out"))
    assert placement.name == "out"
    assert said[0].startswith("PostgreSQL does not answer here")
