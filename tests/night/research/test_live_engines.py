"""Live engines as boxes, on inputs whose reports were worked out by hand; what is said of them."""

from __future__ import annotations

from pathlib import Path

from typer.testing import CliRunner

from chaos.probes import differences, read_probes
from slackwater.main import app


def test_our_own_runtime_is_as_its_profile_says(tmp_path: Path) -> None:
    asked = ["secret", "probe", "slackwater", "--record", str(tmp_path)]
    done = CliRunner().invoke(app, asked)
    assert done.exit_code == 0, done.output
    assert "tick: batch-end\nreport: non-empty and window close\n" in done.stdout
    assert "as its profile slackwater says" in done.stdout
    (told,) = read_probes(tmp_path)
    known = {(one["mode"], one["windows"]): one for one in read_probes(Path("docs") / "probes")}
    assert not differences(known["ordered", "time"], told)
