"""A page of the docs as a script: its commands, run as written, and what they are to say."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DONE = "--- page: "


@dataclass(frozen=True)
class Block:
    """Commands of a page, and the lines that the page shows of what they say.

    Attributes:
        heading: the one above.
        script: the commands.
        shown: the lines; empty where the page shows none.
    """

    heading: str
    script: str
    shown: tuple[str, ...]


def blocks(page: str) -> list[Block]:
    """The `sh` blocks of a page of the docs, each with the plain block behind it, if there is."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    found, heading = [], ""
    pattern = r"^## (?P<heading>[^\n]+)$|^```sh\n(?P<script>.*?)^```\n(?:```\n(?P<shown>.*?)^```$)?"
    for match in re.finditer(pattern, text, re.MULTILINE | re.DOTALL):
        if match["heading"]:
            heading = match["heading"]
        else:
            shown = tuple((match["shown"] or "").splitlines())
            found.append(Block(heading, match["script"], shown))
    return found


def run(wanted: list[Block], folder: Path, timeout_s: float) -> list[tuple[Block, str, float]]:
    """Run blocks one after another, in one shell; gives what each said, and its seconds.

    Raises:
        AssertionError: a command failed.
    """
    script = "\n".join(
        f"{block.script}\necho '{DONE}{number}'" for number, block in enumerate(wanted)
    )
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    kept = {name: value for name, value in os.environ.items() if "SLACKWATER" not in name}
    found, said, began = [], "", time.monotonic()
    deadline = began + timeout_s
    with subprocess.Popen(
        ["bash", "-e", "-o", "pipefail", "-c", script],
        cwd=folder,
        env={**kept, "PATH": path, "PYTHONPATH": ""},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if line.startswith(DONE):
                found.append((wanted[len(found)], said, time.monotonic() - began))
                said, began = "", time.monotonic()
            else:
                said += line
            assert time.monotonic() < deadline, said
    assert process.returncode == 0, said
    return found


def check(found: list[tuple[Block, str, float]]) -> None:
    """See that each block said what the page shows; print what each took."""
    for block, said, seconds in found:
        lines = said.splitlines()
        missing = [line for line in block.shown if line not in lines]
        assert not missing, (
            f"{block.heading}: the page shows {missing}, and the commands said\n{said}"
        )
        sys.stdout.write(f"{seconds:6.1f} s  {block.heading}\n")
