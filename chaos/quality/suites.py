"""Convert entries of a `quality` block to Great Expectations' expectations, or to clear errors.

Importing this module imports Great Expectations, which takes seconds, and registers our own
expectations with it.
"""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import Any, Final

import great_expectations.expectations  # noqa: F401 - registers those that GX brings
from great_expectations.compatibility import pydantic
from great_expectations.exceptions import ExpectationNotFoundError
from great_expectations.expectations.expectation import Expectation
from great_expectations.expectations.registry import (
    get_expectation_impl,
    list_registered_expectation_implementations,
)

import chaos.quality.expectations  # noqa: F401 - registers ours
from chaos.quality.block import Check
from chaos.quality.columns import window_columns
from chaos.quality.evidence import Evidence
from chaos.quality.expectation import (
    COMPLETE,
    CONSERVED,
    EXPECTATIONS,
    FRESH,
    OF_COUNTS,
    OF_REVISIONS,
    PLAUSIBLE,
    REVISIONS,
    WINDOW_SET,
)
from chaos.quality.finality import NOTHING_DUE
from chaos.quality.numbers import periods_of
from windowing.model.errors import PipelineError, Problem
from windowing.model.file.pipeline import Pipeline

POSITION: Final = "quality_entry"
"""Key in an expectation's `meta`: its position in the block, from 0."""


def validate(pipeline: Pipeline, checks: list[Check], file: str) -> None:
    """Create the expectation of every entry, without evidence, to find errors.

    Raises:
        PipelineError: with every entry whose name or arguments Great Expectations does not know.
    """
    names = [query.name for query in pipeline.flows]
    nothing = Evidence(dict.fromkeys(names, Path()), 0, dict.fromkeys(names, NOTHING_DUE))
    problems: list[Problem] = []
    for at, check in enumerate(checks):
        try:
            expectation(pipeline, check, at, nothing, file)
        except PipelineError as error:
            problems += error.problems
    if problems:
        raise PipelineError(problems)


def expectation(
    pipeline: Pipeline, check: Check, at: int, evidence: Evidence, file: str
) -> Expectation:
    """Create one entry's expectation.

    The entry is the block's number `at`, from 0; messages name the pipeline's `file`.

    Raises:
        PipelineError: the expectation does not exist, or does not take these arguments.
    """
    try:
        class_ = _class_of(check.expectation)
    except ValueError as error:
        raise PipelineError([Problem(file, check.line, check.field, str(error))]) from None
    arguments = {**check.arguments, **_supplied(pipeline, check, evidence)}
    try:
        return class_(**arguments, meta={POSITION: at})
    except pydantic.ValidationError as error:
        problem = Problem(file, check.line, check.field, _why(error, check))
        raise PipelineError([problem]) from None
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        # Some access an argument before checking its type.
        msg = f"{check.expectation} does not take these arguments: {type(error).__name__}: {error}"
        raise PipelineError([Problem(file, check.line, check.field, msg)]) from None


def _class_of(name: str) -> type[Expectation]:
    """Return the expectation of this name: ours, a plug-in's, or Great Expectations'.

    Raises:
        PluginError: a plug-in's cannot be imported, or is not an expectation.
        ValueError: no such expectation.
    """
    if name in EXPECTATIONS:
        return EXPECTATIONS[name]
    try:
        class_: type[Expectation] = get_expectation_impl(name)
    except ExpectationNotFoundError:
        known = sorted({*list_registered_expectation_implementations(), *EXPECTATIONS})
        near = difflib.get_close_matches(name, known, n=3)
        ours = f"look it up in their gallery; ours are {', '.join(sorted(EXPECTATIONS))}"
        hint = f"did you mean {' or '.join(near)}?" if near else ours
        msg = f"{name!r} is no expectation of Great Expectations or of ours: {hint}"
        raise ValueError(msg) from None
    return class_


def _supplied(pipeline: Pipeline, check: Check, evidence: Evidence) -> dict[str, Any]:
    if check.expectation == CONSERVED:
        return {"read": evidence.read}
    if check.expectation in OF_COUNTS:
        return {}
    query = next(query for query in pipeline.flows if query.name == check.query)
    if check.expectation == WINDOW_SET:
        return {"expected": str(evidence.windows[query.name])}
    if check.expectation == REVISIONS:
        with_holes = query.having is not None
        return {"window_columns": window_columns(query), "with_holes": with_holes}
    if check.expectation in OF_REVISIONS:
        return {"window_columns": window_columns(query)}
    if check.expectation == COMPLETE:
        return {"periods": periods_of(query)}
    if check.expectation == PLAUSIBLE:
        parts = [part.event_time for part in pipeline.source.parts]
        return {
            "unit": parts[0].spelling.name,
            "first_us": min(part.plausible_us[0] for part in parts),
            "end_us": max(part.plausible_us[1] for part in parts),
            "progress": dict(evidence.progress),
        }
    if check.expectation == FRESH and check.arguments.get("relative_to", "log") == "log":
        return {"reference": evidence.reached[query.name]}
    return {}


def _why(error: Any, check: Check) -> str:
    """Describe each invalid argument once; a type with several forms is one finding."""
    findings: dict[str, str] = {}
    for finding in error.errors():
        findings.setdefault(str(finding["loc"][0]), finding["msg"])
    if len(findings) > 1:  # a rule over all arguments also fails if one is invalid
        findings.pop("__root__", None)
    parts = []
    for name, message in findings.items():
        value = f" ({check.arguments[name]!r})" if name in check.arguments else ""
        parts.append(message if name == "__root__" else f"{name}{value}: {message}")
    return f"{check.expectation} does not take these arguments: {'; '.join(parts)}"
