"""Jobs of the cluster make local files without processes, in the driver and in executors."""

from __future__ import annotations

from pathlib import Path

import pytest

from infra import doctor, local_files
from infra.images import spark_start


def test_an_executor_in_a_pod_has_what_its_driver_tells_it_to_use() -> None:
    named = ("DRIVER_URL", "EXECUTOR_ID", "EXECUTOR_CORES", "APPLICATION_ID", "EXECUTOR_POD_IP")
    more = ("RESOURCE_PROFILE_ID", "EXECUTOR_POD_NAME", "EXECUTOR_MEMORY")
    given = {f"SPARK_{name}": "1" for name in (*named, *more)}
    told = spark_start._kubernetes_executor(given | {local_files.CLASS_PATH: "a:b"})
    assert told[told.index("-cp") + 1].endswith("/jars/*:a:b")


def test_a_missing_jar_is_a_note(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert "local-files" in {one.name for one in doctor.examine() if one.verdict == "ok"}
    monkeypatch.setattr(doctor, "LOCAL_FILES_JARS", tmp_path)
    (found,) = (one for one in doctor.examine() if one.name == "local-files")
    assert found.verdict == "note"
    assert found.sentence.endswith("run `make setup`")
