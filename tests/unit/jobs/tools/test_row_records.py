"""From rows to their records by offsets: the records that the definition has in the window."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from deltalake import DeltaTable

from jobs.tools.row_records import NoRows, Span, row_records
from tests.unit.jobs.overview.test_run_tables import DROP, TEXT, UPDATE, Job, log
from windowing.model import Query, parse_pipeline
from windowing.semantics.log import LogEntry
from windowing.semantics.why import WindowRef, why
from windowing.spark.sinks import upkeep

DISCARDING = UPDATE.text + "accumulation: discarding\n"
SESSIONS = TEXT.replace("RANGE 10 s SLIDE 5 s", "SESSION 5 s")
ROUNDS = 10


class Reader:
    """A log of which parts are read; it keeps what was asked for."""

    def __init__(self) -> None:
        self.log, self.spans = log(1), dict[str, Span]()

    def __call__(self, spans: Mapping[str, Span]) -> Iterator[LogEntry]:
        self.spans = dict(spans)
        yield from self.log


@pytest.mark.parametrize("name", ["update", "drop", "discarding"])
def test_records_are_those_of_the_definition(tmp_path: Path, name: str) -> None:
    texts = {"update": UPDATE, "drop": DROP, "discarding": parse_pipeline(DISCARDING)}
    pipeline, reader = texts[name], Reader()
    Job(pipeline, tmp_path, "r 1").step(ROUNDS)
    upkeep.optimize(pipeline, tmp_path)
    checked = late = 0
    for query in pipeline.of(Query):
        rows = DeltaTable(str(tmp_path / query.name)).to_pyarrow_table().to_pylist()
        places = {(row["window_id"], tuple((row.get("key") or {}).values())) for row in rows}
        for wid, key in sorted(places)[::2]:
            sought = WindowRef(query, wid, None, key)
            found = row_records(pipeline, tmp_path, "r 1", sought, reader)
            expected = why(pipeline, sought, log(1)[: 10 * ROUNDS])
            sent = [
                (one.item.lane, one.item.offset, one.revision)
                for one in expected.members
                if one.sent
            ]
            shown = [(one.lane, one.offset, one.revision) for one in found.records]
            assert shown == sorted(sent)
            assert found.complete
            counts = [(row.revision, row.records) for row in found.rows]
            assert counts == [(number, records) for number, _, records in expected.revisions]
            late += any(revision for _, _, revision in shown)
            checked += 1
            started = WindowRef(query, None, found.rows[0].start, key)
            assert row_records(pipeline, tmp_path, "r 1", started, reader).rows[0].wid <= wid
    assert checked > 10
    assert (late > 0) == (name != "drop")


def test_what_is_lost_from_the_log_is_noticed(tmp_path: Path) -> None:
    reader = Reader()
    Job(UPDATE, tmp_path, "r1").step(5)
    row = DeltaTable(str(tmp_path / "r")).to_pyarrow_table().to_pylist()[0]
    sought = WindowRef(UPDATE.flows[1], row["window_id"], None, ())
    whole = row_records(UPDATE, tmp_path, "r1", sought, reader)
    gone = whole.records[0]
    reader.log = [
        one
        for one in reader.log
        if (one.source, one.partition) != ("s", int(gone.lane[2:])) or one.offset != gone.offset
    ]
    assert whole.complete
    assert not row_records(UPDATE, tmp_path, "r1", sought, reader).complete
    data = whole.as_json()
    assert data["complete"]
    assert data["records"][0] == {
        "lane": gone.lane,
        "offset": gone.offset,
        "at": gone.at,
        "append_us": None,
        "revision": gone.revision,
        "value": gone.value,
    }


@pytest.mark.parametrize(
    ("text", "wid", "why_not"),
    [
        (UPDATE.text, 9_999, "has sent no row of that window"),
        (SESSIONS.replace("LATE", "drop"), 0, "does not follow from their values"),
    ],
)
def test_what_cannot_be_found_so_is_said(tmp_path: Path, text: str, wid: int, why_not: str) -> None:
    pipeline = parse_pipeline(text)
    Job(pipeline, tmp_path, "r1").step(3)
    with pytest.raises(NoRows, match=why_not):
        row_records(
            pipeline, tmp_path, "r1", WindowRef(pipeline.flows[0], wid, None, ("a",)), Reader()
        )
