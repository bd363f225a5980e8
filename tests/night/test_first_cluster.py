"""The page "Your first pipeline in ten minutes": all of it, on a cluster of the project's own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests import pages

ALL_S = 900


def test_the_whole_page_runs_as_written(tmp_path: Path) -> None:
    blocks = pages.blocks("first-pipeline.md")
    wanted = [block for block in blocks if block.heading.startswith("1.")]
    wanted += [block for block in blocks if "on a cluster" in block.heading.lower()]
    assert len(wanted) == 4
    try:
        pages.check(pages.run(wanted, tmp_path, ALL_S))
    finally:
        command = Path(sys.executable).with_name("slackwater")
        line = [str(command), "--project", str(tmp_path / "shop"), "down"]
        subprocess.run(line, check=True, capture_output=True)
    state = tmp_path / "shop" / ".slackwater"
    assert (state / "tables" / "orders" / "revenue").is_dir()
