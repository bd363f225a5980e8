"""Lines of a log that are made to hurt: each is a dead letter or exit 2 with its line, soon.

A sound envelope with a bad value is a dead letter, and engine and definition agree on it; anything
else breaks the file.
"""

import json
import resource
import subprocess
import sys
import time
from pathlib import Path

from tests.bounds import within
from tests.unit.slackwater.pipelines import EVENTS, written

HEAD = b'{"source":"t","partition":0,"offset":9,'
GOOD = b'{"ts":50,"k":"a","v":1}'
SOUND = {
    "deep arrays": b'"value":' + b"[" * 1_000_000 + b"]" * 1_000_000,
    "deep objects": b'"value":' + b'{"a":' * 300_000 + b"1" + b"}" * 300_000,
    "deep in a field": b'"value":{"ts":50,"k":"a","v":' + b"[" * 50_000 + b"]" * 50_000 + b"}",
    "a name twice": b'"value":{"ts":50,"k":"a","v":1,"v":2,"ts":"x","ts":51}',
    "a name twice, the last is bad": b'"value":{"ts":50,"k":"a","v":1,"v":"2"}',
    "a long number": b'"value":{"ts":50,"k":"a","v":' + b"9" * 1_000_000 + b"}",
    "a long time": b'"value":{"ts":' + b"9" * 1_000_000 + b',"k":"a","v":1}',
    "a large exponent": b'"value":{"ts":50,"k":"a","v":1e999999999}',
    "a long fraction": b'"value":{"ts":50,"k":"a","v":0.' + b"1" * 1_000_000 + b"}",
    "not UTF-8": b'"value":{"ts":50,"k":"\xff\xfe","v":1}',
    "overlong UTF-8": b'"value":{"ts":50,"k":"\xc0\x80","v":1}',
    "a lone surrogate": b'"value":{"ts":50,"k":"\\ud800","v":1}',
    "an escaped NUL": b'"value":{"ts":50,"k":"\\u0000","v":1}',
    "NaN": b'"value":{"ts":50,"k":"a","v":NaN}',
    "a long string": b'"value":{"ts":50,"k":"' + b"a" * 5_000_000 + b'","v":1}',
    "many fields": b'"value":{' + b",".join(b'"f%d":1' % n for n in range(100_000)) + b"}",
    "raw text with a NUL": b'"raw":"{\\"ts\\":50,\\"k\\":\\"a\\u0000\\",\\"v\\":1}"',
    "raw text with a byte order mark": b'"raw":"\\ufeff{\\"ts\\":50,\\"k\\":\\"a\\",\\"v\\":1}"',
    "spaces": b' "value" \t: ' + b" " * 1_000_000 + GOOD,
}
BROKEN = {
    "NUL in a string": HEAD + b'"value":{"ts":50,"k":"\x00","v":1}}',
    "a line of NULs": bytes(1000),
    "a byte order mark": b"\xef\xbb\xbf" + HEAD + b'"value":' + GOOD + b"}",
    "UTF-16": (HEAD + b'"value":1}').decode().encode("utf-16"),
    "an offset twice": HEAD + b'"offset":10,"value":' + GOOD + b"}",
    "an offset twice, spelled apart": HEAD + b'"\\u006fffset":10,"value":' + GOOD + b"}",
    "a value twice": HEAD + b'"value":1,"value":' + GOOD + b"}",
    "a long offset": b'{"source":"t","partition":0,"offset":' + b"9" * 100_000 + b',"value":1}',
    "an append time beyond 64 bits": HEAD + b'"append_us":9223372036854775808,"value":1}',
    "open brackets": HEAD + b'"value":' + b"[" * 1_000_000,
    "an open string": HEAD + b'"value":"' + b"a" * 1_000_000,
    "too long a line": HEAD + b'"value":"' + b"a" * (65 << 20) + b'"}',
    "an endless line of spaces": b" " * (65 << 20),
    "an empty line": b"",
}
SECONDS, BYTES = 20.0, 3 << 30  # of a loaded machine; and of address space, libraries included


ONE_BY_ONE = """
import json
from typer.testing import CliRunner
from slackwater.main import app
for words in {runs}:
    done = CliRunner().invoke(app, ["run", *words])
    print(json.dumps([done.exception.exit_code, str(done.exception)]))
"""
"""Several files in one process, which has to stay within the limits with all of them."""


def slackwater(*arguments: object) -> tuple[int, str]:
    return python("-m", "slackwater.main", *map(str, arguments), seconds=SECONDS)


def python(*words: str, seconds: float) -> tuple[int, str]:
    with within(seconds, time.monotonic):
        ran = subprocess.run(
            [sys.executable, *words],
            capture_output=True,
            text=True,
            check=False,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, (BYTES, BYTES)),
        )
    return ran.returncode, ran.stdout + ran.stderr


def test_a_bad_value_is_a_dead_letter_and_the_definition_agrees(tmp_path: Path) -> None:
    pipeline, events = written(tmp_path)
    with events.open("ab") as file:
        for offset, content in enumerate(SOUND.values(), 100):
            file.write(HEAD.replace(b"9,", b"%d," % offset) + content + b"}\n")
    out = tmp_path / "out.jsonl"
    code, said = slackwater("run", pipeline, "--input", events, "--output", out)
    assert code == 0, said[:2000]
    code, said = slackwater("verify", pipeline, "--input", events, "--output", out)
    assert code == 0, said[:2000]
    dead = (tmp_path / "out.dead.jsonl").read_text().count('"query":null')
    assert 12 <= dead < len(SOUND) + 1


def test_a_broken_envelope_names_its_line(tmp_path: Path) -> None:
    runs = []
    for place, content in enumerate(BROKEN.values()):
        folder = tmp_path / str(place)
        folder.mkdir()
        pipeline, events = written(folder)
        with events.open("ab") as file:
            file.write(content + b"\n")
        runs.append([str(pipeline), "--input", str(events), "--output", str(folder / "out.jsonl")])
    code, said = python("-c", ONE_BY_ONE.format(runs=runs), seconds=SECONDS + len(runs))
    assert code == 0, said[-2000:]
    for name, run, line in zip(BROKEN, runs, said.splitlines(), strict=True):
        exit_code, sentence = json.loads(line)
        assert exit_code == 2, (name, sentence[:2000])
        assert sentence.startswith(f"{run[2]}:{len(EVENTS) + 1}: "), (name, sentence)
        assert len(sentence) < 1000, name
        assert not Path(run[4]).exists(), name
