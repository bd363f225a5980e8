"""The page "Your first pipeline in ten minutes": its local part is run as it stands."""

from __future__ import annotations

from pathlib import Path

from tests import pages

LOCAL_S = 300


def test_the_local_part_of_the_page_runs_as_written(tmp_path: Path) -> None:
    blocks = pages.blocks("first-pipeline.md")
    local = [block for block in blocks if block.heading[0].isdigit()]
    assert len(local) == 9
    pages.check(pages.run(local, tmp_path, LOCAL_S))
    assert not (tmp_path / "shop" / ".slackwater" / "stack.json").exists()
