"""Places on a real HDFS: they behave as local folders do, and tables there lose no commit."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from infra import stack
from infra.layout import HADOOP_JARS, Layout
from tests.unit.sinks import test_data_files as files
from tests.unit.sinks import test_table_log as logs
from windowing.files.places import move_file, name_once, place, remove_folder, write_new

pytestmark = pytest.mark.skipif(not HADOOP_JARS.exists(), reason="needs `make setup-yarn`")

NAMES = st.sampled_from(["a", "b", "0", "1"])
FOLDERS = st.sampled_from(["f", "g/h"])
FILES = st.builds("/".join, st.tuples(FOLDERS, NAMES))

STEPS: dict[str, tuple[Callable[..., object], int]] = {
    "write": (lambda here, there, text: _write(here, text), 1),
    "write_new": (lambda here, there, text: write_new(here, text.encode()), 1),
    "read": (lambda here, there, text: here.read_text(), 1),
    "exists": (lambda here, there, text: (here.exists(), here.is_file(), here.is_dir()), 1),
    "size": (lambda here, there, text: here.stat().st_size, 1),
    "unlink": (lambda here, there, text: here.unlink(), 1),
    "unlink_maybe": (lambda here, there, text: here.unlink(missing_ok=True), 1),
    "rename_folder": (lambda here, there, text: _rename(here.parent, there.parent), 2),
    "replace": (lambda here, there, text: here.replace(there) and None, 2),
    "move": (lambda here, there, text: move_file(here, there), 2),
    "name_once": (lambda here, there, text: name_once(here, there), 2),
    "mkdir": (lambda here, there, text: here.parent.mkdir(parents=True, exist_ok=True), 1),
    "rmdir": (lambda here, there, text: here.parent.rmdir(), 1),
    "remove": (lambda here, there, text: remove_folder(here.parent), 1),
    "list": (lambda here, there, text: sorted(p.name for p in here.parent.iterdir()), 1),
    "numbers": (lambda here, there, text: sorted(p.name for p in here.parent.glob("[0-9]*")), 1),
    "deep": (lambda here, there, text: sorted(p.name for p in here.parent.parent.glob("*/*")), 1),
}
"""What the project does with checkpoints and tables: from two files and a text to a result."""


def _write(here: Path, text: str) -> None:
    here.parent.mkdir(parents=True, exist_ok=True)  # HDFS would make it by itself
    here.write_text(text)


def _rename(here: Path, there: Path) -> None:
    if here != there and not there.exists():
        here.rename(there)


@pytest.fixture(scope="module")
def hdfs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """An empty folder of a file system of its own."""
    layout = Layout(tmp_path_factory.mktemp("yarn") / "state")
    try:
        yield place(f"{stack.up(only=('yarn',), layout=layout).hdfs}/tests")
    finally:
        stack.down(layout=layout)


def told(step: str, folder: Path, here: str, there: str, text: str) -> object:
    """What a step returns, or the kind of its error."""
    try:
        return STEPS[step][0](folder / here, folder / there, text)
    except OSError as error:
        # Where a folder of a path is missing or a file, systems differ in what they call it.
        return FileExistsError if isinstance(error, FileExistsError) else OSError


counted = itertools.count()


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    phases=[Phase.generate],  # each example takes a tenth of a second: too long to shrink
    max_examples=200,
    deadline=None,
)
@given(steps=st.lists(st.tuples(st.sampled_from([*STEPS]), FILES, FILES, st.text(max_size=5))))
def test_it_does_what_a_local_folder_does(
    hdfs: Path, tmp_path: Path, steps: list[tuple[str, str, str, str]]
) -> None:
    number = str(next(counted))
    both = hdfs / number, tmp_path / number
    for folder in both:
        (folder / "f").mkdir(parents=True)
        (folder / "g" / "h").mkdir(parents=True)
    for step, here, there, text in steps:
        if here == there and STEPS[step][1] == 2:
            continue
        answers = [told(step, folder, here, there, text) for folder in both]
        assert answers[0] == answers[1], (step, here, there)


def test_its_name_is_its_whole_address(hdfs: Path) -> None:
    file = hdfs / "f" / "0"
    assert str(place(str(file))) == str(file) == f"{hdfs}/f/0"
    assert place(str(file)) == file
    assert str(file.relative_to(hdfs)) == "f/0"
    assert str(file.with_name("x").parent) == f"{hdfs}/f"


def test_a_child_of_this_process_has_a_connection_of_its_own(hdfs: Path) -> None:
    hdfs.mkdir(parents=True, exist_ok=True)
    assert hdfs.exists()
    if (child := os.fork()) == 0:
        os._exit(0 if hdfs.exists() else 1)
    assert os.waitpid(child, 0)[1] == 0


@pytest.mark.parametrize(
    "rule",
    [
        logs.test_deltalake_reads_what_is_committed,
        logs.test_commits_of_others_are_read_before_the_next_one,
        logs.test_no_commit_of_many_writers_is_lost,
        logs.test_checkpoints_are_written_for_readers,
        logs.test_a_writer_that_slept_while_its_log_was_removed_begins_at_the_newest,
        files.test_both_paths_write_the_same_tables,
        files.test_files_of_an_attempt_that_died_are_no_part_of_a_table,
        files.test_of_two_drivers_with_files_one_commits_and_another_plan_is_refused,
        files.test_a_file_that_the_driver_cannot_see_is_not_committed,
    ],
)
def test_a_rule_of_local_tables_holds(hdfs: Path, rule: Callable[[Path], None]) -> None:
    folder = hdfs / rule.__name__
    folder.mkdir(parents=True)
    rule(folder)


def test_another_store_is_refused() -> None:
    with pytest.raises(ValueError, match="neither a folder nor hdfs://"):
        place("s3a://bucket/folder")
