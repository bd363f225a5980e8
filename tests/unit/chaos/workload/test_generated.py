"""Generator functions of users: where their modules are looked for."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from chaos.workload.origin import write_generated


@pytest.mark.parametrize("where", ["beside", "here"])
def test_a_file_does_not_stand_in_for_a_module_of_python(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    """Whoever may put a file beside the plan, or where its user stands, had it run."""
    beside, here = tmp_path / "beside", tmp_path / "here"
    for folder in (beside, here):
        folder.mkdir()
    monkeypatch.chdir(here)
    monkeypatch.delitem(sys.modules, "colorsys", raising=False)
    ran = tmp_path / "ran"
    (tmp_path / where / "colorsys.py").write_text(f"open({str(ran)!r}, 'w').close()\n")
    (here / f"hues_{where}.py").write_text(
        "import colorsys\ndef three(seed):\n    yield {'at': seed}\n"
    )
    before = [*sys.path]
    write_generated(f"hues_{where}:three", beside, 7, 5, tmp_path / "records.jsonl")
    assert (tmp_path / "records.jsonl").read_text() == '{"at":7}\n'
    assert not ran.exists()
    assert sys.path == before
