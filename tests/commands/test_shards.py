"""Where keys lie does not depend on the process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

_ELSEWHERE = """
import sys
import polars as pl
from tests.unit.engine.test_edges import ELSEWHERE, log_of
from windowing.engine.aggregates.sketches import hashes
from windowing.engine.reading.batches import batches
from windowing.runtime.local import run
from windowing.engine.storage.parcel import shard_of
from windowing.model import parse_pipeline
from windowing.model.rows import row_lines

keys = [None, "", "a", "\\x00", "é😀", "a b", *map(str, range(500))]
frame = pl.DataFrame({"k": keys, "v": [None, *range(-5, 500)], "x": [0.1 * n for n in range(506)]})
print(shard_of(frame, 7).to_list())
print([hashes(frame[name]).to_list() for name in "kvx"])
log = log_of([(n % 97, keys[n % 400]) for n in range(800)])
for line in row_lines(run(parse_pipeline(ELSEWHERE), batches(log, 100)).rows):
    sys.stdout.buffer.write(line.encode() + b"\\n")
"""


def test_another_process_puts_keys_into_the_same_shards_and_says_the_same() -> None:
    """Whatever seed Python hashes with, and however many threads polars has."""
    said = []
    for seed, threads in (("0", "1"), ("1", "4"), ("4711", "2")):
        settings_ = {"PYTHONHASHSEED": seed, "POLARS_MAX_THREADS": threads}
        done = subprocess.run(
            [sys.executable, "-c", _ELSEWHERE],
            env={**os.environ, **settings_},
            cwd=Path(__file__).parents[2],
            capture_output=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr.decode()
        said.append(done.stdout)
    assert len(said[0]) > 10_000
    assert said[1:] == said[:1] * 2
