"""A custom sink: files of lines for each batch, its token last."""

import json

from windowing.model.rows import dead_letter_line, row_line
from windowing.runtime.token import Kept, Tables, admit
from windowing.spark.sinks import MemorySink, sink
from windowing.spark.sinks.tokens import token_rows, tokens_of


@sink("lines")
class LinesSink:
    """Writes RUN/BATCH.jsonl, .dead.jsonl and .token; what has no token is written again."""

    def __init__(self, place):
        self._place, self._folder = place, place.folder / place.run
        self._folder.mkdir(parents=True, exist_ok=True)

    open = classmethod(lambda cls, place: cls(place))
    clashes = additions = classmethod(lambda cls, pipeline, name, folder_of: [])
    latest = classmethod(lambda cls, pipeline: f"{pipeline.name} writes files of lines")

    def write(self, batch, batch_id):
        self.take([(kind, query, bytes(data)) for kind, query, data in batch.collect()], batch_id)

    def take(self, frames, batch_id):
        run, memory = self._place, MemorySink(self._place.pipeline, self._place.token_of)
        memory.take(frames, batch_id)
        token, held = memory.tokens[batch_id], self.kept(run.pipeline, run.folder, run.run).tokens
        admit(token, held, str(self._folder))  # raises unless it comes next, or is here already
        if batch_id not in held:
            self._put(f"{batch_id}.jsonl", map(row_line, memory.output.rows))
            self._put(f"{batch_id}.dead.jsonl", map(dead_letter_line, memory.output.dead_letters))
            self._put(f"{batch_id}.token", [json.dumps(token_rows(run.run, token).to_pylist())])

    def _put(self, name, lines):
        (self._folder / "part").write_text("".join(f"{line}\n" for line in lines))
        (self._folder / "part").rename(self._folder / name)

    @classmethod
    def kept(cls, pipeline, folder, run, since=0):
        written = (json.loads(file.read_text()) for file in (folder / run).glob("*.token"))
        tokens = tokens_of(row for rows in written for row in rows if row["batch_id"] >= since)
        return Tables(str(folder), tokens, {"lines": Kept(max(tokens, default=None))})
