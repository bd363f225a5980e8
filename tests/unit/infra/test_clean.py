"""What `clean` deletes, and what it must not."""

import ast
import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from infra import state_folder
from infra.errors import InfraError
from infra.layout import INSTALLED, ROOT, Layout
from infra.process import identify
from infra.record import RunningDaemon, read
from infra.state_folder import DATA, KEPT, MARKER, claim, clean


def fill(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).mkdir(parents=True)
        (folder / name / "kept").touch()


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_all_data_goes(layout: Layout) -> None:
    claim(layout)
    read(layout).promise({"kafka": 9092})
    fill(layout.state_dir, "kafka", "runs", "tables", "logs")
    assert clean(layout=layout) == []
    assert names(layout.state_dir) == {"stack.lock", MARKER}


_STATE_FOLDER = re.compile(r"(\bstate_dir|\bHOME|'\.slackwater'\)*)$")
"""How an expression ends that stands for a state folder."""


def names_in_code() -> Iterator[tuple[str, str]]:
    """Every name that the code gives to something in a state folder, and where it does."""
    # Not benchmarks: all but their results lie in temporary folders.
    rooms = ("chaos", "dags", "infra", "jobs", "slackwater", "windowing")
    for file in (file for room in rooms for file in (ROOT / room).rglob("*.py")):
        where = str(file.relative_to(ROOT))
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if not (isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div)):
                continue
            if _STATE_FOLDER.search(ast.unparse(node.left)):
                right = node.right
                constant = isinstance(right, ast.Constant)
                yield str(right.value) if constant else f"<{ast.unparse(right)}>", where


def test_whatever_the_code_writes_there_goes_or_is_kept_on_purpose() -> None:
    """The page's answers, with values of records, stayed when everything else went."""
    found = dict(names_in_code())
    # Nothing else has a name that is not written down beside the folder; this one's names are.
    assert found.pop("<name>") == "infra/layout.py"
    assert found.keys() >= {"page", "prometheus", "audits", "runs", "quality", "yarn"}
    unknown = found.keys() - DATA - KEPT - INSTALLED
    assert not unknown, {name: found[name] for name in unknown}


def test_values_of_records_are_gone(layout: Layout) -> None:
    claim(layout)
    read(layout).promise({"kafka": 9092})
    fill(layout.state_dir, "page", "prometheus", "audits", "benchmarks")
    assert clean(layout=layout) == ["benchmarks"]
    assert names(layout.state_dir) == {"stack.lock", MARKER, "benchmarks"}


def test_a_running_stack_is_not_cleaned(layout: Layout) -> None:
    us = identify(os.getpid())
    assert us is not None
    record = read(layout)
    record.started("kafka", RunningDaemon(us, "", "kafka.log"))
    with pytest.raises(InfraError, match=r"still runs \(kafka\); run `slackwater down` first"):
        clean(layout=layout)
    record.ended(["kafka"])


@pytest.mark.parametrize("there", [("Documents",), ("kafka", "logs"), tuple(DATA - {"stack.json"})])
def test_a_folder_without_a_marker_is_left_as_it_is(tmp_path: Path, there: tuple[str, ...]) -> None:
    fill(tmp_path, *there)
    with pytest.raises(InfraError, match=r"has no marker of a state folder .*`slackwater up`"):
        clean(layout=Layout(tmp_path))
    assert names(tmp_path) == set(there)


def test_what_has_another_name_is_left_alone_and_reported(layout: Layout) -> None:
    claim(layout)
    fill(layout.state_dir, "thesis", "kafka")
    assert clean(layout=layout) == ["thesis"]
    assert (layout.state_dir / "thesis" / "kept").exists()
    assert not layout.kafka.exists()


def test_what_stood_there_before_is_left_alone_whatever_its_name(layout: Layout) -> None:
    fill(layout.state_dir, "spark")
    claim(layout)
    fill(layout.state_dir, "kafka")
    assert clean(layout=layout) == ["spark"]
    assert (layout.state_dir / "spark" / "kept").exists()
    assert not layout.kafka.exists()


def test_a_stack_does_not_start_among_the_files_of_somebody(layout: Layout) -> None:
    fill(layout.state_dir, "Documents")
    with pytest.raises(InfraError, match=r"'Documents', which is not Slackwater's: let .* empty"):
        claim(layout)
    assert names(layout.state_dir) == {"Documents"}


def test_links_are_taken_away_and_not_followed(layout: Layout, tmp_path: Path) -> None:
    fill(tmp_path, "elsewhere")
    claim(layout)
    layout.logs.symlink_to(tmp_path / "elsewhere")
    fill(layout.state_dir, "kafka")
    (layout.kafka / "inner").symlink_to(tmp_path / "elsewhere")
    clean(layout=layout)
    assert (tmp_path / "elsewhere" / "kept").exists()
    assert names(layout.state_dir) == {"stack.lock", MARKER}


def test_a_state_folder_from_before_there_were_markers_is_cleaned(layout: Layout) -> None:
    read(layout).promise({"kafka": 9092})
    fill(layout.state_dir, "kafka")
    clean(layout=layout)
    assert names(layout.state_dir) == {"stack.lock"}


def test_the_checkout_s_own_folder_needs_no_marker_and_keeps_what_is_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(state_folder, "HOME", tmp_path)
    fill(tmp_path, "uv", "jvm", "airflow-venv", "kafka")
    assert clean(layout=Layout(tmp_path)) == []
    assert names(tmp_path) == {"uv", "jvm", "airflow-venv", "stack.lock"}


def test_a_damaged_marker_deletes_nothing(layout: Layout) -> None:
    claim(layout)
    fill(layout.state_dir, "kafka")
    (layout.state_dir / MARKER).write_text("{")
    with pytest.raises(InfraError, match=r"\.slackwater-state is damaged"):
        clean(layout=layout)
    assert layout.kafka.exists()
