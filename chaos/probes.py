"""Keep what a probe found, and say whether it is what was found before."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from chaos.reports.pages import page, write_together
from jobs.live_engines.findings import (
    sample,
    spelled_input,
    spelled_reports,
    spelled_starts,
)

FILE, PAGE = "probes.json", "README.md"

Probe = dict[str, Any]
"""What a probe found, as `jobs.live_engines.findings` gives it."""


class TableError(ValueError):
    """A table that cannot be read."""

    exit_code = 2


def read_probes(folder: Path) -> list[Probe]:
    """Read the table; empty if there is none.

    Raises:
        TableError: the file was not written by `keep`.
    """
    file = folder / FILE
    if not file.exists():
        return []
    try:
        found: list[Probe] = json.loads(file.read_text(encoding="utf-8"))
        {_name(one): one for one in found}
    except (ValueError, TypeError, KeyError) as error:
        msg = f"{file} holds no probes ({error}): take it from the repository's last commit"
        raise TableError(msg) from None
    return found


def keep(probe: Probe, folder: Path) -> Probe | None:
    """Put a probe into the table, and rewrite the page; return the entry that it replaces.

    Of the evidence only the sample is kept. Nothing is written if the entry is as it was.
    """
    new = {**probe, "evidence": sample(probe), "inputs": len(probe["evidence"])}
    known = {_name(one): one for one in read_probes(folder)}
    old = known.get(_name(new))
    if new == old:
        return old
    known[_name(new)] = new
    found = [known[name] for name in sorted(known)]
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps(found, ensure_ascii=False, indent=1)
    write_together(folder, {FILE: text + "\n", PAGE: _page(found)})
    return old


def differences(old: Probe, new: Probe) -> list[str]:
    """Say in what two probes of one engine differ; its version and the inputs are no difference."""
    left_out = {"version", "evidence", "inputs", "title"}
    names = [name for name in {**old, **new} if name not in left_out]
    return [
        f"{name}: {old.get(name)} | {new.get(name)}"
        for name in names
        if old.get(name) != new.get(name)
    ]


def _name(probe: Probe) -> tuple[str, str, str]:
    return probe["engine"], probe["mode"], probe["windows"]


def _page(found: Sequence[Probe]) -> str:
    return page(
        "probes.md.j2",
        probes=found,
        starts=spelled_starts,
        spelled_input=spelled_input,
        spelled_reports=spelled_reports,
    )
