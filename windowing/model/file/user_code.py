"""Import and check the code that a pipeline file names; mistakes have file and line.

Reading a pipeline file imports no user code, because schedulers read all files constantly. Code
that is about to run a pipeline calls this first.
"""

from __future__ import annotations

from windowing.model.errors import PipelineError, Problem
from windowing.model.file.pipeline import Pipeline
from windowing.model.file.yaml_lines import line_of, load_with_lines
from windowing.model.user.user_aggregate import UserAggregateError, source_digest


def check_user_code(pipeline: Pipeline, file: str) -> None:
    """Import every class that the pipeline's aggregates name.

    Args:
        pipeline: as parsed.
        file: its file's name, for messages.

    Raises:
        PipelineError: with all classes that cannot be used.
    """
    problems: list[Problem] = []
    for query in pipeline.queries:
        for aggregate in query.aggregates:
            if aggregate.user is None:
                continue
            try:
                source_digest(aggregate.user)
            except UserAggregateError as error:
                path = ("queries", query.name, "aggregates", aggregate.name)
                lines = load_with_lines(pipeline.text, file)[1]
                problems.append(Problem(file, line_of(path, lines), ".".join(path), str(error)))
    if problems:
        raise PipelineError(problems)
