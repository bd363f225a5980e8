"""A picture of sliding graphs: the distinct slides of queries that share slices.

Each slide lies below the largest other one that divides it; weak edges lead to further divisors.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from jobs.tools.picture_file import save
from windowing.engine.families.family import Family
from windowing.explain.families import spell_places
from windowing.model import Pipeline
from windowing.model.windows.window import Spell
from windowing.research.slides.graph import SlidingGraph, SlidingTree

_SLIDE, _DUMMY, _EDGE = "#1f5f8b", "#d1495b", "#9aa5ad"
_WIDTH, _LEVEL_HEIGHT, _NAMED_MAX = 12.0, 0.9, 120

Places = dict[int, tuple[float, int]]
"""Where each slide is drawn: across, and its level."""


def draw_slides(pipeline: Pipeline, families: Sequence[Family], path: Path) -> None:
    """Draw the sliding graph of each family.

    Args:
        families: of its queries; at least one.
        path: the file to write, PNG or SVG by its suffix.

    Raises:
        PictureError: another suffix.
        WriteError: the file cannot be written.
    """
    drawn = []
    for family in families:
        queries = Counter[int]()
        for member in family.members:
            queries[member.grid.slide] += member.queries
        graph = SlidingGraph(queries)
        drawn.append((family, queries, graph, _places(graph.tree)))
    levels = [1 + max(level for _, level in places.values()) for *_, places in drawn]
    height = _LEVEL_HEIGHT * (sum(levels) + len(levels))
    figure = Figure(figsize=(_WIDTH, height), layout="constrained")
    panels = figure.subplots(len(drawn), squeeze=False, height_ratios=levels)[:, 0]
    for axes, (family, queries, graph, places) in zip(panels, drawn, strict=True):
        spell = spell_places(family, pipeline.source)
        _draw(axes, graph, places, queries, spell)
        head = f"{family.name}: {len(queries):,} slides of {len(family.names):,} queries"
        axes.set_title(head, loc="left", fontsize=9)
    with mpl.rc_context({"svg.hashsalt": pipeline.name}):
        save(figure, path, dpi=120)


def _draw(
    axes: Axes, graph: SlidingGraph, places: Places, queries: Counter[int], spell: Spell
) -> None:
    tree = graph.tree
    for slide, parent in tree.parents.items():
        _edge(axes, places[parent], places[slide], "-")
    few = len(places) <= _NAMED_MAX
    for divisor, slide in graph.weak if few else ():
        _edge(axes, places[divisor], places[slide], ":")
    for slide, (across, level) in places.items():
        colour = _DUMMY if slide == tree.dummy_root else _SLIDE
        axes.plot(across, level, "o", color=colour, markersize=6 if few else 2)
        if few:
            count = f" ({queries[slide]:,})" if queries[slide] > 1 else ""
            axes.annotate(
                spell(slide) + count,
                (across, level),
                textcoords="offset points",
                xytext=(4, 4),
                fontsize=7,
            )
    axes.invert_yaxis()
    axes.set_axis_off()


def _edge(axes: Axes, above: tuple[float, int], below: tuple[float, int], style: str) -> None:
    axes.plot([above[0], below[0]], [above[1], below[1]], style, color=_EDGE, linewidth=0.7)


def _places(tree: SlidingTree) -> Places:
    """Put leaves side by side, and each other slide above the middle of those below it."""
    assert tree.root is not None  # noqa: S101 - a family has slides
    places: Places = {}
    leaves = 0
    ahead = [(tree.root, 0, False)]
    while ahead:
        slide, level, seen = ahead.pop()
        children = tree.children.get(slide, [])
        if not children:
            places[slide] = float(leaves), level
            leaves += 1
        elif seen:
            across = [places[child][0] for child in children]
            places[slide] = (min(across) + max(across)) / 2, level
        else:
            ahead.append((slide, level, True))
            ahead += [(child, level + 1, False) for child in reversed(children)]
    return places
