"""The file of a project: what is read of it, and how."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from infra.errors import SettingsError
from infra.layout import IMPORT_VARIABLE
from infra.project import FILE, choose, read


def written(folder: Path, text: str) -> Path:
    (folder / FILE).write_text(text)
    return folder


def test_names_and_texts_are_read_as_in_pipeline_files(tmp_path: Path) -> None:
    text = (
        "pipelines: no\nstate: 1:30\npython: 010\nplans: 2024-01-01\nkafka: ~\n"
        "plugins: {windows: {on: m:On, yes: m:Yes}}\n"
    )
    found = read(written(tmp_path, text))
    assert (found.pipelines, found.state, found.python) == ("no", "1:30", "010")
    assert (found.plans, found.kafka) == ("2024-01-01", None)
    assert found.plugins == {"windows": {"on": "m:On", "yes": "m:Yes"}}


def test_an_empty_file_is_a_project(tmp_path: Path) -> None:
    assert read(written(tmp_path, "")).state == ".slackwater"


@pytest.mark.parametrize("text", ["import_seconds: soon", "import_seconds: 0", "state: 7"])
def test_what_is_of_another_kind_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(SettingsError, match=text.partition(":")[0]):
        read(written(tmp_path, text))


def test_the_limit_for_imports_reaches_commands_unless_one_is_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "environ", {"PATH": os.environ["PATH"]})
    monkeypatch.syspath_prepend(tmp_path)
    choose(written(tmp_path, "import_seconds: 300\n"))
    assert os.environ[IMPORT_VARIABLE] == "300"
    choose(written(tmp_path, "import_seconds: 5\n"))
    assert os.environ[IMPORT_VARIABLE] == "300"
