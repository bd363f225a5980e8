"""Run a changed pipeline over the log of a running one, to see what would change."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from chaos.readers.output import Output
from chaos.replay.run import ReplayError
from chaos.reports.pages import page, write_report
from chaos.verdict.contrast import Contrast, contrast
from windowing.model import Pipeline

Reasons = Mapping[str, int]


@dataclass(frozen=True)
class Shadow:
    """The differences between two pipelines on the same range of a log.

    Attributes:
        dead: dead letters by reason, of the old and the new pipeline.
    """

    old: str
    new: str
    records: int
    windows: Contrast
    dead: tuple[Reasons, Reasons]

    def lines(self) -> list[str]:
        """Return the counts as text."""
        before, after = (sum(reasons.values()) for reasons in self.dead)
        lines = [f"dead letters: {before:,} before, {after:,} after"]
        for reason in sorted({*self.dead[0], *self.dead[1]}):
            counts = tuple(reasons.get(reason, 0) for reasons in self.dead)
            if counts[0] != counts[1]:
                lines.append(f"  {reason}: {counts[0]:,} before, {counts[1]:,} after")
        return [*lines, self.windows.summary()]

    def as_data(self) -> dict[str, Any]:
        """Return the result as plain data, with every differing window."""
        return {
            "old": self.old,
            "new": self.new,
            "records": self.records,
            "dead_letters": {"before": dict(self.dead[0]), "after": dict(self.dead[1])},
            **self.windows.as_data(),
        }


def shadow(old: Pipeline, new: Pipeline, records: int, run: Callable[[Pipeline], Output]) -> Shadow:
    """Run two pipelines over the same range.

    `run` runs a pipeline over that range, which has `records`.

    Raises:
        ReplayError: they do not read the same log.
    """
    sources = [(p.source.topic, p.source.partitions) for p in (old, new)]
    if sources[0] != sources[1]:
        topics = " and ".join(f"{topic!r} with {lanes} partitions" for topic, lanes in sources)
        msg = f"a shadow reads the log of the pipeline that it might replace; these read {topics}"
        raise ReplayError(msg)
    outputs = run(old), run(new)
    names = ("as it runs", "as it would")
    reasons = [Counter(json.loads(line)["reason"] for _, line in o.dead) for o in outputs]
    windows = contrast(outputs[0].rows, outputs[1].rows, names=names)
    return Shadow(old.name, new.name, records, windows, (reasons[0], reasons[1]))


def write_shadow(found: Shadow, folder: Path) -> Path:
    """Write `shadow.html` and `shadow.json`; return the page's path."""
    html = page("shadow.html.j2", shadow=found)
    return write_report(folder, "shadow", found.as_data(), html)
