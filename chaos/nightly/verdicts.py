"""The newest verdict of each part of the nightly runs, as JSON, as one page, and in a line."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from chaos.mutants.results import MutantVerdict, proof_of, read_equivalent, read_judged, score
from chaos.nightly.parts import Part, digest
from chaos.reports.pages import page, write_together
from chaos.verdict.check import Outcome

FILE, PAGE = "verdicts.json", "README.md"
FOLDER = Path("docs") / "nightly"
"""The folder of the committed page, relative to the checkout."""

_README = Path("README.md")
_LINE = re.compile(r"(?<=<!-- nights -->).*?(?=<!-- /nights -->)", re.DOTALL)


class PartVerdict(msgspec.Struct, frozen=True, omit_defaults=True):
    """The verdict on one part.

    Attributes:
        outcome: passed, failed, or unknown (a fault did not take effect, or it did not finish).
        began: start time, UTC, to the second.
        commit: the checkout's commit; ends in `+` if files differed from it.
        said: the last line of output.
        report: for a chaos plan, its checks and faults.
        engine: digest of the files that it judged; empty: not known.
        seed: the seed that it drew, if it draws.
    """

    part: str
    outcome: Outcome
    began: str
    seconds: float | None
    commit: str
    cores: int | None
    said: str
    report: dict[str, Any] | None = None
    engine: str = ""
    seed: int | None = None
    finished: bool = True


@dataclass(frozen=True)
class Row:
    """A part and what is known of it.

    Attributes:
        verdict: its newest verdict; None: it was never run.
        outdated: whether that is about other code than there is now.
    """

    name: str
    verdict: PartVerdict | None
    outdated: bool


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


def keep(verdict: PartVerdict, folder: Path, parts: Sequence[Part]) -> None:
    """Replace a part's older verdict, and rewrite the page.

    A part that did not finish replaces no verdict on the same code.

    Args:
        folder: folder of `verdicts.json` and the page.
        parts: all parts; verdicts on others are dropped.
    """
    kept = read_verdicts(folder)
    older = kept.get(verdict.part)
    if verdict.finished or older is None or older.engine != verdict.engine:
        kept[verdict.part] = verdict
    found = [kept[part.name] for part in parts if part.name in kept]
    text = json.dumps(msgspec.to_builtins(found), ensure_ascii=False, indent=1)
    folder.mkdir(parents=True, exist_ok=True)
    write_together(folder, {FILE: text + "\n"})
    write_page(folder, parts)


def write_page(folder: Path, parts: Sequence[Part]) -> None:
    """Write the page again; with the committed one, also the line of the project's README."""
    found, mutants = rows(parts, read_verdicts(folder)), read_judged(folder)
    write_together(folder, {PAGE: page_of(found, mutants)})
    if folder == FOLDER:
        text = _README.read_text(encoding="utf-8")
        write_together(Path(), {_README.name: with_line(text, found, mutants)})


def rows(parts: Sequence[Part], verdicts: dict[str, PartVerdict]) -> list[Row]:
    """Return what is known of each part, compared with the code as it is now."""
    now = {part.judges: digest(part.judges) for part in parts}
    found = []
    for part in parts:
        verdict = verdicts.get(part.name)
        outdated = verdict is not None and verdict.engine != now[part.judges]
        found.append(Row(part.name, verdict, outdated))
    return found


def page_of(found: Sequence[Row], mutants: Sequence[MutantVerdict]) -> str:
    """Return the page of all parts, and of what became of mutants."""
    equivalent = read_equivalent()
    survivors = [(one, proof_of(one, equivalent)) for one in mutants if not one.killed]
    survivors.sort(key=lambda pair: (pair[1], pair[0].mutant.file, pair[0].mutant.line))
    line = _line(found, mutants, "the nights")
    return page("nightly.md.j2", rows=found, line=line, score=score(mutants), survivors=survivors)


def with_line(text: str, found: Sequence[Row], mutants: Sequence[MutantVerdict]) -> str:
    """Return a text with the line between `<!-- nights -->` and `<!-- /nights -->` as it is now."""
    line = _line(found, mutants, f"[the nights]({(FOLDER / PAGE).as_posix()})")
    return _LINE.sub(lambda _: line, text)


def _line(found: Sequence[Row], mutants: Sequence[MutantVerdict], nights: str) -> str:
    known = [row.verdict for row in found if row.verdict is not None and not row.outdated]
    counts = dict.fromkeys(Outcome, 0)
    for verdict in known:
        counts[verdict.outcome] += 1
    outdated = sum(row.outdated for row in found)
    never = sum(row.verdict is None for row in found)
    return (
        f"Of {len(found)} parts of {nights}, {counts[Outcome.passed]} passed, "
        f"{counts[Outcome.failed]} failed and {counts[Outcome.unknown]} are unknown with the "
        f"engine as it is now; {outdated} are *outdated*: they judged an engine before it; "
        f"{never} were never run. Of the engine's mutants: {score(mutants)}."
    )


def oldest(
    parts: Sequence[Part],
    verdicts: dict[str, PartVerdict],
    unable: AbstractSet[str] = frozenset(),
    until: float | None = None,
) -> Part | None:
    """Choose the part to run next: changed code before unchanged, then the oldest evidence.

    Args:
        unable: names of parts that cannot run.
        until: when the night is over, on the monotonic clock: a part that took longer the last
            time than what is left is not begun.

    Returns:
        None if no part can be run in what is left of the night.
    """
    left_s = float("inf") if until is None else until - time.monotonic()
    if left_s <= 0:
        return None
    due = [
        (row.verdict is not None and not row.outdated, row.verdict.began if row.verdict else "", n)
        for n, row in enumerate(rows(parts, verdicts))
        if row.name not in unable
        and (row.verdict is None or (row.verdict.seconds or 0.0) <= left_s)
    ]
    return parts[min(due)[2]] if due else None
