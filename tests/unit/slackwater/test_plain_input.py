"""Files of plain rows as a log: `run`, `verify`, `why`, `record` and `send` with `--as`."""

import json
from collections.abc import Iterable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner, Result

from jobs.tools import send_events as sending
from slackwater.main import app
from tests.unit.slackwater.pipelines import PIPELINE

ROWS = [
    {"ts": 3, "k": "a", "v": 1},
    {"ts": 9, "k": "b", "v": 2},
    {"ts": 31, "k": "a", "v": 3},
    {"ts": 33, "k": "c", "v": None},
]


def command(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(one) for one in arguments])


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a pipeline, and with the same rows in two formats."""
    (tmp_path / "p.yml").write_text(PIPELINE)
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    pq.write_table(pa.Table.from_pylist(ROWS), tmp_path / "rows.parquet")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_rows_are_one_lane_whatever_their_format(folder: Path) -> None:
    outputs = []
    for name in ("rows.jsonl", "rows.parquet"):
        log = ("--input", name, "--as", "t", "--end")
        ran = command("run", "p.yml", *log, "--output", "out.jsonl")
        assert ran.exit_code == 0, ran.output
        assert "tens: read 4 = applied 3 + outside 0 + dropped 0 + dead 1" in ran.stdout
        outputs.append([(folder / one).read_text() for one in ("out.jsonl", "out.dead.jsonl")])
        judged = command("verify", "p.yml", *log, "--output", "out.jsonl")
        assert judged.exit_code == 0, judged.output
        found = command("dead", "p.yml", *log[:4], "--output", "out.jsonl")
        assert "bad_type" in found.stdout
    assert outputs[0] == outputs[1]
    assert json.loads(outputs[0][0].splitlines()[-1])["offsets"] == {"t/0": [2, 2]}
    assert '"offset":3' in outputs[0][1]


def test_tools_read_rows_as_run_does(folder: Path) -> None:
    """What they say of rows is what they say of the events that these are."""
    rows = ("--input", "rows.parquet", "--as", "t")
    assert command("record", "p.yml", *rows, "--output", "e.jsonl").exit_code == 0
    logs = [("--input", "e.jsonl"), rows]
    for tool in (("trace", "--output", "o"), ("punctuate", "--output", "o"), ("tune",)):
        said = []
        for log in logs:
            found = command(tool[0], "p.yml", *log, *tool[1:])
            assert found.exit_code == 0, found.output
            said.append((found.stdout, tool[1:] and (folder / "o").read_text()))
            (folder / "o").unlink(missing_ok=True)
        assert said[0] == said[1]
        refused = command(tool[0], "p.yml", "--topic", "--as", "t", *tool[1:])
        assert refused.exit_code == 2


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_the_quality_of_an_output_of_rows_is_judged(folder: Path) -> None:
    block = "quality: [{query: tens, expect_window_set_to_match_definition: {}}]\n"
    (folder / "p.yml").write_text(PIPELINE + block)
    log = ("--input", "rows.parquet", "--as", "t", "--end")
    assert command("run", "p.yml", *log, "--output", "out.jsonl").exit_code == 0
    found = command("quality", "p.yml", *log, "--output", "out.jsonl")
    assert "ok   tens         expect_window_set_to_match_definition" in found.stdout
    without = command("quality", "p.yml", *log[:4], "--output", "out.jsonl")
    assert "FAIL tens         expect_window_set_to_match_definition" in without.stdout


def test_without_its_topic_a_file_is_no_log(folder: Path) -> None:
    for name in ("rows.jsonl", "rows.parquet"):
        refused = command("run", "p.yml", "--input", name, "--output", "out.jsonl")
        assert getattr(refused.exception, "exit_code", None) == 2
        assert "as --as t: one lane" in str(refused.exception)
        assert not (folder / "out.jsonl").exists()
    topic = command("verify", "p.yml", "--as", "t", "--topic")
    assert topic.exit_code == 2


def test_rows_become_events_and_a_test(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = ("--input", "rows.parquet", "--as", "t")
    assert command("record", "p.yml", *log, "--output", "e.jsonl").exit_code == 0
    events = [json.loads(line) for line in (folder / "e.jsonl").read_text().splitlines()]
    assert [(one["partition"], one["offset"], one["value"]) for one in events] == [
        (0, offset, row) for offset, row in enumerate(ROWS)
    ]
    monkeypatch.setenv("SALT", "pepper")
    made = command(
        *("record", "p.yml", "--input", "e.jsonl", "--end", "--from", '{"0": 1}', "--to"),
        *('{"0": 3}', "--hash", "k", "--salt-env", "SALT", "--test", "it", "--output", "t.yml"),
    )
    assert made.exit_code == 0, made.output
    said = " ".join(made.output.split())
    assert "t.yml is the block tests: alone: put it at the end of p.yml, or its lines below" in said
    text = (folder / "t.yml").read_text()
    assert ("t/0 1 " in text, "t/0 3 {" in text, '"b"' in text) == (True, False, False)
    (folder / "p.yml").write_text(PIPELINE + text)
    found = command("test", "p.yml")
    assert found.stdout.splitlines()[-1] == "1 passed, 0 failed"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--hash", "k"], "needs a salt"),
        (["--hash", "k", "--salt-env", "NO_SALT"], "there is no such variable"),
        (["--salt-env", "NO_SALT"], "is for --hash"),
        (["--from", "2026-01-01"], "of a file give offsets"),
        (["--test", "long", "--to", '{"0": 0}'], ""),
    ],
)
def test_what_cannot_be_recorded_is_refused(folder: Path, options: list[str], said: str) -> None:
    log = ("--input", "rows.jsonl", "--as", "t", "--output", "e.jsonl")
    found = command("record", "p.yml", *log, *options)
    if not said:
        assert found.exit_code == 0, found.output
        return
    words = " ".join(found.output.replace("│", " ").split())
    assert said in f"{words} {found.exception}"
    assert not (folder / "e.jsonl").exists()


class Broker:
    """Topics in memory, in place of what `send` does to a broker."""

    def __init__(self) -> None:
        self.held: dict[int, list[tuple[bytes | None, bytes | None]]] = {0: [], 1: []}

    def last_records(self, bootstrap: str, topic: str) -> dict[int, tuple[int, Any]]:
        del bootstrap, topic
        return {
            number: (len(own), own and SimpleNamespace(value=own[-1][0], headers=[]))
            for number, own in self.held.items()
        }

    def send_all(
        self, bootstrap: str, topic: str, messages: Iterable[Any], progress: object
    ) -> int:
        del bootstrap, topic, progress
        sent = 0
        for partition, value, _, metadata in messages:
            self.held[partition].append((value, metadata.key))
            sent += 1
        return sent


@pytest.fixture
def topic(monkeypatch: pytest.MonkeyPatch) -> Broker:
    found = Broker()
    monkeypatch.setattr(sending, "create_topics", lambda *_: [])
    monkeypatch.setattr(sending, "last_records", found.last_records)
    monkeypatch.setattr(sending, "send_all", found.send_all)
    return found


def test_sent_rows_stay_in_one_partition(folder: Path, topic: Broker) -> None:
    log = ("--input", "rows.jsonl", "--as", "t", "--bootstrap", "nowhere:1")
    sent = command("send", "p.yml", *log)
    assert sent.exit_code == 0, sent.output
    assert "4 records on topic t, 4 appended" in sent.stdout
    assert "4 records on topic t, 0 appended" in command("send", "p.yml", *log).stdout
    assert [json.loads(value or b"") for value, _ in topic.held[0]] == ROWS
    assert "4 records on topic t, 4 appended" in command("send", "p.yml", *log, "--append").stdout
    assert len(topic.held[0]) == 8


def test_keys_choose_partitions_as_in_other_clients(folder: Path, topic: Broker) -> None:
    """By murmur2, whose values for these texts are those of Kafka's own tests."""
    longer = "a-little-bit-longer-string"  # -1486304829; 21 is -973932308
    rows = [{"k": "21"}, {"k": longer}, {"k": 21}, {"k": longer}, {"k": None}, {"v": 1}]
    (folder / "p.yml").write_text(PIPELINE.replace("partitions: 2", "partitions: 3"))
    topic.held[2] = []
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    log = ("--input", "rows.jsonl", "--as", "t", "--bootstrap", "nowhere:1", "--key", "k")
    for _ in range(2):
        assert command("send", "p.yml", *log).exit_code == 0
    keys = {number: [key for _, key in own] for number, own in topic.held.items()}
    places = [(number & 0x7FFFFFFF) % 3 for number in (-973932308, -1486304829)]
    assert places == [0, 2]
    assert keys == {0: [b"21", b"21", None, None], 1: [], 2: [longer.encode()] * 2}
    assert command("send", "p.yml", *log, "--append").exit_code == 0
    assert [len(own) for own in topic.held.values()] == [8, 0, 4]


def test_events_have_their_partitions(folder: Path, topic: Broker) -> None:
    (folder / "e.jsonl").write_text(
        '{"source": "t", "partition": 1, "offset": 3, "value": {}, "key": "a"}\n'
        '{"source": "t", "partition": 1, "offset": 4, "control": {"end": true}}\n'
    )
    log = ("--input", "e.jsonl", "--bootstrap", "nowhere:1")
    assert command("send", "p.yml", *log, "--append").exit_code == 0
    assert topic.held == {0: [], 1: [(b"{}", b"a"), (None, None)]}
    refused = command("send", "p.yml", *log, "--key", "k")
    assert refused.exit_code == 2
