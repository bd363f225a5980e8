"""Atomic pages: a killed command leaves the old page, never half of a new one."""

from __future__ import annotations

import ast
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from chaos.reports.pages import write_together
from windowing.files.whole_files import WriteError

ROOT = Path(__file__).parents[4]
KILLED = """
import os, signal, sys
from pathlib import Path
from chaos.reports.pages import write_together

class Dies(str):
    def encode(self):
        os.kill(os.getpid(), signal.SIGKILL)

write_together(Path(sys.argv[1]), {"report.html": "<p>half", "report.json": Dies()})
"""
WRITERS = (
    *("reports/report.py", "reports/contents.py", "batch_comparison/report.py"),
    *("replay/shadow.py", "nightly/verdicts.py"),
)


def test_a_killed_command_leaves_the_old_pages(tmp_path: Path) -> None:
    for name in ("report.html", "report.json"):
        (tmp_path / name).write_text("old")
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(tmp_path)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        check=False,
    )
    assert done.returncode == -signal.SIGKILL
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {
        "report.html": "old",
        "report.json": "old",
    }


def test_pages_appear_together(tmp_path: Path) -> None:
    write_together(tmp_path, {"a.html": "ä", "b.bin": b"\0"})
    assert (tmp_path / "a.html").read_text("utf-8") == "ä"
    assert (tmp_path / "b.bin").read_bytes() == b"\0"
    (tmp_path / "dir").mkdir()
    with pytest.raises(WriteError):
        write_together(tmp_path, {"a.html": "new", "dir": "no file"})
    assert (tmp_path / "a.html").read_text("utf-8") == "ä"


@pytest.mark.parametrize("name", WRITERS)
def test_every_report_is_written_so(name: str) -> None:
    tree = ast.parse((ROOT / "chaos" / name).read_text())
    called = {
        n.attr if isinstance(n, ast.Attribute) else getattr(n, "id", "") for n in ast.walk(tree)
    }
    assert "write_together" in called
    assert not called & {"write_text", "write_bytes", "open"}
