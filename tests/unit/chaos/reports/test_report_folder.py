"""Report folders: no foreign file is ever overwritten or deleted."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from chaos.plan import parse_plan
from chaos.reports.report_folder import ReportFolderError, claim
from chaos.run.runner import PreparedPlan, run_plans
from infra.layout import Layout
from slackwater.main import app

PLAN = """\
name: small
pipeline: p.yml
workload: {flights: 1000, max_offsets: 10}
faults: [poison_records]
recovery: {within: 1 minute}
"""
PIPELINE = (Path(__file__).parents[4] / "pipelines" / "flight_delays.yml").read_text()
CUTS = "{kind: cuts, name: c, pipeline: p.yml, workload: {flights: 500}, cuts: [9, 99], draw: n}"


@pytest.fixture
def theirs(tmp_path: Path) -> Path:
    """A user's folder, such as a checkout."""
    folder = tmp_path / "theirs"
    (folder / "pipelines").mkdir(parents=True)
    (folder / "pipelines" / "p.yml").write_text(PIPELINE)
    (folder / "README.md").write_text("mine")
    (folder / "report.json").write_text("{}")
    return folder


def contents(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): path.read_text()
        for path in folder.rglob("*")
        if path.is_file()
    }


def refused(arguments: list[str], folder: Path) -> None:
    before = contents(folder)
    answer = CliRunner().invoke(app, arguments)
    assert answer.exit_code == 2, answer.output
    said = " ".join(answer.output.split())
    assert "which no report made" in said
    assert "new or empty" in said
    assert contents(folder) == before


def test_a_report_is_not_written_among_the_files_of_somebody(tmp_path: Path, theirs: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / f"{name}.yml").write_text(PLAN)
    (tmp_path / "c.yml").write_text(CUTS)
    (tmp_path / "p.yml").write_text(PIPELINE)
    run = ["chaos", "run", "--state-dir", str(tmp_path / "state"), "--report", str(theirs)]
    refused([*run, str(tmp_path / "a.yml")], theirs)
    refused([*run, str(tmp_path / "c.yml")], theirs)
    refused([*run, str(tmp_path / "a.yml"), str(tmp_path / "b.yml")], theirs)


def test_nor_is_a_page_of_contents_a_shadow_or_a_night(tmp_path: Path, theirs: Path) -> None:
    refused(["chaos", "contents", str(theirs)], theirs)
    pipeline = str(theirs / "pipelines" / "p.yml")
    shadow = ["replay", pipeline, "--shadow", pipeline, "--input", pipeline]
    refused([*shadow, "--report", str(theirs)], theirs)
    refused(["chaos", "nightly", "--verdicts", str(theirs), "--work", str(tmp_path)], theirs)


def test_a_folder_of_ours_is_written_again(tmp_path: Path) -> None:
    claim(tmp_path / "new")
    (tmp_path / "new" / "report.html").touch()
    claim(tmp_path / "new")
    claim(tmp_path)  # holds folders of reports
    (tmp_path / "notes.txt").touch()
    claim(tmp_path)


def test_a_report_from_before_there_was_a_mark_is_known(tmp_path: Path) -> None:
    (tmp_path / "history.jsonl").touch()
    with pytest.raises(ReportFolderError, match=r"holds 'history.jsonl'"):
        claim(tmp_path)
    report = dict.fromkeys(("plan", "outcome", "command", "checks"))
    (tmp_path / "report.json").write_text(json.dumps(report))
    claim(tmp_path)


def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ReportFolderError, match=r"file cannot be written \(File exists\)"):
        claim(tmp_path / "file")


def test_a_run_of_plans_deletes_nothing_in_the_folder_of_its_report(
    tmp_path: Path, theirs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Airflow gets only the run's pipelines, in the run's own folder."""
    seen: list[Layout] = []

    def no_stack(_kind: str, layout: Layout, *_: object, **__: object) -> object:
        names = [path.name.partition("-")[0] for path in layout.pipelines.iterdir()]
        assert names == ["flight_delays"]
        seen.append(layout)
        raise KeyboardInterrupt

    monkeypatch.setattr("chaos.run.runner.stack_under_test", no_stack)
    before = contents(theirs)
    (tmp_path / "p.yml").write_text(PIPELINE)
    order = PreparedPlan(parse_plan(PLAN), tmp_path / "plan.yml", theirs, [])
    layout = Layout(tmp_path / "state")
    with pytest.raises(KeyboardInterrupt):
        run_plans([order], seed=1, layout=layout, news=lambda _: None)
    assert contents(theirs) == before
    assert replace(seen[0], pipelines=layout.pipelines) == layout
    assert not seen[0].pipelines.exists()
