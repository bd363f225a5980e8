"""`slackwater test`: the tests in pipeline files, run on the engine and by the definition."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from slackwater.console import FAILED, PASSED, USAGE, bar, complain, say, tell
from slackwater.limited import check_classes
from slackwater.noted import why_missing
from slackwater.places import check_places

if TYPE_CHECKING:
    from chaos.file_tests.matching import Found, Part
    from chaos.file_tests.reading import ReadTest
    from chaos.reports.junit import Case
    from windowing.model import Pipeline
    from windowing.runtime.local import LocalEngine

_BATCH_ROWS: Final = 50_000
_SUFFIXES: Final = (".yml", ".yaml")


@dataclass(frozen=True)
class Tested:
    """A test, and what came of it.

    Attributes:
        lines: what is wrong, for people; none if it has passed.
        error: whether it came to no result.
    """

    file: Path
    pipeline: str
    test: ReadTest
    seconds: float
    lines: tuple[str, ...] = ()
    error: bool = False

    @property
    def head(self) -> str:
        """The outcome, the name and the place of the test."""
        outcome = "ERROR " if self.error else "FAILED" if self.lines else "passed"
        return f"{outcome}  {self.test.name}  ({self.file}:{self.test.line})"

    @property
    def case(self) -> Case:
        """The same for JUnit XML."""
        from chaos.reports.junit import Case

        bad = "error" if self.error else "failure" if self.lines else None
        return Case(
            self.pipeline,
            self.test.name,
            bad,  # type: ignore[arg-type]
            self.lines[0] if self.lines else "",
            "\n".join(self.lines),
            str(self.file),
            self.test.line,
            self.seconds,
        )


def test(
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[FILES]...",
            help="Pipeline files, or folders of them; default: the project's pipelines.",
            show_default=False,
        ),
    ] = None,  # noqa: PT028 - a command
    only: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Only the tests whose names contain this."),
    ] = None,  # noqa: PT028 - a command
    junit: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the results as JUnit XML, too.")
    ] = None,  # noqa: PT028 - a command
) -> None:
    """Run the tests that pipeline files hold; each also compares the engine with the definition.

    A test gives a log and says which rows, dead letters and counts it has to give: pipelines/
    README.md. Exit code 0: all passed, 1: one failed, 2: a file, or what it says, is wrong.
    """
    paths = [*_pipelines(files)]
    check_places({"--junit": junit}, {f"the pipeline {path}": path for path in paths})
    asked = _asked(paths, only)
    results = list[Tested]()
    with bar("test", sum(len(tests) for _, _, tests in asked)) as progress:
        for path, spec, tests in asked:
            for one in tests:
                found = _tested(path, spec, one)
                results.append(found)
                say(found.head)
                for line in found.lines:
                    say(f"  {line}")
                progress.advance(progress.task_ids[0])
    if junit is not None:
        _write(junit, results)
    failed = sum(bool(one.lines) for one in results)
    say(f"{len(results) - failed} passed, {failed} failed")
    raise typer.Exit(FAILED if failed else PASSED)


def _pipelines(files: Sequence[Path] | None) -> Iterator[Path]:
    """Yield the pipeline files that are meant.

    Raises:
        Exit: there is none.
    """
    from infra.layout import default_layout

    if not files:
        pipelines = default_layout().pipelines
        # The shorter name, for people, where there is one.
        with suppress(ValueError):
            pipelines = pipelines.relative_to(Path.cwd())
        files = [pipelines]
    for path in files:
        if not path.is_dir():
            yield path
            continue
        within = sorted(one for one in path.iterdir() if one.suffix in _SUFFIXES)
        if not within:
            complain(f"{path} has no pipeline file: name one, as pipelines/mine.yml")
            raise typer.Exit(USAGE)
        yield from within


def _asked(
    paths: Sequence[Path], only: str | None
) -> list[tuple[Path, Pipeline, Sequence[ReadTest]]]:
    """Read all files, before any test is run.

    Raises:
        PipelineError: with everything that is wrong in them.
        Exit: there is no such test.
    """
    from chaos.file_tests.reading import read_tests
    from windowing.model import PipelineError, load_pipeline

    found, problems = [], []
    for path in paths:
        try:
            spec = load_pipeline(path)
            tests = read_tests(spec, path)
            check_classes(spec, path)
        except PipelineError as error:
            problems += error.problems
        else:
            found.append((path, spec, tests))
    if problems:
        raise PipelineError(problems)
    names = [one.name for _, _, tests in found for one in tests]
    chosen = [
        (path, spec, [one for one in tests if only is None or only in one.name])
        for path, spec, tests in found
    ]
    if not names:
        files = ", ".join(map(str, paths))
        complain(
            f"{files}: no test: add one under tests:, as "
            "tests: {one record: {given: ['t/0 0 {\"ts\": 1}'], expect: {hourly: []}}}"
        )
        raise typer.Exit(USAGE)
    if not any(tests for _, _, tests in chosen):
        complain(f"--only {only!r}: no test has that in its name; there are: {', '.join(names)}")
        raise typer.Exit(USAGE)
    return [(path, spec, tests) for path, spec, tests in chosen if tests]


def _tested(path: Path, spec: Pipeline, one: ReadTest) -> Tested:
    from windowing.model.run_errors import WindowingError
    from windowing.model.user.user_aggregate import UserAggregateError

    began = time.monotonic()
    lines: tuple[str, ...]
    try:
        lines, error = tuple(judged(spec, one)), False
    except (WindowingError, UserAggregateError) as raised:
        lines, error = (str(raised),), True
    return Tested(path, spec.name, one, time.monotonic() - began, lines, error)


def judged(spec: Pipeline, one: ReadTest) -> Iterator[str]:
    """Run a test; yield what is wrong, for people.

    Raises:
        EventsFileError: its file is no log of the pipeline.
        WindowingError: the engine came to no result.
    """
    from chaos.file_tests.matching import matched
    from chaos.file_tests.words import lines_of
    from chaos.readers.output import output_of
    from chaos.verdict.verify import verify
    from jobs.tools.times_seen import Times, seen
    from windowing.engine.reading import batches as cut
    from windowing.runtime.local import LocalEngine

    log, times, engine = [*one.log(spec)], Times(), LocalEngine(spec)
    for batch in seen(spec, cut.batches(log, _BATCH_ROWS, spec), times):
        engine.feed(batch)
    output = engine.output
    parts = matched(one.expect, _found(engine))
    yield from lines_of(parts)
    if missing := _missing(engine, parts):
        yield from why_missing(engine.pipeline, output, missing, engine, times)
    verdict = verify(engine.pipeline, log, output_of(output.rows, output.dead_letters, "engine"))
    if not verdict.ok:
        yield "engine and definition differ, which is a mistake of ours:"
        yield from (f"  {line}" for line in verdict.lines())


def _missing(engine: LocalEngine, parts: Sequence[Part]) -> list[str]:
    names = {flow.name for flow in engine.pipeline.flows}
    return [part.name for part in parts if part.missing and part.name in names]


def _found(engine: LocalEngine) -> Found:
    """Return an engine's output as lines that have been parsed."""
    from chaos.file_tests.matching import Found
    from chaos.file_tests.reading import counted_fates
    from windowing.model.rows import dead_letter_lines, row_lines

    output = engine.output
    rows: dict[str, list[dict[str, Any]]] = {}
    for line in row_lines(output.rows):
        row = json.loads(line)
        rows.setdefault(row["query"], []).append(row)
    dead = [json.loads(line) for line in dead_letter_lines(output.dead_letters, output.details)]
    # Counted before any query sees them: the same number for all.
    some: Mapping[str, int] = next(iter(output.counts.values()), {})
    counted = {name: some.get(name, 0) for name in counted_fates(engine.pipeline)}
    return Found(rows, dead, counted)


def _write(file: Path, results: Sequence[Tested]) -> None:
    from chaos.reports.junit import document, suite, suites
    from windowing.files.whole_files import whole_file

    by_file: dict[Path, list[Tested]] = {}
    for one in results:
        by_file.setdefault(one.file, []).append(one)
    parts = (suite(str(path), (one.case for one in own)) for path, own in by_file.items())
    with whole_file(file) as written:
        written.write(document(suites(parts)))
    tell(f"JUnit XML: {file}")


COMMANDS = (test,)
