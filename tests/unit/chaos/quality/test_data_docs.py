"""Data Docs of hostile data: what stands on a topic is text on a page, and nothing is loaded."""

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from chaos.quality.page_view import PageView, block
from chaos.quality.run import check
from tests.strategies import Entry
from tests.unit.chaos.quality.test_expectations import HEAD
from tests.unit.chaos.verdict.test_verify import write_tables
from windowing.model import parse_pipeline
from windowing.semantics import evaluate

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")

SCRIPT = "<script>alert(1)</script>"
HOSTILE = [
    SCRIPT,
    "'\"><img src=x onerror=alert(1)>",
    "$column ${max_value} $$ {{ 7 * 7 }} {% raw %}",
    '<a href="javascript:alert(1)">x</a>',
    "</td></table><iframe src=//evil.example>",
    "\x1b[2Jäöü\u202e",
]
BLOCK = f"""\
  - {{query: w, expect_column_values_to_be_in_set: {{column: k, value_set: ["{SCRIPT}"]}}}}
  - {{query: w, expect_column_values_to_match_regex: {{column: k, regex: "^(?!<script>|')"}}}}
  - {{query: w, expect_column_distinct_values_to_be_in_set: {{column: k, value_set: [a]}}}}
  - {{query: w, expect_column_value_lengths_to_equal: {{column: k, value: 1}}}}
  - query: w
    expect_column_values_to_not_be_null: {{column: k, notes: "{SCRIPT}"}}
  - {{query: w, expect_column_values_to_be_unique: {{column: k}}}}
  - {{query: w, expect_column_max_to_be_between: {{column: k, max_value: 3}}}}
"""
P = parse_pipeline(HEAD + BLOCK)


class PageParser(HTMLParser):
    """Every tag with its attributes, and the text of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def seen(page: str) -> PageParser:
    parser = PageParser()
    parser.feed(page)
    return parser


TAGS = {
    *("html", "head", "meta", "title", "style", "body", "section", "h1", "h2", "h3", "p", "a"),
    *("table", "tr", "th", "td", "ul", "li", "details", "summary", "strong", "span", "br", "pre"),
}


def is_harmless(page: str) -> None:
    found = seen(page)
    assert {tag for tag, _ in found.tags} <= TAGS
    for tag, attributes in found.tags:
        assert set(attributes) <= {"href", "class", "title", "lang", "charset", "name", "content"}
        if "href" in attributes:
            assert tag == "a"
            assert re.fullmatch(r"(\.\./)*[\w~%+. /-]+\.html", attributes["href"] or "")
            assert not re.match(r"[\w+.-]*:", attributes["href"] or "")
    [style] = re.findall(r"<style>(.*?)</style>", page, re.DOTALL) or [""]
    assert not re.search(r"url|@import|:\s*//", style)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The pages of a run whose keys are hostile."""
    folder = tmp_path_factory.mktemp("hostile")
    log = [
        Entry("s", 0, at, json.dumps({"ts": at, "k": key}).encode(), None, None)
        for at, key in enumerate(HOSTILE)
    ]
    log += [Entry("s", lane, 99, None, b'{"end":true}', None) for lane in (0, 1)]
    write_tables(folder / "tables", P, evaluate(P, log))
    report = check(P, folder / "tables", "r1", iter(log), folder / "docs")
    assert not report.success
    return report.docs_index.parent


def test_no_page_runs_or_loads_anything(site: Path) -> None:
    pages = sorted(site.rglob("*.html"))
    assert len(pages) >= 3
    for path in pages:
        is_harmless(path.read_text(encoding="utf-8"))


def test_what_stands_on_the_topic_stands_on_the_page_as_text(site: Path) -> None:
    [page] = (site / "validations" / "final-w").rglob("*.html")
    text = " ".join(seen(page.read_text(encoding="utf-8")).text)
    for value in HOSTILE[:5]:
        assert value in text
    assert "✗" in text


def test_the_first_page_leads_to_every_result_and_suite(site: Path) -> None:
    links = {
        attributes["href"]
        for tag, attributes in seen((site / "index.html").read_text(encoding="utf-8")).tags
        if tag == "a"
    }
    wanted = {path.relative_to(site).as_posix() for path in site.rglob("*.html")} - {"index.html"}
    assert links == wanted
    for link in wanted:
        for tag, attributes in seen((site / link).read_text(encoding="utf-8")).tags:
            if tag == "a":
                assert ((site / link).parent / str(attributes["href"])).resolve().is_file()


@pytest.mark.parametrize("value", HOSTILE)
@pytest.mark.parametrize(
    "content",
    [
        "VALUE",
        ["VALUE", 1, None],
        {"VALUE": "VALUE"},
        {"content_block_type": "VALUE", "x": "VALUE"},
        {"content_block_type": "header", "header": "VALUE", "subheader": "VALUE"},
        {"content_block_type": "string_template", "string_template": "VALUE"},
        {"content_block_type": "string_template", "string_template": {"template": "VALUE\nb"}},
        {
            "content_block_type": "string_template",
            "string_template": {
                "template": "$a ${b} $c",
                "params": {"a": "VALUE", "b": {"VALUE": 1}, "html_success_icon": "VALUE"},
                "tag": "a",
                "styling": {
                    "params": {"a": {"tag": "a", "attributes": {"href": "VALUE"}}},
                    "attributes": {"href": "VALUE", "onclick": "VALUE"},
                },
            },
        },
        {"content_block_type": "table", "table": [["VALUE"]], "header_row": ["VALUE"]},
        {
            "content_block_type": "bootstrap_table",
            "table_columns": [{"field": "f", "title": "VALUE"}],
            "table_data": [{"f": "VALUE", "_table_row_link_path": "VALUE"}],
        },
        {"content_block_type": "bullet_list", "bullet_list": ["VALUE"]},
        {"content_block_type": "value_list", "value_list": ["VALUE"]},
        {"content_block_type": "text", "text": ["VALUE"]},
        {"content_block_type": "markdown", "markdown": "VALUE"},
        {"content_block_type": "collapse", "collapse_toggle_link": "VALUE", "collapse": ["VALUE"]},
        {"content_block_type": "tabs", "tabs": [{"tab_name": "VALUE", "tab_content": "VALUE"}]},
        {"content_block_type": "content_block_container", "content_blocks": ["VALUE"]},
        {"content_block_type": "graph", "graph": "VALUE"},
    ],
)
def test_every_kind_of_block_escapes(content: object, value: str) -> None:
    hostile = json.loads(json.dumps(content).replace("VALUE", json.dumps(value)[1:-1]))
    is_harmless(str(block(hostile)))
    document = {"sections": [{"content_blocks": [hostile]}], "page_title": value}
    is_harmless(PageView().render(document))


def test_a_link_leads_to_a_page_of_the_site_only() -> None:
    for href in (
        "javascript:x.html",
        "//evil.example/x.html",
        "http://localhost/x.html",
        "/etc/x.html",
    ):
        content = {
            "content_block_type": "string_template",
            "string_template": {
                "template": "t",
                "tag": "a",
                "styling": {"attributes": {"href": href}},
            },
        }
        assert "href" not in str(block(content))
