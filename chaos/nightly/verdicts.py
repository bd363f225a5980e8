"""What the parts of nights came to: the newest verdict of each, as JSON and as one page."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

from chaos.reports.pages import page, write_together
from chaos.verdict.check import Outcome

FILE, PAGE = "verdicts.json", "README.md"


class PartVerdict(msgspec.Struct, frozen=True, omit_defaults=True):
    """What one part came to.

    Attributes:
        part: its name.
        outcome: passed, failed, or unknown (a fault did not take effect).
        began: when, UTC, to the second.
        seconds: how long it took.
        commit: of the checkout; ends in `+` where files differed from it.
        cores: of the machine.
        said: the last line that the command printed.
        report: of a chaos plan, its checks and faults.
    """

    part: str
    outcome: Outcome
    began: str
    seconds: float | None
    commit: str
    cores: int | None
    said: str
    report: dict[str, Any] | None = None


def read_verdicts(folder: Path) -> dict[str, PartVerdict]:
    """Read the verdicts by part; none where no part was ever run.

    Raises:
        ValueError: the file is not what `keep` writes.
    """
    file = folder / FILE
    if not file.exists():
        return {}
    try:
        found = msgspec.json.decode(file.read_bytes(), type=list[PartVerdict])
    except msgspec.DecodeError as error:
        msg = f"{file} holds no verdicts ({error}): take it from the repository's last commit"
        raise ValueError(msg) from None
    return {verdict.part: verdict for verdict in found}


def keep(verdict: PartVerdict, folder: Path, order: Iterable[str]) -> None:
    """Keep a verdict in the place of the part's older one, and write the page anew.

    Args:
        verdict: of the part that was run.
        folder: holds `verdicts.json` and the page.
        order: the names of all parts; what a night no longer has is left out.
    """
    kept = {**read_verdicts(folder), verdict.part: verdict}
    verdicts = [kept[name] for name in order if name in kept]
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps(msgspec.to_builtins(verdicts), ensure_ascii=False, indent=1)
    told = page("nightly.md.j2", verdicts=verdicts)
    write_together(folder, {FILE: text + "\n", PAGE: told})
