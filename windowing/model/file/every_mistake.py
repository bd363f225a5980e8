"""All mistakes of a pipeline file at once, those of queries too where something else is wrong.

Rules across fields need a valid file. So that who has five mistakes need not look five times, what
is wrong is put right as far as one can guess, and what follows from the guess alone is left out.
"""

from __future__ import annotations

from copy import deepcopy
from typing import Any, Final

from pydantic import ValidationError

from windowing.model.errors import Problem, close_to
from windowing.model.file.declared import Declared
from windowing.model.file.documents import known_keys
from windowing.model.file.queries import mistakes, mistakes_of_join
from windowing.model.file.yaml_lines import Path, line_of

_ROUNDS: Final = 5
"""How often a file is put right: some rules are judged only once others hold."""

_PLAUSIBLE: Final[dict[Path, Any]] = {
    ("name",): "x",
    ("source", "topic"): "x",
    ("source", "partitions"): 1_000,
    ("source", "format"): "json",
    ("source", "disorder"): "ordered",
    ("source", "event_time", "unit"): "us",
}
"""What may stand in the place of a value that is wrong or missing, and makes no query wrong."""

_OPTIONAL: Final = {
    *("late", "retention", "early", "accumulation", "shards", "sink", "schedule", "quality"),
    *("upkeep", "tests", "zones"),
}
_OWN: Final = (["window"], ["group_by"], ["aggregates"])
"""Parts of a query whose rules do not depend on what was put right elsewhere."""


def of_queries(declared: Declared, file: str, lines: dict[Path, int]) -> list[Problem]:
    """Return the mistakes in the queries, or in the join, of a file that is valid otherwise."""
    found = [
        one
        for name, query in declared.query_files.items()
        for one in mistakes(declared, name, query)
        if not _is_rest(query, one[0])
    ]
    if declared.join is not None:
        found += mistakes_of_join(declared, declared.join)
    return [
        Problem(file, line_of(path, lines), ".".join(map(str, path)), said)
        for path, said in dict.fromkeys(found)
    ]


def _is_rest(query: Any, path: Path) -> bool:
    """Whether an aggregate is what YAML made of the rest of one with a comma, which is refused.

    `{f: first(v, s)}` is to YAML `{f: "first(v", "s)": null}`.
    """
    if path[2:3] != ("aggregates",) or len(path) < 4:
        return False
    text, written = query.aggregates.get(path[3], ""), query.aggregates.values()
    closes = text is None and str(path[3]).count(")") > str(path[3]).count("(")
    return closes and any(isinstance(one, str) and "(" in one and ")" not in one for one in written)


def besides(
    model: type[Declared], document: Any, file: str, lines: dict[Path, int]
) -> list[Problem]:
    """Return the mistakes in the queries of a file that has others, too."""
    if not isinstance(document, dict) or not isinstance(document.get("queries"), dict):
        return []
    # What a field of unknown type makes wrong is wrong with each type.
    each = [
        {
            (problem.field, problem.message): problem
            for problem in of_queries(mended, file, lines)
            if problem.field.split(".")[2:3] in _OWN
        }
        for kind in ("int", "string")
        if (mended := _mended(model, document, kind)) is not None
    ]
    return [problem for place, problem in each[0].items() if place in each[-1]] if each else []


def _mended(model: type[Declared], document: Any, kind: str) -> Declared | None:
    """Return what the file may have meant; None: nobody can guess."""
    document = deepcopy(document)
    for _ in range(_ROUNDS):
        try:
            return model.model_validate(document)
        except ValidationError as error:
            findings = error.errors()
        # First the names: what is missing may be what is misspelled.
        names = [one for one in findings if one["type"] == "extra_forbidden"]
        for finding in names or findings:
            if not _mend(model, document, finding, kind):
                return None
    return None


def _mend(model: type[Declared], document: Any, finding: Any, kind: str) -> bool:
    """Put one thing right; return whether one could."""
    loc = finding["loc"]
    path: Path = tuple(part for part in loc if not str(part).startswith("["))
    if finding["type"] == "extra_forbidden":
        parent = _at(document, path[:-1])
        close = close_to(path[-1], known_keys(model, loc[:-1]))
        written = parent.pop(path[-1], None)
        if close is not None:
            parent.setdefault(close, written)
        return True
    if path[:1] == ("queries",) and len(path) > 1:
        return document["queries"].pop(path[1], None) is not None or bool(document["queries"])
    if path[:2] == ("source", "fields") and len(path) > 2:
        document["source"]["fields"][path[2]] = kind
        return True
    for place, value in _PLAUSIBLE.items():
        if path[: len(place)] == place and isinstance(parent := _at(document, place[:-1]), dict):
            parent[place[-1]] = value
            return True
    if path and path[0] in _OPTIONAL:
        return document.pop(path[0], None) is not None
    if path[:2] == ("source", "event_time") and path[2:] and path[2] != "field":
        return _at(document, path[:2]).pop(path[2], None) is not None
    return False


def _at(document: Any, path: Path) -> Any:
    for part in path:
        document = document.get(part) if isinstance(document, dict) else document[int(part)]
    return document
