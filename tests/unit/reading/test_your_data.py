"""Every example of the page "Your data as it is" gives the rows that stand below it."""

import re
from pathlib import Path

import pytest

from tests.unit.slackwater.test_run import command

PAGE = Path("docs/your-data.md").read_text()
BLOCK = re.compile(r"```(?:yaml|json)\n(.*?)```", re.DOTALL)
EXAMPLES = {
    title: blocks
    for title, _, section in (part.partition("\n") for part in PAGE.split("\n## ")[1:])
    if (blocks := BLOCK.findall(section))
}


def test_there_are_six() -> None:
    assert [len(blocks) for blocks in EXAMPLES.values()] == [3] * 6


@pytest.mark.parametrize("title", EXAMPLES)
def test_an_example_gives_its_rows(title: str, tmp_path: Path) -> None:
    text, lines, expected = EXAMPLES[title]
    pipeline, events, out = (tmp_path / name for name in ("p.yml", "events.jsonl", "OUT.jsonl"))
    pipeline.write_text(text)
    events.write_text(lines)
    topic = re.search(r"topic: (\S+)", text)
    plain = ["--as", topic[1], "--end"] if topic else ["--end"]
    ran = command("run", pipeline, "--input", events, "--output", out, *plain)
    assert ran.exit_code == 0, (ran.output, ran.exception)
    assert out.read_text() == expected
    proved = command("verify", pipeline, "--output", out, "--input", events, *plain)
    assert proved.exit_code == 0, proved.output
