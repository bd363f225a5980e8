"""How a pipeline file differs from a run's own copy of it: a sentence for each place."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from infra.endpoints import Endpoints
from jobs.runs.folder import Run, as_accepted
from jobs.runs.placement import is_version_of, with_place
from windowing.model import Pipeline, PipelineError, load_pipeline
from windowing.model.errors import shown
from windowing.model.file.user_code import user_classes
from windowing.model.file.yaml_lines import load


def file_differs(endpoints: Endpoints, run: Run, file: Path | None = None) -> list[str] | None:
    """Say how the user's file differs now from the run's own copy; None: it does not.

    Args:
        endpoints: their state folder has the run.
        file: the file to compare with; None: the one that the run was submitted with.
    """
    now = file or run.given
    if now is None or now == run.file:
        return None
    if not now.exists():
        return [f"{now} is gone"]
    if now.read_bytes() == run.file.read_bytes():
        return None
    try:
        own, ours = run.own_pipeline(), as_accepted(endpoints, load_pipeline(now), run.run)
        if is_version_of(own, ours):  # the choice of tables is not an edit by the user
            ours = with_place(ours, own.output, like=own)
        return list(differences(own.text, ours.text)) or None
    except PipelineError as error:
        return [f"{now} breaks a rule now: {error}"]


def other_code(pipeline: Pipeline) -> Iterator[str]:
    """List the fields that name user code: only this can differ between equal files."""
    for class_ in user_classes(pipeline):
        yield (
            f"{'.'.join(map(str, class_.path))}: its class has other code than when the run was "
            "begun, or that of another one here has; if an aggregate's states are the same, "
            f"`slackwater check-aggregate {class_.reference} --against OLD.py` says how the class "
            "declares it, and the run continues"
        )


def differences(before: str, now: str) -> Iterator[str]:
    """List the differences between two pipeline files, by path.

    Their tests are nothing to a run, and of zones it has its own tables.

    Args:
        before: one document, valid as a pipeline.
        now: the other.
    """
    documents = [load(text) for text in (before, now)]
    for document in documents:
        document.pop("tests", None)
        document.pop("zones", None)
    ours, theirs = (dict(_leaves(document)) for document in documents)
    for path in dict.fromkeys([*ours, *theirs]):
        if path not in theirs:
            yield f"{path}: gone, was {shown(ours[path])}"
        elif path not in ours:
            yield f"{path}: new, {shown(theirs[path])}"
        elif ours[path] != theirs[path]:
            yield f"{path}: was {shown(ours[path])}, now {shown(theirs[path])}"
    orders, new_orders = (dict(_orders(document)) for document in documents)
    for path, names in orders.items():
        others = new_orders.get(path, names)
        if names != others and sorted(names) == sorted(others):
            yield f"{path}: in another order, was {', '.join(names)}, now {', '.join(others)}"


_ORDERED = frozenset({"aggregates", "members"})
"""The mappings whose order has a meaning: that of a table's columns, of a generator's members."""


def _orders(value: Any, path: str = "") -> Iterator[tuple[str, list[str]]]:
    """Yield the names in each mapping whose order has a meaning, by path."""
    if not isinstance(value, dict):
        return
    for key, inner in value.items():
        below = f"{path}.{key}" if path else str(key)
        if key in _ORDERED and isinstance(inner, dict):
            yield below, [str(name) for name in inner]
        yield from _orders(inner, below)


def _leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict) and value:
        for key, inner in value.items():
            yield from _leaves(inner, f"{path}.{key}" if path else str(key))
    else:
        yield path, value
