"""What a pipeline is: the pipeline file and the window language, validated and frozen.

Depends only on pydantic, PyYAML and croniter, so that Airflow can read pipelines while it parses
DAGs. Reading a file is cheap whatever it contains, and runs no user code.
"""

from windowing.model.errors import PipelineError, Problem, WindowError
from windowing.model.file.pipeline import Pipeline, Query, load_pipeline, parse_pipeline
from windowing.model.windows.window import Window

__all__ = [
    "Pipeline",
    "PipelineError",
    "Problem",
    "Query",
    "Window",
    "WindowError",
    "load_pipeline",
    "parse_pipeline",
]
