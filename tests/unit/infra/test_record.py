import errno
import json

import pytest

from infra import record
from infra.errors import InfraError
from infra.layout import Layout
from infra.process import ProcessId
from infra.record import Record, Running


def test_what_was_started_is_found_again_by_another_process(layout: Layout) -> None:
    first = record.read(layout)
    first.promise({"kafka": 9092})
    first.started("kafka", Running(ProcessId(4711, 12345.5), "abc", "kafka.log"))
    assert record.read(layout) == first
    first.ended(["kafka"])
    assert record.read(layout).running == {}
    assert record.read(layout).ports == {"kafka": 9092}  # for the next start


def test_nothing_was_ever_started(layout: Layout) -> None:
    assert record.read(layout) == Record(layout.stack_file)


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"ports": {}}', '{"ports": {}, "running": {"a": 1}}']
)
def test_a_damaged_record_is_an_error_that_says_what_to_do(layout: Layout, text: str) -> None:
    layout.state_dir.mkdir()
    layout.stack_file.write_text(text)
    with pytest.raises(InfraError, match=r"stack.json is damaged .* delete it and run"):
        record.read(layout)
    layout.stack_file.unlink()


def test_a_full_disk_is_one_sentence_and_the_record_stays_whole(layout: Layout) -> None:
    held = record.read(layout)
    held.promise({"kafka": 9092})
    (layout.state_dir / "stack.json.part").symlink_to("/dev/full")  # every write: no space left
    with pytest.raises(InfraError, match=r"stack.json: no space left on device; free some space"):
        held.promise({"kafka": 9999})
    assert json.loads(layout.stack_file.read_text())["ports"] == {"kafka": 9092}


def test_a_read_only_folder_names_the_way_out(layout: Layout) -> None:
    text = record.cannot_write(layout.stack_file, OSError(errno.EROFS, "Read-only file system"))
    assert text.endswith("read-only file system; SLACKWATER_STATE_DIR can name a folder elsewhere")


def test_a_second_start_waits_and_then_gives_up(
    layout: Layout, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(record, "LOCK_WAIT_S", 0.3)
    with (
        record.only_one(layout),
        pytest.raises(InfraError, match="still at work"),
        record.only_one(layout),
    ):
        pass
    with record.only_one(layout):
        pass
