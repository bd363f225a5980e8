"""No page that the platform writes asks a foreign host for anything: it is read without a network,
and nobody is told that somebody reads it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.unit.test_tidy import ROOT, tracked

# What makes a browser fetch something by itself; a plain link waits to be followed.
_LOADS = re.compile(
    r"""<(?:script|link|iframe|img|source|video|audio|object|embed|base|form)\b[^>]*?
        (?:src|href|data|action|srcset)\s*=\s*["']?\s*(?!data:)(?:[a-z+]+:)?//
      | @import | url\(\s*["']?(?:[a-z+]+:)?// | \bfetch\( | XMLHttpRequest
      | http-equiv(?!="refresh") | http-equiv="refresh"[^>]*url | <script\b""",
    re.IGNORECASE | re.VERBOSE,
)


def pages() -> list[Path]:
    """Whatever holds HTML: templates, and code that writes a page itself."""
    found = [path for path in tracked() if path.name.endswith((".html.j2", ".html"))]
    code = [path for path in tracked() if path.suffix == ".py" and path.parts[0] != "tests"]
    found += [p for p in code if "<!doctype" in (ROOT / p).read_text(encoding="utf-8").lower()]
    assert len(found) >= 6
    return found


@pytest.mark.parametrize(
    ("html", "loads"),
    [
        ('<script src="https://localhost/x.js"></script>', True),
        ("<link rel=stylesheet href=//localhost/x.css>", True),
        ("<img src='http://localhost/1.png'>", True),
        ("<style>@import 'x.css'</style>", True),
        ("<style>a { background: url(https://localhost/a.png) }</style>", True),
        ('<img src="data:image/png;base64,AA">', False),
        ('<meta http-equiv="refresh" content="0; url=//localhost/">', True),
        ('<meta http-equiv="set-cookie" content="a">', True),
        ('<meta http-equiv="refresh" content="30">', False),
        ('<a href="https://localhost/">a plain link</a>', False),
        ('<a href="report.html">ours</a>', False),
    ],
)
def test_the_search_finds_loads_and_no_links(html: str, loads: bool) -> None:
    assert bool(_LOADS.search(html)) == loads


def test_no_page_loads_anything_from_elsewhere() -> None:
    guilty = {
        str(path): found[0]
        for path in pages()
        if (found := _LOADS.search((ROOT / path).read_text(encoding="utf-8")))
    }
    assert not guilty
