"""What a terminal gets to see, and how soon: commands import little."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from slackwater import main
from slackwater.commands import GROUPS
from slackwater.console import bar, complain, err, plain, say, tell
from windowing.model.run_errors import BrokenEnvelope, StateFull

HOSTILE = [
    "\\[/b]",
    "[/b]",
    "[bold]x[/bold]",
    "[link=javascript:x]y[/link]",
    "python:a:b",
    ":smile:",
    "\x1b[31mred\x1b]0;title\x07",
    "\x9b31m",
    "a\rb\x08c\x7f",
    "\u202eevil\u2066",
    "\udcff",
    "ordinary – ünïcode 漢字 👩‍👩‍👧",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_text_is_text(text: str, capfd: pytest.CaptureFixture[str]) -> None:
    for speak in (complain, tell, say):
        speak(text)
        found = capfd.readouterr()
        shown = found.out + found.err
        assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", shown)
        assert plain(text).rstrip() in shown
    with bar(text) as shown_bar:
        assert shown_bar.tasks[0].description == plain(text)
        err().print(shown_bar.get_renderable())


def test_an_error_about_a_value_of_any_length_stays_a_sentence(
    capfd: pytest.CaptureFixture[str],
) -> None:
    complain(f"e.jsonl:1: source '{'s' * 100_000}': the pipeline reads t\nand another line")
    said = capfd.readouterr().err
    assert len(said) < 1100
    assert said.startswith("error: e.jsonl:1: source 'sss")
    assert said.endswith("': the pipeline reads t\nand another line\n")


def test_what_is_no_danger_stays_as_it_is() -> None:
    assert plain(HOSTILE[-1]) == HOSTILE[-1]
    assert plain("two\nlines") == "two\nlines"
    assert plain("\x1b[0m") == "\\u001b[0m"


@pytest.mark.parametrize("text", HOSTILE)
def test_a_line_of_json_stays_the_same_json(text: str) -> None:
    line = json.dumps({"k": text.replace("\udcff", "")}, ensure_ascii=False)
    assert json.loads(plain(line)) == json.loads(line)


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (BrokenEnvelope("line 3 is none"), 2, "line 3 is none"),
        (StateFull("too much"), 1, "too much"),
        (FileNotFoundError(2, "No such file", "x.yml"), 1, "x.yml: No such file"),
        (OSError("strange"), 1, "strange"),
    ],
)
def test_an_error_for_users_is_its_own_sentence(
    error: Exception, code: int, said: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main.said(error) == code
    assert capfd.readouterr().err.strip() == f"error: {said}"


def test_any_other_error_is_a_sentence_and_its_trace_is_kept(
    capfd: pytest.CaptureFixture[str],
) -> None:
    def wrong() -> None:
        raise KeyError("element_count")

    try:
        wrong()
    except KeyError as error:
        code = main.said(error)
    assert code == 1
    said = capfd.readouterr().err
    assert "Traceback" not in said
    assert f"KeyError at {__file__}:" in said
    kept = re.search(r"(\S*slackwater-error-\S*\.txt)", said)
    assert kept is not None
    trace = Path(kept[1])
    assert "in wrong" in trace.read_text()
    assert trace.stat().st_mode & 0o777 == 0o600
    trace.unlink()


ROOT = Path(__file__).parents[3]
CASE = ROOT / "tests" / "data" / "pipelines" / "late-update-generous"
FEW = 8
"""Events of the case."""


def imported(*arguments: str | Path) -> set[str]:
    """Run a command in a process; return the packages that it has imported."""
    code = (
        "import sys; from slackwater.main import run; code = run()\n"
        "print(*{name.partition('.')[0] for name in sys.modules}, file=sys.stderr); sys.exit(code)"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return set(ran.stderr.split())


@pytest.mark.parametrize(
    "file",
    [CASE / "pipeline.yml", ROOT / "pipelines" / "flight_delays.yml"],
    ids=["plain", "quality"],
)
def test_validate_imports_no_library_of_tables(file: Path) -> None:
    heavy = {"numba", "polars", "pyarrow", "pandas", "numpy", "great_expectations"}
    assert not heavy & imported("validate", file)


def test_run_over_few_rows_imports_no_compiler(tmp_path: Path) -> None:
    events = CASE / "events.jsonl"
    assert len(events.read_text(encoding="utf-8").splitlines()) == FEW
    output = tmp_path / "out.jsonl"
    found = imported("run", CASE / "pipeline.yml", "--input", events, "--output", output)
    assert "polars" in found
    assert not {"numba", "llvmlite", "scipy", "pandas", "great_expectations"} & found


def test_the_modules_of_commands_have_those_that_are_listed_and_no_others() -> None:
    listed = {(module, name) for names in GROUPS.values() for name, module in names.items()}
    found = {
        (module, one.__name__.replace("_", "-"))
        for module, _ in listed
        for one in getattr(import_module(f"slackwater.{module}"), "COMMANDS", ())
    }
    groups = {("chaos", "chaos"), ("queries", "queries"), ("secret", "secret")}
    assert listed == found | groups
