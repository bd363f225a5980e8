"""Every change of meaning is refused on an old checkpoint, by its path and with the ways out."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml

from jobs.deployment.change import Kind, compare
from jobs.deployment.decision import Known, Refused, Wish, plan
from tests.unit.model.test_fingerprint import OTHER_MEANINGS, PIPELINE, changed


def paths(value: Any, path: str = "") -> set[str]:
    """Every path of a document, inner ones too."""
    if not isinstance(value, dict):
        return {path}
    inner = (paths(one, f"{path}.{key}" if path else str(key)) for key, one in value.items())
    return {path}.union(*inner)


@pytest.mark.parametrize("alive", [False, True])
@pytest.mark.parametrize("edits", OTHER_MEANINGS)
def test_a_change_of_meaning_is_refused(edits: list[tuple[str, str]], *, alive: bool) -> None:
    old, new = changed(), changed(*edits)
    change = compare(old, new)
    assert change.kind is Kind.new_run
    with pytest.raises(Refused) as refused:
        plan(Wish(Path("p.yml"), "p", run="r1"), {"r1": Known(change, alive=alive)}, "r1")
    first, *others = str(refused.value).splitlines()
    assert "r1" in first
    known = paths(yaml.safe_load(PIPELINE)) | paths(yaml.safe_load(new.text))
    named = [line.strip() for line in others[: others.index(next(filter(_is_end, others)))]]
    assert named
    for line in named:
        assert line.partition(": ")[0] in known
    commands = [shlex.split(line) for line in others if line.startswith("  slackwater ")]
    assert commands[0][1:5] == ["submit", "p.yml", "--run", "r2"]
    assert ["--from", "r1"] in [command[5:7] for command in commands]
    asked = {"--replace" in command or "--beside" in command for command in commands}
    assert asked == {alive}


def _is_end(line: str) -> bool:
    return line.startswith("nothing was touched")
