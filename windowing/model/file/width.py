"""Change the number of shards of a pipeline and in the text of its file."""

from __future__ import annotations

import yaml

from windowing.model.file.pipeline import Pipeline, parse_pipeline


def with_shards(pipeline: Pipeline, shards: int) -> Pipeline:
    """Return the pipeline with its keys spread over this many shards.

    Args:
        pipeline: the pipeline; its checkpoints are not the result's.
        shards: how many.

    Raises:
        PipelineError: that number of shards is not allowed.
    """
    document = {**yaml.safe_load(pipeline.text), "shards": shards}
    text = yaml.safe_dump(document, sort_keys=False, allow_unicode=True, width=100)
    return parse_pipeline(text, f"{pipeline.name} with {shards} shards")
