"""Every example of these pages gives the rows that stand below it."""

import re
from pathlib import Path

import pytest

from tests.unit.slackwater.test_run import command

PAGES = {
    "your-data": 6,
    "local-days": 3,
    "running-totals": 2,
    "prices-at-the-time": 2,
    "gaps-and-filters": 2,
}
"""Pages of the docs, and how many examples each has."""

BLOCK = re.compile(r"```(?:yaml|json)\n(.*?)```", re.DOTALL)
EXAMPLES = {
    (page, title): blocks
    for page in PAGES
    for title, _, section in (
        part.partition("\n") for part in Path(f"docs/{page}.md").read_text().split("\n## ")[1:]
    )
    if (blocks := BLOCK.findall(section))
}


@pytest.mark.parametrize("page", PAGES)
def test_each_example_has_a_pipeline_records_and_rows(page: str) -> None:
    found = [len(blocks) for (of, _), blocks in EXAMPLES.items() if of == page]
    assert found == [3] * PAGES[page]


@pytest.mark.parametrize(("page", "title"), EXAMPLES)
def test_an_example_gives_its_rows(page: str, title: str, tmp_path: Path) -> None:
    text, lines, expected = EXAMPLES[page, title]
    pipeline, events, out = (tmp_path / name for name in ("p.yml", "events.jsonl", "OUT.jsonl"))
    pipeline.write_text(text)
    events.write_text(lines)
    topic = re.search(r"^  topic: (\S+)", text, re.MULTILINE)
    plain = ["--as", topic[1], "--end"] if topic else ["--end"]
    ran = command("run", pipeline, "--input", events, "--output", out, *plain)
    assert ran.exit_code == 0, (ran.output, ran.exception)
    assert out.read_text() == expected
    proved = command("verify", pipeline, "--output", out, "--input", events, *plain)
    assert proved.exit_code == 0, proved.output
