"""The answer of `slackwater overview`: what it holds, and its JSON.

None stands for what is not known; nothing is estimated. Sentences are for people. All of it is in
`docs/overview.md`.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

Instant = Annotated[str, Field(pattern=r"^(-?\d{4,}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z|-?\d+ us)$")]
"""ISO 8601 in UTC; an event time that no calendar has: microseconds since 1970, as `7 us`."""

Share = Annotated[float, Field(ge=0, le=1)]
Count = Annotated[int, Field(ge=0)]

BUCKETS_MAX = 200
"""How many buckets the history has, at most."""

VERDICTS_MAX = 20
"""How many verdicts are listed, at most."""

RUNS_MAX = 10
"""Of how many runs beside the shown one the state is looked up, the newest ones."""

VALUE_MAX = 200
"""To how many characters the value of a dead letter is cut."""


class Part(BaseModel):
    """A part of the answer; an unknown name in it is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Colour(StrEnum):
    """The colour of a light, the best first."""

    green = "green"
    grey = "grey"
    yellow = "yellow"
    red = "red"


class Light(Part):
    """A light.

    Attributes:
        reasons: why it is not green, a sentence each; for a green one, what speaks for it.
    """

    colour: Colour
    reasons: list[str]


class CheckOutcome(Part):
    """What a check has found.

    Attributes:
        passed: whether all was as it should be.
    """

    at: Instant
    passed: bool
    sentence: str


class Freshness(Part):
    """How far the results of an output are final.

    Attributes:
        final_until: windows that end until then are final on time: all lanes have passed it. In
            event time; None: a lane has no progress yet, or the output's windows do not close by
            progress of event time.
        age_s: seconds of the wall clock since then; None: unknown, or the lanes have ended.
        sentence: the same in words.
    """

    final_until: Instant | None
    age_s: float | None
    sentence: str


class OutputStatus(Part):
    """The output of a query.

    Attributes:
        light: quality, freshness and the last proof, as one light.
        quality: the last check of its expectations; None: none was made.
        freshness: how far its results are final.
        proof: the last verification; None: none was made.
        rows: number of rows in the run's table; None: unreadable.
        revisions: those of them that revise an earlier row.
        table: the folder of the table, or its name in the database.
    """

    query: str
    light: Light
    quality: CheckOutcome | None
    freshness: Freshness
    proof: CheckOutcome | None
    rows: Count | None
    revisions: Count | None
    table: str


class Lane(Part):
    """A lane.

    Attributes:
        lane: its name, `topic/partition`.
        progress: its progress in event time; None: it has none yet.
        lag_s: seconds of event time behind the lane that is furthest; None: no progress yet.
        offset: the next offset after the last committed batch.
        end: the end of its partition; None: no broker answers.
        behind: offsets up to there that are not committed.
        late: late records that no window took, counted for each query; None: not counted.
        late_share: their share of the records, over all queries.
        silent_since: when a batch last read something of it; None: unknown, or it is not silent.
        ended: whether its end was declared.
        holds_back: whether it is the lane that the oldest open window waits for.
        release: what would let it release that window; None: it holds back none.
    """

    lane: str
    progress: Instant | None
    lag_s: float | None
    offset: Count | None
    end: Count | None
    behind: Count | None
    records: Count | None
    late: Count | None
    late_share: Share | None
    dead: Count | None
    silent_since: Instant | None
    ended: bool
    holds_back: bool
    release: str | None


class OpenWindows(Part):
    """The open windows of a query.

    Attributes:
        open: number of windows between the progress of the stream and that of its furthest lane,
            whatever their keys; None: this is not countable by time.
        oldest: the first of them, in words.
        held_back_by: the lane that it waits for.
        release: what would release it.
    """

    query: str
    open: Count | None
    oldest: str | None
    held_back_by: str | None
    release: str | None


class Bucket(Part):
    """What happened in a part of the run's life.

    Attributes:
        at: the beginning of the bucket, by the wall clock.
        revisions: those of them that revise an earlier row.
        late: late records that no window took, counted for each query; None: not counted.
        batch_ms: their mean time in milliseconds; None: not recorded.
        state_bytes: size of the state at its end; None: not recorded.
    """

    at: Instant
    rows: Count
    revisions: Count
    records: Count
    late: Count | None
    dead: Count
    batches: Count
    batch_ms: float | None
    state_bytes: Count | None


class Example(Part):
    """A dead letter.

    Attributes:
        lane, offset: its position.
        at: when it was written; None: unknown.
        value: the refused value, cut to 200 characters; None: absent, or not kept.
    """

    lane: str
    offset: Count
    at: Instant | None
    value: str | None


class DeadLetters(Part):
    """All dead letters with the same reason.

    Attributes:
        remedy: what to do about it.
        examples: some of them, the newest first.
    """

    reason: str
    count: Count
    remedy: str | None
    examples: list[Example]


class FateCount(Part):
    """Records with a fate that windows have no part in: all queries count the same.

    Attributes:
        fate: its name, `filtered`, `duplicates`, or `warned:NAME` of a rule.
        meaning: what has become of them, in words.
        count: their number; None: not counted.
    """

    fate: str
    meaning: str
    count: Count | None


class StateSize(Part):
    """The state of the run's lanes and shards.

    Attributes:
        bytes: what the state stores hold in memory, after the last batch; None: not recorded.
        bound: what bounds it.
    """

    bytes: Count | None
    rows: Count | None
    bound: str | None


class Batches(Part):
    """The batches of the run.

    Attributes:
        count: number of committed batches; None: no run.
        last_at: when the last one was committed.
        median_ms, p95_ms: their times, in milliseconds; None: not recorded.
    """

    count: Count
    last_at: Instant | None
    median_ms: float | None
    p95_ms: float | None


class QualityPoint(Part):
    """What one check of an expectation has found."""

    at: Instant
    passed: bool
    observed: str | None


class QualityOverTime(Part):
    """An expectation over time.

    Attributes:
        query: the query whose output it is about; None: about the whole run.
        points: the checks, the oldest first.
    """

    query: str | None
    expectation: str
    threshold: str | None
    points: list[QualityPoint]


class PastVerdict(Part):
    """A verdict on the run.

    Attributes:
        passed: None: it could not be decided.
        href: the path of its report; None: it has no page.
    """

    kind: Literal["verify", "quality", "chaos", "replay", "audit"]
    at: Instant
    passed: bool | None
    sentence: str
    href: str | None


class Link(Part):
    """A place to continue from.

    Attributes:
        name: what is there.
        href: a path on this machine, or an address.
    """

    name: str
    href: str


class Overview(Part):
    """How a pipeline stands.

    Attributes:
        at: when this was found.
        file: its file; None: the project has none of this name.
        run: the run that this is about; None: it has never run.
        state: what `slackwater runs --json` says of that run.
        runs: the names of its runs, the newest first.
        run_states: the state of the shown run and of the newest others, by name.
        light: the worst of its outputs' lights.
        outputs: its outputs, in the order of the file.
        lanes: its lanes, by number.
        history: the run's life, the oldest bucket first.
        dead_letters: by reason, the most frequent first.
        fates: what became of records before any window saw them, and rules that only warned.
        verdicts: the last verdicts, the newest first.
        plan: what `slackwater explain` prints.
        links: places to continue from.
        problems: what could not be read, and why.
    """

    at: Instant
    pipeline: str
    file: str | None
    run: str | None
    state: dict[str, Any] | None
    runs: list[str]
    run_states: dict[str, str] = {}
    light: Light
    outputs: list[OutputStatus]
    lanes: list[Lane]
    open_windows: list[OpenWindows]
    history: Annotated[list[Bucket], Field(max_length=BUCKETS_MAX)]
    dead_letters: list[DeadLetters]
    fates: list[FateCount] = []
    state_size: StateSize
    batches: Batches
    quality: list[QualityOverTime]
    verdicts: Annotated[list[PastVerdict], Field(max_length=VERDICTS_MAX)]
    plan: str
    links: list[Link]
    problems: list[str]
