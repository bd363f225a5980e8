"""Pages of the Data Docs: Great Expectations' content in our own HTML.

Great Expectations' own pages insert keys and values unescaped, and load styles and scripts from
eight foreign hosts. Here every text is escaped, there is no script, and nothing is loaded. Content
and order are theirs: documents of sections and blocks.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from string import Template
from typing import Any, Final

from markupsafe import Markup, escape

from chaos.reports.pages import page

_LINK: Final = re.compile(r"(?:\.\./)*[\w~%-][\w~%+ ./-]*\.html")
_MARKS: Final = {
    "fa-check-circle": Markup('<span class="passed" title="met">✓</span>'),
    "fa-times": Markup('<span class="failed" title="not met">✗</span>'),
    "fa-exclamation-triangle": Markup('<span class="unknown" title="not evaluated">!</span>'),
}
"""Characters for Great Expectations' icons, which are glyphs of a font that its pages load."""

_BY_RENDERER: Final = {
    "SiteIndexPageRenderer": "Data Docs",
    "ExpectationSuitePageRenderer": "What is expected",
    "ValidationResultsPageRenderer": "What was found",
}


class PageView:
    """A view with the interface that Great Expectations' site builder expects.

    Args:
        custom_styles_directory: not used; passed by the builder.
        custom_views_directory: not used; passed by the builder.
    """

    def __init__(
        self, custom_styles_directory: object = None, custom_views_directory: object = None
    ) -> None:
        del custom_styles_directory, custom_views_directory

    def render(self, document: Any, **_: object) -> str:
        """Return the page of a document."""
        data: Mapping[str, Any] = (
            document if isinstance(document, dict) else document.to_json_dict()
        )
        title = _BY_RENDERER.get(str(data.get("renderer_type")), "Data Docs")
        sections = [
            Markup("").join(map(block, section["content_blocks"])) for section in data["sections"]
        ]
        return page("data_docs.html.j2", title=title, about=data.get("page_title"), body=sections)


def block(content: object) -> Markup:
    """Return a block of a document as HTML; anything that is not a block is text."""
    if content is None:
        return Markup("")
    if isinstance(content, list | tuple):
        return Markup(" ").join(map(block, content))
    if not isinstance(content, Mapping):
        return escape(str(content))
    make = _BLOCKS.get(str(content.get("content_block_type")))
    if make is None:
        return escape(str(dict(content)))
    return _heading(content) + make(content)


def _heading(content: Mapping[str, Any]) -> Markup:
    of_section = content["content_block_type"] == "header"
    line = Markup("<h2>{}</h2>") if of_section else Markup("<h3>{}</h3>")
    parts = Markup("")
    if content.get("header"):
        parts += line.format(block(content["header"]))
    if content.get("subheader"):
        parts += Markup("<p>{}</p>").format(block(content["subheader"]))
    return parts


def _template(content: Mapping[str, Any]) -> Markup:
    template = content["string_template"]
    if not isinstance(template, Mapping):
        return escape(str(template))
    styling = template.get("styling") or {}
    styles = styling.get("params") or {}
    params = {
        name: _parameter(name, value, styles.get(name) or {})
        for name, value in (template.get("params") or {}).items()
    }
    text = Template(str(escape(str(template.get("template", ""))))).safe_substitute(params)
    lines = Markup(text.replace("\n", "<br>"))  # noqa: S704 - escaped, parameter by parameter
    return _linked(lines, template.get("tag"), styling)


def _parameter(name: str, value: object, style: Mapping[str, Any]) -> Markup:
    if name == "html_success_icon":  # is HTML that names the icon
        return next((mark for icon, mark in _MARKS.items() if icon in str(value)), Markup(""))
    for name_of_class in style.get("classes") or ():
        if name_of_class in _MARKS:
            return _MARKS[name_of_class]
    text = block(value)
    if style.get("tag") == "a":
        return _linked(text, "a", style)
    return Markup("<strong>{}</strong>").format(text) if text else text


def _linked(text: Markup, tag: object, styling: Mapping[str, Any]) -> Markup:
    href = (styling.get("attributes") or {}).get("href")
    return _link(text, href) if tag == "a" else text


def _link(text: Markup, href: object) -> Markup:
    """Return a link, which must lead to a page of this site."""
    if not isinstance(href, str) or not _LINK.fullmatch(href):
        return text
    return Markup('<a href="{}">{}</a>').format(href, text)


def _table(content: Mapping[str, Any]) -> Markup:
    return _rows(content.get("header_row") or (), content["table"])


def _table_of_pages(content: Mapping[str, Any]) -> Markup:
    columns = [(column["field"], column["title"]) for column in content["table_columns"]]
    data = sorted(content["table_data"], key=lambda row: -float(row.get("_run_time_sort", 0)))
    rows = []
    for row in data:
        cells = [block(row.get(field)) for field, _ in columns]
        at = min(1, len(cells) - 1)  # the first shows an icon
        cells[at] = _link(cells[at], row.get("_table_row_link_path"))
        rows.append(cells)
    return _rows([title for _, title in columns], rows)


def _rows(header: Iterable[object], rows: Iterable[Iterable[object]]) -> Markup:
    def row(cells: Iterable[object], cell: Markup) -> Markup:
        made = (cell.format(_cell(content)) for content in cells)
        return Markup("<tr>{}</tr>").format(Markup("").join(made))

    head = [row(header, Markup("<th>{}</th>"))] if header else []
    body = [row(cells, Markup("<td>{}</td>")) for cells in rows]
    return Markup("<table>{}</table>").format(Markup("").join([*head, *body]))


def _cell(cell: object) -> Markup:
    return cell if isinstance(cell, Markup) else block(cell)


def _listed(name: str) -> Callable[[Mapping[str, Any]], Markup]:
    def make(content: Mapping[str, Any]) -> Markup:
        items = [made for made in map(block, content[name]) if made]
        listed = Markup("").join(Markup("<li>{}</li>").format(item) for item in items)
        return Markup("<ul>{}</ul>").format(listed)

    return make


def _text(content: Mapping[str, Any]) -> Markup:
    return Markup("").join(Markup("<p>{}</p>").format(block(part)) for part in content["text"])


def _collapse(content: Mapping[str, Any]) -> Markup:
    summary = block(content.get("collapse_toggle_link", "more"))
    return Markup("<details><summary>{}</summary>{}</details>").format(
        summary, block(content["collapse"])
    )


def _tabs(content: Mapping[str, Any]) -> Markup:
    return Markup("").join(
        Markup("<h2>{}</h2>{}").format(str(tab["tab_name"]), block(tab["tab_content"]))
        for tab in content["tabs"]
    )


def _nothing(_: Mapping[str, Any]) -> Markup:
    return Markup("")


_BLOCKS: Final[dict[str, Callable[[Mapping[str, Any]], Markup]]] = {
    "header": _nothing,  # it has only a heading
    "string_template": _template,
    "table": _table,
    "bootstrap_table": _table_of_pages,
    "bullet_list": _listed("bullet_list"),
    "value_list": _listed("value_list"),
    "text": _text,
    "markdown": lambda content: Markup("<pre>{}</pre>").format(str(content["markdown"])),
    "collapse": _collapse,
    "tabs": _tabs,
    "content_block_container": lambda content: block(content["content_blocks"]),
    # Charts need a script; their numbers are in the tables.
    "graph": _nothing,
}
