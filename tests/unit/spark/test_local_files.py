"""A local session makes the files that Hadoop's own file system makes, without processes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from infra import jvm


def test_what_is_not_installed_is_not_on_the_class_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jvm, "LOCAL_FILES_JARS", tmp_path)
    monkeypatch.setenv(jvm.CLASS_PATH, "given")
    with jvm.on_the_class_path():
        assert os.environ[jvm.CLASS_PATH] == "given"
