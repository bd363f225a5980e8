"""Data Docs as pages of the Airflow UI: an entry in its menu, and a tab of every DAG.

Airflow mounts the applications of plugins without authentication; each page here requires the login
of the UI, like Airflow's own pages.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from html import escape
from pathlib import Path
from typing import ClassVar
from urllib.parse import quote

from airflow.api_fastapi.core_api.security import get_user
from airflow.plugins_manager import AirflowPlugin
from fastapi import Depends, FastAPI, HTTPException, Request
from fastapi.responses import FileResponse, HTMLResponse, RedirectResponse, Response

from dags.entities import NIGHTLY, QUALITY
from dags.operators.links import DATA_DOCS_PREFIX as PREFIX
from infra.layout import default_layout

HEADERS = {
    "Content-Security-Policy": (
        "sandbox allow-same-origin; default-src 'none'; style-src 'unsafe-inline'; "
        "img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'self'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}
"""Pages show data from topics on Airflow's own origin: no script runs on them, whatever its source,
and nothing is loaded from elsewhere. `allow-same-origin` lets links between pages carry the login;
without `allow-scripts` it grants nothing else."""

app = FastAPI(
    title="Data Docs of the pipelines",
    dependencies=[Depends(get_user)],
    docs_url=None,
    redoc_url=None,
    openapi_url=None,
)


@app.middleware("http")
async def harmless(request: Request, answer: Callable[[Request], Awaitable[Response]]) -> Response:
    """Add the headers to every response, including errors."""
    response = await answer(request)
    response.headers.update(HEADERS)
    return response


@app.get("/")
def index() -> HTMLResponse:
    """List the pipelines that have Data Docs."""
    layout = default_layout()
    names = sorted(
        folder.name
        for folder in layout.quality.glob("*")
        if (layout.data_docs(folder.name) / "index.html").is_file()
    )
    if not names:
        return _page("Nothing was checked yet: the task <code>quality</code> of a DAG makes pages.")
    items = "".join(f'<li><a href="{quote(name)}/">{escape(name)}</a></li>' for name in names)
    return _page(f"<h1>Data Docs</h1><ul>{items}</ul>")


@app.get("/{pipeline}/")
def first_page(pipeline: str) -> Response:
    """Return the first page of a pipeline's Data Docs."""
    if not (default_layout().data_docs(pipeline) / "index.html").is_file():
        name = f"<code>{escape(pipeline)}</code>"
        task = "publish" if pipeline == NIGHTLY else QUALITY
        return _page(f"{name} was not checked yet: its task <code>{task}</code> makes the pages.")
    return RedirectResponse("index.html")


@app.get("/{pipeline}/{path:path}")
def page(pipeline: str, path: str) -> FileResponse:
    """Return a page, or a file that a page shows.

    Raises:
        HTTPException: 404, there is no such file in the pipeline's Data Docs.
    """
    site = default_layout().data_docs(pipeline).resolve()
    wanted = (site / path).resolve()
    if not _lies_below(wanted, site) or not wanted.is_file():
        raise HTTPException(404, f"pipeline {pipeline} has no page {path}")
    return FileResponse(wanted)


def _lies_below(wanted: Path, site: Path) -> bool:
    """Whether a path, with links and dots resolved, is inside the site, itself in place."""
    quality = default_layout().quality.resolve()
    return wanted.is_relative_to(site) and site.is_relative_to(quality)


def _page(body: str) -> HTMLResponse:
    style = "body{font:15px system-ui,sans-serif;margin:2em;color-scheme:light dark}"
    return HTMLResponse(f"<!doctype html><title>Data Docs</title><style>{style}</style>{body}")


class DataDocs(AirflowPlugin):
    """Shows the application above in the UI."""

    name = "slackwater_data_docs"
    fastapi_apps: ClassVar = [{"app": app, "url_prefix": PREFIX, "name": "Data Docs"}]
    external_views: ClassVar = [
        {
            "name": "Data Docs",
            "href": f"{PREFIX}/",
            "destination": "nav",
            "url_route": "data-docs-all",
            "category": "browse",
        },
        {
            "name": "Data Docs",
            "href": f"{PREFIX}/{{DAG_ID}}/",
            "destination": "dag",
            "url_route": "data-docs",
        },
    ]
