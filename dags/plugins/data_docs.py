"""Data Docs as pages of the Airflow UI: an entry in its menu, and a tab of every DAG.

Airflow mounts the applications of plugins without authentication; each page here requires the login
of the UI, like Airflow's own pages.
"""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import Annotated, ClassVar
from urllib.parse import quote

from airflow.api_fastapi.auth.managers.models.base_user import BaseUser
from airflow.api_fastapi.core_api.security import get_user
from airflow.plugins_manager import AirflowPlugin
from fastapi import Depends, HTTPException
from fastapi.responses import FileResponse, HTMLResponse, RedirectResponse, Response

from dags.entities import NIGHTLY, QUALITY
from dags.operators.links import DATA_DOCS_PREFIX as PREFIX
from dags.page.answers import NAME
from dags.page.site import MAY_READ, Site, readable
from infra.layout import default_layout

POLICY = {
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

app = Site(title="Data Docs", policy=POLICY)


@app.get("/")
def index(user: Annotated[BaseUser, Depends(get_user)]) -> HTMLResponse:
    """List the pipelines that have Data Docs which the user may read."""
    layout = default_layout()
    names = sorted(
        folder.name
        for folder in layout.quality.glob("*")
        if NAME.fullmatch(folder.name) and (layout.data_docs(folder.name) / "index.html").is_file()
    )
    if not (names := readable(user, names)):
        return _page("Nothing was checked yet: the task <code>quality</code> of a DAG makes pages.")
    items = "".join(f'<li><a href="{quote(name)}/">{escape(name)}</a></li>' for name in names)
    return _page(f"<h1>Data Docs</h1><ul>{items}</ul>")


@app.get("/{dag_id}/", dependencies=[MAY_READ])
def first_page(dag_id: str) -> Response:
    """Return the first page of a pipeline's Data Docs.

    Raises:
        HTTPException: 404, no pipeline has such a name.
    """
    if not (_site(dag_id) / "index.html").is_file():
        name = f"<code>{escape(dag_id)}</code>"
        task = "publish" if dag_id == NIGHTLY else QUALITY
        return _page(f"{name} was not checked yet: its task <code>{task}</code> makes the pages.")
    return RedirectResponse("index.html")


@app.get("/{dag_id}/{path:path}", dependencies=[MAY_READ])
def page(dag_id: str, path: str) -> FileResponse:
    """Return a page, or a file that a page shows.

    Raises:
        HTTPException: 404, there is no such file in the pipeline's Data Docs.
    """
    site = _site(dag_id)
    try:
        wanted = (site / path).resolve()
        if _lies_below(wanted, site) and wanted.is_file():
            return FileResponse(wanted)
    except OSError:  # longer than a name may be
        pass
    raise HTTPException(404, f"pipeline {dag_id} has no page {path}")


def _site(name: str) -> Path:
    """Return the folder of a pipeline's Data Docs.

    Raises:
        HTTPException: 404, no pipeline has such a name.
    """
    if not NAME.fullmatch(name):
        raise HTTPException(404, f"no pipeline can have the name {name}")
    return default_layout().data_docs(name).resolve()


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
