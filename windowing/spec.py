"""What a pipeline is, under the name that users import: `windowing.model`."""

from windowing.model import (
    Pipeline,
    PipelineError,
    Problem,
    Query,
    Window,
    WindowError,
    load_pipeline,
    parse_pipeline,
)

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
