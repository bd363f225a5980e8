"""The page of commands says what the command line says."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

_GENERATE = "typer slackwater.main utils docs --name slackwater --title Commands"


def test_the_page_of_commands_is_what_make_docs_writes() -> None:
    written = subprocess.run(
        [sys.executable, "-m", *_GENERATE.split()], check=True, capture_output=True, text=True
    )
    assert _GENERATE in Path("Makefile").read_text(), "the test and `make docs` differ"
    assert Path("docs/commands.md").read_text() == written.stdout, "run `make docs`"
