"""A local session makes the files that Hadoop's own file system makes, without processes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from infra import local_files


def test_what_is_not_installed_is_not_on_the_class_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local_files, "LOCAL_FILES_JARS", tmp_path)
    monkeypatch.setenv(local_files.CLASS_PATH, "given")
    with local_files.on_the_class_path():
        assert os.environ[local_files.CLASS_PATH] == "given"
