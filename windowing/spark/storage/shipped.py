"""Pipeline files on their way to workers: Spark sends them with every task of every batch.

A file of ten thousand queries is larger than Spark sends with a task (it would broadcast it, which
stateful operators cannot read), and repeats itself: compressed, it is a twentieth.
"""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Mapping
from functools import lru_cache

from windowing.model import Pipeline, parse_pipeline


def packed(text: str, secrets: Mapping[str, str] | None = None) -> bytes:
    """Return a pipeline file for tasks to carry.

    Args:
        secrets: variables of the secrets that its control records are signed with: workers have
            the environment of their cluster, not the job's.
    """
    return zlib.compress(json.dumps([text, dict(secrets or {})]).encode())


@lru_cache(maxsize=256)
def unpacked(data: bytes) -> Pipeline:
    """Return the pipeline of what `packed` returned; each worker reads it once."""
    text, secrets = json.loads(zlib.decompress(data))
    os.environ.update(secrets)
    return parse_pipeline(text)
