"""How a pipeline stands: collects the facts and puts the answer together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from infra.errors import InfraError
from infra.layout import Layout
from jobs.checkpoints.checkpoint import Cut
from jobs.overview import cache
from jobs.overview.freshness import bound_s, freshness, still_bound_s, still_s
from jobs.overview.history import history
from jobs.overview.judgements import (
    ExpectationResult,
    checks_of,
    judged,
    over_time,
    quality_of,
    verdicts_of,
)
from jobs.overview.lanes import Offsets, Stand, lanes, open_windows, spell_clock
from jobs.overview.light import Facts, light, worst
from jobs.overview.metrics_file import BatchMetrics, measured
from jobs.overview.schema import (
    RUNS_MAX,
    VALUE_MAX,
    Batches,
    Colour,
    DeadLetters,
    Example,
    FateCount,
    Light,
    Link,
    OutputStatus,
    Overview,
    StateSize,
)
from jobs.overview.tables import Tables
from jobs.overview.totals import DeadLetterTotals, LaneCounts, Results
from jobs.overview.unknown import never_run, nothing, unknown
from jobs.runs.choice import live_run
from jobs.runs.folder import Run, RunError, every_run
from jobs.runs.overview import Surroundings, others_of, overview_of, waiting_for_ever
from jobs.runs.verdicts import Judge
from windowing.engine.plan import plan_of
from windowing.explain.families import memory_of
from windowing.explain.notes import odd_progress
from windowing.explain.pipeline import explain, memory
from windowing.explain.ways_out import way_out
from windowing.model import Pipeline, PipelineError, load_pipeline
from windowing.model.fates import before_windows, names
from windowing.model.file.documents import unread
from windowing.model.file.yaml_lines import LIMITS, Limits
from windowing.model.query import Flow
from windowing.model.standing import LaneEnd

if TYPE_CHECKING:
    from jobs.overview.database import DatabaseTables


@dataclass
class _Known:
    """What is known of a run.

    Attributes:
        state: what `slackwater runs --json` says of it.
        tables: what its tables say; None: its sink has others.
        results, counts, dead: the same by table; None or absent: unreadable.
        metrics: what its driver has written of its batches.
        checks: checks of its expectations.
        cut: up to where all of it is counted.
        beside: what speaks against other runs of the pipeline.
    """

    run: Run
    pipeline: Pipeline
    state: Mapping[str, Any]
    at: datetime
    beside: str | None = None
    cut: Cut = field(default_factory=lambda: Cut(0, {}))
    tables: Tables | DatabaseTables | None = None
    metrics: BatchMetrics = field(default_factory=BatchMetrics)
    checks: list[ExpectationResult] = field(default_factory=list)
    results: Mapping[str, Results] = field(default_factory=dict)
    counts: LaneCounts | None = None
    dead: DeadLetterTotals | None = None

    @property
    def last_batch_us(self) -> int | None:
        """When the last batch was written."""
        line = self.metrics.last
        known = [line.at_us] if line else []
        if self.tables is not None and self.counts is not None and self.counts.last >= 0:
            at_us = self.tables.times.at(self.counts.last)
            known += [] if at_us is None else [at_us]
        return max(known, default=None)


def overview(
    about: Surroundings, name: str, file: Path | None, run: Run | None, at: datetime | None = None
) -> Overview:
    """Return how a pipeline stands.

    Args:
        about: the stack; without a broker or a master, what they know is missing.
        file: its file; None: the project has none.
        run: the run; None: the live one.

    Raises:
        InfraError: the master does not answer.
    """
    at, problems = at or datetime.now(UTC), list[str]()
    live = live_run(about.endpoints, name)
    run = run or live
    pipeline = _pipeline(run, file, problems)
    shown: dict[str, Any] = {
        "at": at.isoformat(timespec="seconds").replace("+00:00", "Z"),
        "pipeline": name,
        "file": None if file is None else str(file),
        "runs": [one.run for one in reversed(every_run(about.endpoints, name))],
        "plan": "" if pipeline is None else "\n".join(explain(plan_of(pipeline))),
        "problems": problems,
    }
    if run is None:
        return Overview(**shown, **never_run(about, pipeline, problems))
    state = overview_of(about, run, live, file).as_json()
    shown |= {"run": run.run, "state": state, "links": _links(about, run, state)}
    others = others_of(about, run, RUNS_MAX)
    states = {other.run: str(found.state) for other, found in others}
    shown["run_states"] = {run.run: state["state"], **states}
    verdicts, unread = verdicts_of(
        run, about.endpoints.state_dir, [name, *([file.stem] if file else [])]
    )
    shown["verdicts"] = verdicts
    if pipeline is None:
        reasons = [*problems] or ["its file cannot be read"]
        problems += unread
        return Overview(
            **shown, **nothing(), light=Light(colour=Colour.red, reasons=reasons), outputs=[]
        )
    known = _Known(run, pipeline, state, at, beside=waiting_for_ever(others, at))
    _read(known, problems)
    problems += unread
    return Overview(**{**shown, **_of_run(about, known, problems)})


def _pipeline(run: Run | None, file: Path | None, problems: list[str]) -> Pipeline | None:
    try:
        if run is not None:
            return run.own_pipeline()
        return None if file is None else load_pipeline(file)
    except (PipelineError, RunError, OSError) as error:
        problems.append(str(error))
        return None


def _read(known: _Known, problems: list[str]) -> None:
    run, pipeline = known.run, known.pipeline
    kept = cache.load(run.folder, run.table)  # first, so that it has nothing behind the cut
    known.cut = Cut.of(run.checkpoint, pipeline.source)
    before = known.cut.batches if run.checkpoint.exists() else None
    known.metrics = measured(run.folder, before)
    known.checks, unread = checks_of(run)
    problems += [*known.metrics.problems, *unread]
    known.tables = tables = _tables(known, kept, before)
    if tables is None:
        problems.append(
            f"its rows go to {pipeline.destination.kind}, which is not read here: rows, history "
            "and dead letters are unknown, and lanes are known from the driver's metrics"
        )
        return
    for batch, at_us in known.metrics.times():
        tables.times.note(batch, at_us)
    known.results = tables.results([*pipeline.tables])
    known.counts, known.dead = tables.lanes(), tables.dead()
    if isinstance(tables, Tables) and tables.changed:
        why = cache.save(run.folder, tables.finish())
        problems += [] if why is None else [why]
    problems += tables.problems


def _tables(known: _Known, kept: cache.Cache, before: int | None) -> Tables | DatabaseTables | None:
    """Return the tables of a run, up to a batch; None: only its sink knows them."""
    if known.pipeline.destination.rules.in_folder:
        fates = names(before_windows(known.pipeline.source.fates))
        return Tables(known.run.table, known.run.run, kept, before, fates)
    # Imported only here: most runs have files, and need no sink to read them.
    from jobs.overview.database import database_tables  # noqa: PLC0415

    return database_tables(known.pipeline, known.run, before)


def _of_run(about: Surroundings, known: _Known, problems: list[str]) -> dict[str, Any]:
    pipeline = known.pipeline
    stand = Stand.of(pipeline, known.counts, known.metrics)
    waiting = open_windows(stand)
    problems += odd_progress(
        pipeline,
        {n: LaneEnd(stand.known_us(lane)) for n, lane in enumerate(stand.progress)},
    )
    ends = about.ends.of(pipeline.source)
    behind = None if ends is None else known.cut.behind(ends)
    known.state = {**known.state, "batches": known.cut.batches, "behind": behind}
    if ends is None:
        topics = ", ".join(part.topic for part in pipeline.source.parts)
        problems.append(f"no broker tells where topic {topics} ends: what is behind is unknown")
    outputs = [_output(known, stand, flow) for flow in pipeline.flows]
    median_ms, p95_ms = known.metrics.batch_ms(0.5, 0.95)
    return {
        "state": known.state,
        "light": worst((one.query, one.light) for one in outputs),
        "outputs": outputs,
        "lanes": lanes(
            stand,
            known.counts,
            known.dead,
            known.metrics,
            offsets=Offsets(known.cut.ends if known.cut.batches else {}, ends),
            releases_us=[end for _, end in waiting if end is not None],
        ),
        "open_windows": [one for one, _ in waiting],
        "history": history(list(known.results.values()), known.counts, known.dead, known.metrics),
        "dead_letters": list(_dead_letters(known.dead)),
        "fates": list(_fates(known)),
        "state_size": _state_size(known),
        "batches": Batches(
            count=known.cut.batches,
            last_at=spell_clock(known.last_batch_us),
            median_ms=median_ms,
            p95_ms=p95_ms,
        ),
        "quality": over_time(known.checks),
    }


def _output(known: _Known, stand: Stand, flow: Flow) -> OutputStatus:
    run, pipeline, at, state = known.run, known.pipeline, known.at, known.state
    fresh = freshness(stand, flow, at, known.last_batch_us)
    quality, proof = quality_of(run, known.checks, flow.name), judged(run, Judge.verify)
    table = pipeline.table_of(flow.name)
    found = known.results.get(table)
    rows, revisions = (None, None) if found is None else found.of(flow.name)
    unread = known.tables is not None and found is None
    facts = Facts(
        state=state["state"],
        why=state["why"],
        quality=quality,
        proof=proof,
        proof_age_s=None if proof is None else _age_s(proof.at, at),
        quality_age_s=None if quality is None else _age_s(quality.at, at),
        behind=state["behind"],
        still_s=still_s(known.run.submitted_at, known.last_batch_us, known.cut.batches, at),
        still_bound_s=still_bound_s(pipeline, at, known.metrics.batch_ms(0.95)[0]),
        beside=known.beside,
        waits_for=fresh.waits_for,
        lag_s=fresh.lag_s,
        age_s=fresh.shown.age_s,
        bound_s=bound_s(pipeline, at),
        unreadable="its table cannot be read" if unread else None,
    )
    return OutputStatus(
        query=flow.name,
        light=light(facts),
        quality=quality,
        freshness=fresh.shown,
        proof=proof,
        rows=rows,
        revisions=revisions,
        table=str(run.table / table) if known.tables is None else known.tables.place(table),
    )


def _age_s(at: str, now: datetime) -> float:
    return (now - datetime.fromisoformat(at)).total_seconds()


def _dead_letters(dead: DeadLetterTotals | None) -> Iterator[DeadLetters]:
    reasons = dead.reasons if dead else {}
    for name, reason in sorted(reasons.items(), key=lambda pair: (-pair[1].count, pair[0])):
        examples = [
            Example(
                lane=one.lane,
                offset=one.offset,
                at=spell_clock(one.at_us),
                value=None if one.value is None else one.value[:VALUE_MAX],
            )
            for one in reason.examples
        ]
        yield DeadLetters(reason=name, count=reason.count, remedy=way_out(name), examples=examples)


def _fates(known: _Known) -> Iterator[FateCount]:
    lanes = None if known.counts is None else known.counts.lanes.values()
    for fate in before_windows(known.pipeline.source.fates):
        found = None if lanes is None else sum(lane.fates.get(fate.name, 0) for lane in lanes)
        yield FateCount(fate=fate.name, meaning=fate.meaning, count=found)


def _state_size(known: _Known) -> StateSize:
    plan, line = plan_of(known.pipeline), known.metrics.last
    shared = {family.name: family for family in plan.families}
    bounds = [
        f"{flow.name}: "
        + (memory_of(shared[flow.name], plan) if flow.name in shared else memory(flow, plan))
        for flow in plan.flows
        if flow.query.window is not None
    ]
    return StateSize(
        bytes=line.state_bytes if line else None,
        rows=line.state_rows if line else None,
        bound="; ".join(bounds) or None,
    )


def _links(about: Surroundings, run: Run, state: Mapping[str, Any]) -> list[Link]:
    docs = Layout(about.endpoints.state_dir).data_docs(run.pipeline) / "index.html"
    places = {
        "tables": str(run.table),
        "Data Docs": str(docs) if docs.exists() else None,
        "Spark UI": state["ui"],
        "driver's log": state["log"],
    }
    return [Link(name=name, href=href) for name, href in places.items() if href]


def pipelines(about: Surroundings, folder: Path, limits: Limits = LIMITS) -> dict[str, Path | None]:
    """Return the pipelines of a folder and all that have runs, each with its file, by name.

    A file that is invalid, or not read, counts as a pipeline with the file's name.
    """
    found: dict[str, Path | None] = {}
    for file in sorted([*folder.glob("*.yml"), *folder.glob("*.yaml")]):
        name = file.stem
        with suppress(PipelineError):
            name = name if unread(file, limits) else load_pipeline(file).name
        found.setdefault(name, file)
    for path in sorted((about.endpoints.state_dir / "runs").glob("*")):
        if path.name not in found and every_run(about.endpoints, path.name):
            found[path.name] = None
    return dict(sorted(found.items()))


def overviews(
    about: Surroundings, found: Mapping[str, Path | None], limits: Limits = LIMITS
) -> Iterator[Overview]:
    """Yield how several pipelines stand; one whose master does not answer is its own problem.

    Args: as for `overview`.
    """
    for name, file in found.items():
        if file is not None and (why := unread(file, limits)):
            yield unknown(name, file, why)
            continue
        try:
            yield overview(about, name, file, None)
        except InfraError as error:
            yield unknown(name, file, str(error))
