"""Import and check the code that a pipeline file names; mistakes have file and line.

Reading a pipeline file imports no user code, because schedulers read all files constantly. Code
that is about to run a pipeline calls this first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Final

from windowing.model.errors import PipelineError, Problem, WindowError
from windowing.model.expressions.errors import ExpressionError
from windowing.model.fields import Aggregate
from windowing.model.file.pipeline import Pipeline
from windowing.model.file.yaml_lines import Path, line_of, load_with_lines
from windowing.model.operators.file import StepsFile
from windowing.model.operators.query import OperatorQuery
from windowing.model.operators.steps import AggregateStep, Scalar, UserStep
from windowing.model.progress.spelling import PluginGenerator
from windowing.model.query import Query
from windowing.model.registry import PluginError
from windowing.model.user import user_aggregate, user_operator
from windowing.model.user.user_aggregate import UserAggregateError
from windowing.model.user.user_operator import UserOperatorError
from windowing.model.windows.own import OwnWindow

_MISTAKES: Final = (
    *(UserAggregateError, UserOperatorError, PluginError, WindowError, ExpressionError),
)


@dataclass(frozen=True)
class UserClass:
    """A class that a pipeline file names.

    Attributes:
        path: the field that names it.
        reference: `module:Class`.
        settings: of an operator, the arguments of the class; None: it is an aggregate.
    """

    path: Path
    reference: str
    settings: tuple[tuple[str, Scalar], ...] | None = None

    def check(self) -> None:
        """Import the class, and read its source.

        Raises:
            UserAggregateError, UserOperatorError: it cannot be used.
        """
        if self.settings is None:
            user_aggregate.source_digest(self.reference)
        else:
            user_operator.source_digest(self.reference, self.settings)


def user_classes(pipeline: Pipeline) -> Iterator[UserClass]:
    """Yield the classes that a pipeline names, without importing them."""
    for query in pipeline.of(Query):
        yield from _of_aggregates(("queries", query.name), query.aggregates)
    for operators in pipeline.of(OperatorQuery):
        within: Path = ("queries", operators.name)
        several = isinstance(pipeline.query_files[operators.name], StepsFile)
        for number, step in enumerate(operators.windows):
            at: Path = (*within, "steps", number) if several else within
            if isinstance(step, UserStep):
                yield UserClass((*at, "operator"), step.reference, step.settings)
            elif isinstance(step, AggregateStep):
                yield from _of_aggregates(at, step.aggregates)


def plugin_settings(pipeline: Pipeline) -> Iterator[tuple[Path, Callable[[], object]]]:
    """Yield what has a plug-in judge its settings in the file, which reading it does not."""
    for part in pipeline.source.parts:
        for own in (part.format, *part.steps):
            name = "format" if own is part.format else own.name
            if own.of_plugin:
                yield ("source", name), partial(getattr, own, "data")
        for disorder in (part.disorder, *part.disorder_of.values()):
            if isinstance(disorder, PluginGenerator):
                yield ("source", "disorder"), partial(getattr, disorder, "data")
    for flow in pipeline.flows:
        if isinstance(flow.extents_in, OwnWindow):
            at: Path = ("join",) if pipeline.join is not None else ("queries", flow.name)
            yield (*at, "window"), flow.extents_in.made


def _of_aggregates(at: Path, aggregates: Iterable[Aggregate]) -> Iterator[UserClass]:
    for aggregate in aggregates:
        if aggregate.user is not None:
            yield UserClass((*at, "aggregates", aggregate.name), aggregate.user)


def having_of_classes(pipeline: Pipeline) -> Iterator[tuple[Path, Callable[[], object]]]:
    """Yield what checks the types of conditions on rows that name what a class computes."""
    fields = pipeline.source.fields
    for query in pipeline.of(Query):
        if query.having is not None and query.having.uses(query.by_users):
            yield ("queries", query.name, "having"), partial(query.having_types, fields)


def check_user_code(pipeline: Pipeline, file: str) -> None:
    """Import every class that the pipeline names.

    Args:
        file: its file's name, for messages.

    Raises:
        PipelineError: with all classes that cannot be used.
    """
    problems: list[Problem] = []
    checks = [(class_.path, class_.check) for class_ in user_classes(pipeline)]
    for path, check in [*checks, *plugin_settings(pipeline), *having_of_classes(pipeline)]:
        try:
            check()
        except _MISTAKES as error:
            lines = load_with_lines(pipeline.text, file)[1]
            problems.append(
                Problem(file, line_of(path, lines), ".".join(map(str, path)), str(error))
            )
    if problems:
        raise PipelineError(problems)
