"""One command for a changed file: replayed beside the live run, compared, handed over."""

from __future__ import annotations

from pathlib import Path

from tests.night.spark.test_change import MORE, file, overview, send, slackwater, through

__all__ = ["file"]


def test_a_changed_file_takes_over(file: Path) -> None:
    slackwater("topics", file)
    assert "has no run" in slackwater("migrate", file, code=2)
    send(0, 300)
    slackwater("submit", file)
    through(file, "r1")
    assert "means what its live run r1 runs" in slackwater("migrate", file, code=2)

    file.write_text(MORE)
    assert "works beside run r1" in slackwater("migrate", file, "--dry-run")
    assert [*overview(file)] == ["r1"]
    # Too short a time: the old run stays, and the next call goes on with the same new run.
    said = slackwater("migrate", file, "--within", "0", code=1)
    assert "offsets behind run r1" in said
    assert overview(file)["r1"]["live"]
    send(300, 400)
    said = slackwater("migrate", file)
    assert "run r2 is the live run" in said
    found = overview(file)
    assert sorted(found) == ["r1", "r2"]
    assert (found["r2"]["live"], found["r1"]["state"]) == (True, "superseded")
    through(file, "r2")
    assert "lost 0, duplicated 0, differing 0" in slackwater("verify", file)
