"""`slackwater check-aggregate` with classes that hang it or end its process."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.unit.chaos.test_order_freedom import HERE


@pytest.mark.parametrize(
    ("name", "arguments", "code", "said"),
    [
        ("Endless", ["--within", "8"], 1, "has not ended after 8 s: does it loop forever?"),
        ("Quitting", [], 1, "Quitting ended its process with exit code 7"),
        ("Leaving", [], 1, "failed: SystemExit: 7"),
        ("Misspelt", [], 2, "the annotations of update cannot be read"),
        ("InOrder", ["--takes", "number"], 2, "--takes 'number' is not a type"),
    ],
)
def test_no_class_can_hang_or_end_the_command(
    name: str, arguments: list[str], code: int, said: str
) -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "slackwater.main", "check-aggregate", f"{HERE}:{name}", *arguments],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == code, ran.stderr
    assert said in ran.stdout + ran.stderr
    assert "Traceback" not in ran.stderr
