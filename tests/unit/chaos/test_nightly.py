"""The nightly run: its parts, failing parts, and the page of verdicts."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psutil
import pytest
from typer.testing import CliRunner

from chaos import command
from chaos.mutants.results import read_judged
from chaos.nightly import run as nightly_run
from chaos.nightly.parts import ENGINE, Part, all_parts, choose, code, digest
from chaos.nightly.run import RECORDED, Night, in_turn, said_by
from chaos.nightly.verdicts import (
    FOLDER,
    PartVerdict,
    keep,
    oldest,
    page_of,
    read_verdicts,
    rows,
    with_line,
    write_page,
)
from chaos.verdict.check import Outcome
from slackwater.main import app

HERE = Path(__file__)
PARTS = all_parts(Path("work"))


def python(name: str, code: str, **more: Any) -> Part:
    more = {"judges": ("chaos/nightly",), **more}
    return Part(name, (sys.executable, "-c", code), **more)


def test_every_plan_is_a_part_and_what_a_part_runs_exists() -> None:
    plans = [file for file in Path("chaos/plans").rglob("*.yml") if file.parent.name != "pipelines"]
    named = {argument for part in PARTS for argument in part.command}
    assert {str(plan) for plan in plans} <= named
    assert len({part.name for part in PARTS}) == len(PARTS)
    for part in PARTS:
        for argument in part.command:
            assert not argument.startswith(("tests/", "chaos/")) or Path(argument).exists()


def test_every_test_that_is_left_to_the_night_is_in_a_part() -> None:
    ran = {argument for part in PARTS for argument in part.command}
    at_night = {*Path("tests/night").rglob("test_*.py")}
    assert len(at_night) > 5
    found = {file for file in at_night if not ran.isdisjoint(map(str, [file, *file.parents]))}
    assert at_night - found == set()


def test_parts_are_chosen_by_name_and_by_group() -> None:
    assert choose(PARTS, []) == PARTS
    assert [part.name for part in choose(PARTS, ["plan:kills"])] == ["plan:kills"]
    assert {part.name for part in choose(PARTS, ["simulate"])} == {
        f"simulate:{n}" for n in (1, 2, 3)
    }
    answer = CliRunner().invoke(app, ["chaos", "nightly", "plan:nonsense"])
    assert answer.exit_code == 2


def night(folder: Path, *parts: Part, **more: Any) -> tuple[list[PartVerdict], set[str]]:
    """Run parts in turn, with a page in the folder; the seeds are drawn."""
    options = {"done": lambda verdict: keep(verdict, folder, parts), "news": lambda _: None, **more}
    return Night(folder / "logs", recorded=folder / "recorded", **options).run(in_turn(parts))


def test_a_part_that_fails_holds_up_nothing_and_says_its_last_line(tmp_path: Path) -> None:
    parts = [
        python("bad", "print('so far'); print('it broke'); raise SystemExit(1)"),
        python("open", "raise SystemExit(3)"),
        python("good", "import os; print(os.environ['DEEP'])", environment={"DEEP": "down"}),
    ]
    found, unable = night(tmp_path, *parts)
    assert [*read_verdicts(tmp_path)] == ["bad", "open", "good"]
    assert [verdict.outcome for verdict in found] == [
        Outcome.failed,
        Outcome.unknown,
        Outcome.passed,
    ]
    assert not unable
    assert [verdict.said for verdict in found] == ["it broke", "exit code 3", "down"]
    assert (tmp_path / "logs" / "bad.log").read_text() == "so far\nit broke\n"


def test_a_plan_without_a_report_says_so(tmp_path: Path) -> None:
    (verdict,), _ = night(tmp_path, python("plan", "pass", report=tmp_path / "none"))
    assert verdict.report is not None
    assert "cannot be read" in verdict.report["problem"]


@pytest.mark.parametrize(
    ("log", "said"),
    [
        (
            "..\n== 2 passed in 3.1s ==\nSee http://127.0.0.1/leaks.html\n",
            "2 passed in 3.1s",
        ),
        ("error: at /opt/python/ast.py:50: see /tmp/e.txt\n\n", "error: at ast.py:50: see e.txt"),
        ("as is in docs/probes/README.md", "as is in docs/probes/README.md"),
        ("\n", ""),
    ],
)
def test_a_row_has_the_result_and_no_place_of_this_machine(log: str, said: str) -> None:
    assert said_by(log) == said


def test_what_the_machine_lacks_is_said_and_leaves_the_row_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts = [python("old", "pass"), python("new", "print('ran')")]
    night(tmp_path, *parts)
    monkeypatch.setitem(nightly_run._INSTALLED, "flink", (tmp_path / "none", "make setup-flink"))
    lines: list[str] = []
    lacking = python("old", "raise SystemExit(1)", needs=("flink",))
    found, unable = night(tmp_path, lacking, parts[1], news=lines.append)
    assert ([verdict.part for verdict in found], unable) == (["new"], {"old"})
    assert "old: cannot run on this machine: flink is not installed: make setup-flink" in lines
    assert read_verdicts(tmp_path)["old"].outcome is Outcome.passed


def test_every_night_draws_another_seed_and_records_it(tmp_path: Path) -> None:
    part = python("drawn", "import sys; print(*sys.argv[1:])", seeded=True)
    lines: list[str] = []
    seeds = set()
    for _ in range(2):
        (verdict,), _ = night(tmp_path, part, news=lines.append)
        assert verdict.said == f"--seed {verdict.seed}"
        assert f"seed {verdict.seed};" in lines[-1]
        seeds.add(verdict.seed)
    assert len(seeds) == 2
    assert f"| {verdict.seed} |" in (tmp_path / "README.md").read_text()
    (verdict,), _ = night(tmp_path, part, seed=7)
    assert verdict.seed == 7


def test_cases_of_failed_runs_are_recorded_where_tests_replay_them(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    code = f"""
from pathlib import Path
kept = Path({str(kept)!r})
kept.mkdir()
for n in range(7):
    (kept / f"{{n}}.json").write_text("x" * (9 - n))
raise SystemExit(1)
"""
    for _ in range(2):  # what an earlier night left is no case of this one
        (verdict,), _ = night(tmp_path, python("simulate", code, cases=kept))
    names = {f"{n}.json" for n in (2, 3, 4, 5, 6)}
    assert {file.name for file in (tmp_path / "recorded").iterdir()} == names
    assert "recorded: 6.json" in verdict.said
    assert next(part for part in PARTS if part.name == "simulate:1").cases
    assert Path("tests/data/simulated") == RECORDED


# --- whose evidence is outdated ----------------------------------------------------------------


@pytest.fixture
def rooms(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two rooms with a file each, in the working directory."""
    monkeypatch.chdir(tmp_path)
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "code.py").write_text('"""Code."""\nX = 1\n')
    return tmp_path


def test_a_row_of_other_code_is_outdated_until_its_part_runs_again(rooms: Path) -> None:
    parts = [python(name, "pass", judges=(name,)) for name in ("one", "two")]
    page = rooms / "README.md"
    night(rooms, parts[0])
    write_page(rooms, parts)
    assert "| `one` | passed |" in page.read_text()
    assert "| `two` | never run |" in page.read_text()
    night(rooms, *parts)
    (rooms / "one" / "code.py").write_text('"""Code."""\nX = 2\n')
    write_page(rooms, parts)
    assert "| `one` | *outdated* (passed) |" in page.read_text()
    assert "| `two` | passed |" in page.read_text()
    known = rows(parts, read_verdicts(rooms))
    line = with_line("a <!-- nights -->old<!-- /nights --> b", known, [])
    assert line.startswith("a <!-- nights -->Of 2 parts of [the nights](docs/nightly/README.md)")
    assert "1 passed, 0 failed and 0 are unknown" in line
    assert "1 are *outdated*" in line
    assert line.endswith("<!-- /nights --> b")
    night(rooms, *parts)
    assert "outdated* (" not in page.read_text()


def test_the_digest_is_of_what_is_computed_not_of_what_is_said(rooms: Path) -> None:
    file = rooms / "one" / "code.py"
    before = digest(["one"])
    file.write_text('"""Other\nwords."""\n\n# said\nX = 1  # again\n')
    assert digest(["one"]) == before
    assert digest(["two"]) != before
    for other in ('X = "1"\n', "X = (\n    # said\n    '#'\n)\n", "Y = 1\n"):
        file.write_text(other)
        assert digest(["one"]) != before
    text = (
        b"def f():\n    'Doc.'\n    g('kept')\n    x = (\n        # said\n        'kept'\n    )\n"
    )
    assert code(text) == "def f():\n    g('kept')\n    x = (\n        'kept'\n    )"
    with pytest.raises(FileNotFoundError):
        digest(["moved"])


def test_an_engine_changes_by_all_but_explanations_and_models_of_other_engines(
    rooms: Path,
) -> None:
    for room in ("windowing/engine", "windowing/explain", "windowing/research/engines"):
        (rooms / room).mkdir(parents=True)
        (rooms / room / "code.py").write_text("X = 1\n")
    engine, models = digest(ENGINE), digest(["windowing/research/engines"])
    for room in ("windowing/explain", "windowing/research/engines"):
        (rooms / room / "code.py").write_text("X = 2\n")
    assert digest(ENGINE) == engine
    assert digest(["windowing/research/engines"]) != models
    (rooms / "windowing/engine/code.py").write_text("X = 2\n")
    assert digest(ENGINE) != engine


def test_the_committed_page_and_the_line_of_readme_say_what_is_outdated_by_now() -> None:
    now, mutants = rows(PARTS, read_verdicts(FOLDER)), read_judged(FOLDER)
    assert (FOLDER / "README.md").read_text() == page_of(now, mutants), "run `make docs`"
    readme = Path("README.md").read_text()
    assert readme == with_line(readme, now, mutants), "run `make docs`"


# --- nights without end ------------------------------------------------------------------------


def verdict(part: str, began: str, engine: str, seconds: float = 1.0) -> PartVerdict:
    return PartVerdict(part, Outcome.passed, began, seconds, "abc", 2, "fine", engine=engine)


def test_changed_code_comes_first_then_the_oldest_evidence(rooms: Path) -> None:
    names = ["new", "old", "changed", "newly changed", "never"]
    parts = [Part(name, (), judges=("one",)) for name in names]
    known = {
        "new": verdict("new", "2026-11-25", digest(["one"])),
        "old": verdict("old", "2026-11-24", digest(["one"])),
        "changed": verdict("changed", "2026-11-26", ""),
        "newly changed": verdict("newly changed", "2026-11-27", "", seconds=1e6),
    }
    order = []
    while part := oldest(parts, known, set(order)):
        order.append(part.name)
    assert order == ["never", "changed", "newly changed", "old", "new"]
    # An hour is left: what took longer the last time is not begun; and nothing when it is over.
    hour = time.monotonic() + 3600
    part = oldest(parts, known, {"never", "changed"}, hour)
    assert part is not None
    assert part.name == "old"
    assert oldest(parts, known, set(names) - {"newly changed"}, hour) is None
    assert oldest(parts, known, set(), time.monotonic()) is None


def test_a_part_that_the_end_of_the_night_comes_upon_is_ended_with_its_children(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "_GRACE_S", 2.0)
    code = """
import subprocess, sys
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
print(child.pid, flush=True)
try:
    child.wait()
except KeyboardInterrupt:
    print("cleaned up", flush=True)
"""
    part = python("long", code)
    (first,), _ = night(tmp_path, part, until=time.monotonic() + 3)
    assert (first.outcome, first.finished) == (Outcome.unknown, False)
    assert first.said.startswith("not finished: ended after")
    assert first.said.endswith("cleaned up")
    pid = int((tmp_path / "logs" / "long.log").read_text().split()[0])
    assert not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    # On the same code, it takes nothing away from a part that has come to its end.
    (done,), _ = night(tmp_path, python("long", "print('done')"))
    night(tmp_path, part, until=time.monotonic() + 1)
    assert read_verdicts(tmp_path)["long"] == done


def test_a_night_without_end_goes_round_until_it_is_stopped(tmp_path: Path) -> None:
    """The command itself: parts in turn, then Ctrl-C in the middle of one, then on from there."""
    code = """
import sys
from chaos.nightly import parts
from slackwater.__main__ import main
def python(name, code):
    return parts.Part(name, (sys.executable, "-c", code), judges=("chaos/nightly",))
quick = "print('ran')"
toys = [python("a", quick), python("b", quick), python("c", "import time; time.sleep(600)")]
parts.all_parts = lambda work: toys
main()
"""
    folder = tmp_path / "page"
    options = ["--forever", "--verdicts", str(folder), "--work", str(tmp_path / "work")]
    with subprocess.Popen(
        [sys.executable, "-c", code, "chaos", "nightly", *options],
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
    ) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if line.startswith("c: begins"):
                process.send_signal(signal.SIGINT)
        assert process.wait() == 130
    assert [*read_verdicts(folder)] == ["a", "b"]
    assert "| `c` | never run |" in (folder / "README.md").read_text()


def test_a_part_that_is_run_alone_replaces_its_own_row(tmp_path: Path) -> None:
    kill = {"name": "kill_driver", "evidence": "pid 7 | gone"}
    checks = [{"name": "state", "outcome": "passed", "detail": "3 rows, <none> differ"}]
    faults = [
        {
            "name": "kill_driver",
            "struck": 3,
            "planned": 3,
            "evidence": kill["evidence"],
            "unsupported": "",
            "seconds": [60.0, 70.0, 80.5],
            "batches": [2, 2, 3],
        }
    ]
    report = {"command": "again", "checks": checks, "faults": faults}

    def verdict(part: str, outcome: Outcome, said: str) -> PartVerdict:
        engine = digest(["chaos/nightly"])
        return PartVerdict(
            part, outcome, "at night", 1.5, "abc+", 2, said, report, engine=engine, seed=9
        )

    order = [Part(name, (), judges=("chaos/nightly",)) for name in ("first", "second")]
    keep(verdict("second", Outcome.failed, "x | y"), tmp_path, order)
    keep(verdict("first", Outcome.passed, "fine"), tmp_path, order)
    keep(verdict("second", Outcome.passed, "now"), tmp_path, order)
    kept = read_verdicts(tmp_path)
    assert [*kept] == ["first", "second"]
    assert kept["second"].said == "now"
    text = (tmp_path / "README.md").read_text()
    engine = digest(["chaos/nightly"])
    assert f"| `first` | passed | 1.5 s | at night | {engine} | abc+ | 9 | 2 | fine |" in text
    assert (
        "| first | `kill_driver` | 3 of 3 | pid 7 \\| gone | 60.0 / 70.0 / 80.5 s | 2 / 2 / 3 |"
        in text
    )
    assert "- state (passed): 3 rows, <none> differ" in text
    keep(verdict("second", Outcome.passed, "now"), tmp_path, order[1:])
    assert [*read_verdicts(tmp_path)] == ["second"]


def test_torn_verdicts_are_an_error_that_names_the_file(tmp_path: Path) -> None:
    (tmp_path / "verdicts.json").write_text(json.dumps([{"part": 1}]))
    with pytest.raises(ValueError, match=r"verdicts\.json holds no verdicts"):
        read_verdicts(tmp_path)
