"""The newest verdict of each part of the nightly runs, as JSON and as one page."""

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
    """The verdict on one part.

    Attributes:
        part: its name.
        outcome: passed, failed, or unknown (a fault did not take effect).
        began: start time, UTC, to the second.
        seconds: duration.
        commit: the checkout's commit; ends in `+` if files differed from it.
        cores: number of cores of the machine.
        said: the last line of output.
        report: for a chaos plan, its checks and faults.
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
    """Read the verdicts by part; empty if no part was ever run.

    Raises:
        ValueError: the file was not written by `keep`.
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
    """Replace a part's older verdict, and rewrite the page.

    Args:
        verdict: the new verdict.
        folder: folder of `verdicts.json` and the page.
        order: the names of all parts; verdicts on other parts are dropped.
    """
    kept = {**read_verdicts(folder), verdict.part: verdict}
    verdicts = [kept[name] for name in order if name in kept]
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps(msgspec.to_builtins(verdicts), ensure_ascii=False, indent=1)
    told = page("nightly.md.j2", verdicts=verdicts)
    write_together(folder, {FILE: text + "\n", PAGE: told})
