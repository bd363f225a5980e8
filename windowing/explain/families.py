"""What many queries share, in words and as a graph, for people who are about to run them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction
from math import ceil
from typing import Final

from windowing.engine.families.family import Family
from windowing.engine.families.forming import why_alone
from windowing.engine.plan import Plan
from windowing.engine.tuning import tuning
from windowing.engine.windows.evaluation import past_end
from windowing.explain.words import memory_bound, partial_bytes, spell_bytes, speller
from windowing.model.file.pipeline import Query, Source
from windowing.model.progress import Slack
from windowing.model.windows.sliding import begins_later
from windowing.model.windows.traits import Ends
from windowing.model.windows.window import Spell
from windowing.research.slides.graph import SlidingGraph, SlidingTree

_LINES_MAX: Final = 40
_NAMED_MAX: Final = 3
_NOT_IN_STEP: Final = (
    "it begins later, and no family has its key, late policy and retention, all of its aggregates, "
    "and slices that begin and end where its windows do"
)


def explain_families(plan: Plan) -> Iterator[str]:
    """Give the lines about queries that share slices, and why others do not."""
    if not plan.families:
        return
    shared = sum(len(family.names) for family in plan.families)
    families = f"{len(plan.families)} famil{'y' if len(plan.families) == 1 else 'ies'}"
    held = [slices_held(family, plan.pipeline.source) for family in plan.families]
    known = sum(one for one in held if one is not None)
    kept = "" if None in held else f"; about {known:,} slices per key and lane in all"
    yield f"{shared:,} queries in {families} share slices{kept}"
    for why, names in _alone(plan).items():
        yield f"  not shared: {_listed(names)}: {why}"
    for family in plan.families:
        yield ""
        yield from _family(family, plan)


def slices_held(family: Family, source: Source) -> int | None:
    """Return about how many slices a key has per lane while lanes are level; None: unknown."""
    generator = source.generator_of(family.query.window.attribute)
    if not isinstance(generator, Slack):
        return None
    longest = max(member.grid.range_ or 0 for member in family.members)
    behind = Fraction(generator.slack_us + past_end(family.query))
    if family.steps is not None:
        behind /= family.steps.calendar.mean_us
    return ceil((longest + behind) * family.boundaries.density) + 1


def memory_of(family: Family, plan: Plan) -> str:
    """Say what bounds the state of a family, in bytes per key."""
    query, source = family.query, plan.pipeline.source
    each, slices = spell_bytes(partial_bytes(query, source)), slices_held(family, source)
    more = "however many queries there are, and what the last batches brought"
    return memory_bound(query, source, size=each, partials=slices, lanes=plan.lanes, more=more)


def _family(family: Family, plan: Plan) -> Iterator[str]:
    source, query = plan.pipeline.source, family.query
    spell = spell_places(family, source)
    windows, series = len(family.members), len(family.boundaries.series)
    yield f"{family.name}: {_listed(family.names)}"
    yield f"  {windows:,} distinct windows, {len(query.aggregates):,} distinct aggregates"
    yield f"  key: {', '.join(query.key) or 'none: one row per window'}"
    yield f"  slices: boundaries every {_every(family, spell)}" + (
        "" if series == 1 else f", from {series:,} sets of them"
    )
    slices = slices_held(family, source)
    if slices is not None:
        alone = sum(_alone_held(member.query, source) * member.queries for member in family.members)
        yield (
            f"  state per key: about {slices:,} partial states per lane; each query for itself: "
            f"{alone:,}"
        )
    yield f"  memory: {memory_of(family, plan)}"
    yield "  which windows are due: by a calendar of the distinct windows, once per batch"
    yield from _graph(family, spell)


def spell_places(family: Family, source: Source) -> Spell:
    """Return how lengths between places are written: in days, or months, of a calendar."""
    if family.steps is None:
        return speller(family.query.attribute, source)
    step = family.steps.calendar.step
    return lambda length: f"{length} {step}" + "s" * (length != 1)


def _alone_held(query: Query, source: Source) -> int:
    generator = source.generator_of(query.window.attribute)
    behind = past_end(query) + (generator.slack_us if isinstance(generator, Slack) else 0)
    range_, slide = query.window.range_ or 0, query.window.slide
    each = 2 if range_ > slide and range_ % slide else 1
    return each * (-(-(range_ + behind) // slide) + 1)


def _every(family: Family, spell: Spell) -> str:
    slides = [spell(slide) for slide, _ in family.boundaries.series]
    some = ", ".join(dict.fromkeys(slides[:_NAMED_MAX]))
    return some + (", …" if len(slides) > _NAMED_MAX else "")


def _graph(family: Family, spell: Spell) -> Iterator[str]:
    """Draw the sliding tree of the distinct slides: each below the largest one that divides it."""
    queries = Counter[int]()
    for member in family.members:
        queries[member.grid.slide] += member.queries
    tree = SlidingGraph(queries).tree
    yield (
        f"  sliding graph of {len(queries):,} distinct slides: {float(tree.tests):.2f} tests per "
        f"tick of {spell(tree.root or 1)} in place of {len(queries):,}"
        if tree.root == 1
        else f"  sliding graph of {len(queries):,} distinct slides"
    )
    lines = list(_branches(tree, queries, spell))
    yield from lines[:_LINES_MAX]
    if len(lines) > _LINES_MAX:
        yield f"    … and {len(lines) - _LINES_MAX:,} slides more"


def _branches(tree: SlidingTree, queries: Counter[int], spell: Spell) -> Iterator[str]:
    assert tree.root is not None  # noqa: S101 - a family has slides
    ahead = [(tree.root, "", "")]
    while ahead:
        slide, before, below = ahead.pop()
        dummy = slide == tree.dummy_root
        count = queries[slide]
        label = "no query: the common divisor" if dummy else f"{count:,} quer{_ies(count)}"
        yield f"    {before}{spell(slide)} ({label})"
        children = tree.children.get(slide, [])
        for place, child in reversed(list(enumerate(children))):
            is_last = place == len(children) - 1
            branch, deeper = ("└─ ", "   ") if is_last else ("├─ ", "│  ")
            ahead.append((child, below + branch, below + deeper))


def _alone(plan: Plan) -> dict[str, list[str]]:
    shared = {name for family in plan.families for name in family.names}
    found: dict[str, list[str]] = {}
    for query in plan.pipeline.of(Query):
        if query.name not in shared:
            why = why_alone(query, plan.pipeline)
            few = (
                f"fewer than {tuning().share_from_queries} have its key, late policy and retention"
            )
            if query.window.traits.ends is Ends.CALENDAR:
                few += ", and days (or months) that begin when its own do"
            other = few if not begins_later(query.window) else _NOT_IN_STEP
            found.setdefault(why or other, []).append(query.name)
    return found


def _listed(names: Sequence[str]) -> str:
    names = sorted(names)
    some = ", ".join(names[:_NAMED_MAX])
    if len(names) <= _NAMED_MAX:
        return some
    return f"{some}, … ({len(names):,} queries)"


def _ies(count: int) -> str:
    return "y" if count == 1 else "ies"
