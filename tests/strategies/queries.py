"""Generators of progress, windows of every class, policies for late records, and queries."""

from __future__ import annotations

from hypothesis import strategies as st

from tests.strategies.logs import TOPIC, Event
from tests.strategies.scales import Clock, Span

_RICH_AGGREGATES = [
    *("var(w)", "stddev(x)", "var_pop(x)", "stddev_pop(v)", "first(g)", "last(x)", "collect(w)"),
    *("argmin(w)", "argmax(x, g)", "argmax(v, x)", "count_distinct(g)", "count_distinct(x)"),
    *("approx_count_distinct(w, 16)", "median(w)", "median(x)", "quantile(x, 0.9)", "top_k(v, 2)"),
    *("quantile(w, 0)", "approx_quantile(x, 50%)", "approx_quantile(w, 0.99, 5%)", "collect(h)"),
]
KINDS = (
    *("sliding", "keyed sliding", "landmark", "rows in the log's order", "rows by event time"),
    *("slide by tuple", "slide by n", "slide by rank", "session", "session of rows"),
)
# Classes that number rows as they arrive need all of a unit in one lane, as field `p` has it.
AS_THEY_ARRIVE = ("rows in the log's order", "slide by n", "session of rows")
# Classes with two alignments.
_ALIGNED = ("sliding", "keyed sliding", "rows in the log's order", "rows by event time")
# Classes whose late records cannot be shown later.
_NO_UPDATE = ("rows in the log's order", "rows by event time", "slide by rank", "session of rows")


@st.composite
def disorders(draw: st.DrawFn, partitions: int, tick_us: int) -> str | Event:
    """A generator as a pipeline file spells it; half of them slack in time."""
    lengths = st.integers(0, 8).map(lambda n: f"{n * tick_us} us")
    lanes = [f"{TOPIC}/{partition}" for partition in range(partitions)]
    kind = draw(st.sampled_from(["slack"] * 4 + ["rows", "adaptive", "beat", "members", "punct"]))
    if kind == "slack":
        slack = draw(st.sampled_from([0, 1, 2, 5, 13])) * tick_us
        return draw(st.sampled_from(["ordered", {"slack": f"{slack} us"}]))
    if kind == "rows":
        return {"slack": f"{draw(st.sampled_from([0, 1, 2, 3, 7]))} rows"}
    if kind == "adaptive":
        share, over = draw(st.sampled_from(["0%", "10%", "34.5%", "0.5"])), draw(st.integers(1, 9))
        return {"adaptive": {"late": share, "over": f"{over} rows"}}
    if kind == "punct":
        return "punctuation"
    if kind == "beat":
        delays = {}
        for lane in lanes:
            extra = draw(st.integers(0, 6)) * tick_us
            shortest = draw(st.integers(0, 3)) * tick_us
            delays[lane] = {
                "max_delay": f"{shortest + extra} us",
                "min_delay": f"{shortest} us",
                "skew": draw(lengths),
            }
        return {"heartbeat": delays}
    attr, members = draw(st.sampled_from([("g", ["a", "b", ""]), ("h", [0, 1, -3])]))
    chosen = st.lists(st.sampled_from(members), max_size=2, unique=True)
    return {"ordered_per": {"attr": attr, "members": {lane: draw(chosen) for lane in lanes}}}


@st.composite
def _windows(
    draw: st.DrawFn, kind: str, span: Span, tick_us: int, *, per_key: bool, wide: bool
) -> str:
    """A window of a class; its lengths are a span's."""
    time, slide = f"RANGE {span.range_us} us", f"SLIDE {span.slide_us} us"
    rows, by_rows = f"RANGE {span.range_us // tick_us} rows", span.slide_us // tick_us
    if kind.startswith("rows") and draw(st.sampled_from([False, False, True])):
        rows = "RANGE LANDMARK"
    origin = f" ORIGIN {span.origin_us} us" if span.origin_us else ""
    window = {
        "sliding": f"{time} {slide} WATTR ts{origin}",
        "keyed sliding": f"{time} {slide} WATTR ts{origin}",
        "landmark": f"RANGE LANDMARK {slide} WATTR ts{origin}",
        "rows in the log's order": f"{rows} SLIDE {by_rows} rows WATTR row_num",
        "rows by event time": f"{rows} SLIDE {by_rows} rows WATTR row_num ORDER event_time",
        "slide by tuple": f"{time} SLIDE 1 row RATTR ts SATTR row_num",
        "slide by n": f"{time} SLIDE {draw(st.integers(2, 4))} rows RATTR ts SATTR row_num",
        "slide by rank": f"{time} SLIDE {draw(st.integers(1, 4))} rows RATTR ts SATTR rank(ts)",
        "session": f"SESSION {span.slide_us} us WATTR ts",
        "session of rows": f"SESSION {draw(st.integers(1, 4))} rows WATTR row_num",
    }[kind]
    aligned = wide and kind in _ALIGNED and "LANDMARK" not in window
    if aligned and draw(st.sampled_from([False, False, True])):
        window += " ALIGN start"
    if kind == "sliding":
        return window
    parts = ["", " PATTR g"]
    if kind in AS_THEY_ARRIVE:
        parts = ["", *[" PATTR p"] * 6, " PATTR g"]
    if per_key and kind not in ("rows in the log's order", "session of rows"):
        parts = [" PATTR g"]
    return window + draw(st.sampled_from(parts))


def late(kind: str, every_us: int) -> st.SearchStrategy[Event]:
    """What may become of late records of a class."""
    mode = st.sampled_from(["generous", "consistent"])
    refuse = st.fixed_dictionaries(
        {"policy": st.sampled_from(["drop", "dead_letter"]), "mode": mode}
    )
    if kind in _NO_UPDATE:
        return refuse
    update = st.fixed_dictionaries(
        {
            "policy": st.just("update"),
            "every": st.just(f"{every_us} us"),
            "mode": st.just("generous") if kind == "landmark" else mode,
        }
    )
    return st.one_of(update, refuse, update)


@st.composite
def queries(
    draw: st.DrawFn,
    kind: str,
    span: Span,
    every_us: int,
    clock: Clock,
    *,
    per_key: bool,
    wide: bool,
) -> Event:
    pool = ["count", *(f"{f}({n})" for f in ("sum", "mean", "min", "max") for n in ("v", "x"))]
    pool += ["mean(w)", "min(w)", "max(w)"]
    # As likely together as the plain ones: each draws half of the aggregates.
    one = st.sampled_from(pool) | st.sampled_from(_RICH_AGGREGATES)
    chosen = draw(st.lists(one, min_size=1, max_size=4, unique=True))
    query: Event = {
        "window": draw(_windows(kind, span, clock.tick_us, per_key=per_key, wide=wide)),
        "group_by": draw(
            st.sampled_from([[], [], [], ["g"], ["g"], ["h"], ["g", "h"], ["h", "g"], ["x"]])
        ),
        "aggregates": {f"a{number}": text for number, text in enumerate(chosen)},
    }
    accumulation = draw(st.sampled_from([None, None, "discarding", "retracting"]))
    if wide and accumulation is not None:
        query["accumulation"] = accumulation
    if draw(st.booleans()):
        query["late"] = draw(late(kind, every_us))
    if draw(st.booleans()):
        query["retention"] = f"{draw(st.sampled_from([0, 3, 15, 50])) * clock.tick_us} us"
    return query
