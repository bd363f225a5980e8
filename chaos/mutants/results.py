"""What became of each mutant: a line per judgement in a file, for the page of the nights."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Literal

import msgspec
import yaml

from chaos.mutants.draw import Mutant

FILE = "mutants.jsonl"
EQUIVALENT = Path(__file__).with_name("equivalent.yml")

Fate = Literal["killed by tests", "killed by simulation", "survived", "gone"]
"""Gone: the lines that the mutant changed are no longer there."""


class MutantVerdict(msgspec.Struct, frozen=True, omit_defaults=True):
    """One judgement of one mutant.

    Attributes:
        drawn: the commit from which it was drawn.
        judged: the commit whose tests judged it.
        fate: what became of it.
        said: the last line of what killed it.
        difference: how a survivor differs from the code.
    """

    mutant: Mutant
    drawn: str
    judged: str
    fate: Fate
    said: str = ""
    difference: str = ""

    @property
    def killed(self) -> bool:
        """Whether a test or a simulated run failed."""
        return self.fate.startswith("killed")

    @property
    def change(self) -> str:
        """The lines that differ, as `equivalent.yml` quotes them."""
        lines = self.difference.splitlines()
        return "\n".join(line for line in lines[2:] if line[0] in "+-")


class Equivalent(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A mutant that computes the same, with the proof.

    Attributes:
        change: the lines that differ, each with its `-` or `+`.
        proof: a sentence that a reader can check.
    """

    file: str
    change: str
    proof: str


def read_judged(folder: Path) -> list[MutantVerdict]:
    """Read the newest judgement of each mutant; those whose lines are gone are left out."""
    file = folder / FILE
    if not file.exists():
        return []
    found = {}
    for line in file.read_bytes().splitlines():
        judged = msgspec.json.decode(line, type=MutantVerdict)
        found[judged.mutant, judged.drawn] = judged
    return [judged for judged in found.values() if judged.fate != "gone"]


def append(judged: MutantVerdict, folder: Path) -> None:
    """Write a judgement to the end of the file."""
    with (folder / FILE).open("ab") as file:
        file.write(msgspec.json.encode(judged) + b"\n")


def read_equivalent(file: Path = EQUIVALENT) -> list[Equivalent]:
    """Read the mutants that are excluded, each with its proof."""
    return msgspec.convert(yaml.safe_load(file.read_text(encoding="utf-8")), list[Equivalent])


def proof_of(judged: MutantVerdict, equivalent: Iterable[Equivalent]) -> str:
    """Return why a survivor computes the same; empty: nobody has shown it."""
    for one in equivalent:
        if (one.file, one.change.strip()) == (judged.mutant.file, judged.change.strip()):
            return one.proof
    return ""


def score(judged: Iterable[MutantVerdict]) -> str:
    """Return how many were killed, of all: exclusions take nothing off."""
    fates = [one.killed for one in judged]
    share = f" ({100 * sum(fates) / len(fates):.1f} %)" if fates else ""
    return f"{sum(fates)} of {len(fates)} killed{share}"
