"""The page as HTML: templates that escape every value, and what they need besides the answer."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote, urlencode

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from dags.operators.links import DATA_DOCS_PREFIX
from dags.page.charts import Line, chart, short, strip
from infra.layout import default_layout

_FOLDER: Final = Path(__file__).with_name("templates")
_ORDER: Final = ("red", "yellow", "grey", "green")
_POINTS: Final = 60
"""Checks of an expectation that are shown, the newest."""


def page(template: str, **values: Any) -> str:
    """Return a page."""
    return _templates.get_template(template).render(**values)


def sorted_by_light(overviews: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return pipelines in the order in which somebody has to look at them."""
    return sorted(
        overviews, key=lambda one: (_ORDER.index(one["light"]["colour"]), one["pipeline"])
    )


def charts_of(overview: Mapping[str, Any]) -> list[Markup]:
    """Return the charts of a pipeline's life."""
    buckets = overview["history"]
    times = [one["at"] for one in buckets]

    def line(label: str, name: str, colour: str = "a", factor: float = 1.0) -> Line:
        values = [None if one[name] is None else one[name] * factor for one in buckets]
        return Line(label, values, colour)

    late = [
        None if one["late"] is None or not one["records"] else 100 * one["late"] / one["records"]
        for one in buckets
    ]
    return [
        chart("Records", times, [line("records", "records")]),
        chart("Rows", times, [line("rows", "rows"), line("revisions", "revisions", "b")]),
        chart("Late", times, [Line("share of the records", late, "b")], "%"),
        chart("Dead letters", times, [line("dead letters", "dead", "b")]),
        chart("Time of a batch", times, [line("mean", "batch_ms", factor=1e-3)], " s"),
        chart("State", times, [line("bytes", "state_bytes")], "B"),
    ]


def quality_of(overview: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return each expectation with its checks over time, as marks and, if numbers, as a chart."""
    found = []
    for one in overview["quality"]:
        points = one["points"][-_POINTS:]
        titles = [f"{point['at']}: {point['observed'] or 'unknown'}" for point in points]
        values = [_number(point["observed"]) for point in points]
        drawn = None
        if sum(value is not None for value in values) > 1:
            drawn = chart("observed", [point["at"] for point in points], [Line("", values)])
        found.append(
            {**one, "strip": strip([point["passed"] for point in points], titles), "chart": drawn}
        )
    return found


@dataclass(frozen=True)
class Row:
    """A row of an output.

    Attributes:
        cells: what it shows, by column.
        address: the part of an address that names its window, as a query.
    """

    cells: Mapping[str, Any]
    address: str


def row_of(line: Mapping[str, Any], run: str, query: str, key: Sequence[str]) -> Row:
    """Return a row as the page shows it.

    Args:
        line: a line of `slackwater newest`.
        key: the fields of the query's key.
    """
    # A field that is called like another column is called `key.` and its name there.
    values = [line.get(f"key.{name}", line.get(name)) for name in key]
    named = [("key", "null" if value is None else str(value)) for value in values]
    address = [("run", run), ("query", query), ("window", str(line["window_id"])), *named]
    cells = {name: value for name, value in line.items() if name not in _SAID}
    return Row(cells, urlencode(address))


_SAID: Final = ("run", "query", "batch_id", "lag_us", "offsets")


def href_of(place: str | None, pipeline: str) -> str | None:
    """Return the address of a place as a browser may open it; None: it is a path of the server."""
    if place is None or place.startswith(("http://", "https://")):
        return place
    docs = default_layout().data_docs(pipeline)
    path = Path(place)
    if path.is_relative_to(docs):
        return f"{DATA_DOCS_PREFIX}/{quote(pipeline)}/{quote(str(path.relative_to(docs)))}"
    return None


def _number(text: str | None) -> float | None:
    try:
        value = float(text or "")
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _count(value: float | None) -> str:
    return "–" if value is None else f"{value:,}"


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{value:.2%}"


def _time(value: str | None) -> str:
    """Write an instant for people: minutes, and seconds if there are any."""
    if value is None:
        return "–"
    return value.replace("T", " ").removesuffix("Z").removesuffix("+00:00").removesuffix(":00")


def _duration(seconds: float | None) -> str:
    if seconds is None:
        return "–"
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds:.3g} s"


def _age(seconds: float) -> str:
    return "just now" if seconds < 1 else f"{_duration(seconds)} ago"


def _environment() -> Environment:
    made = Environment(
        loader=FileSystemLoader(_FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters.update(
        age=_age,
        count=_count,
        percent=_percent,
        time=_time,
        duration=_duration,
        short=short,
        path=quote,
    )
    made.globals.update(query=urlencode, href_of=href_of)
    return made


_templates: Final = _environment()
