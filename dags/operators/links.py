"""Links from a task to what it started, available while the task is running.

Airflow asks a link for its address only when the task ends; if `execute` pushes it under the link's
own XCom key, it is there at once.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from airflow.configuration import conf
from airflow.sdk import BaseOperator, BaseOperatorLink, Context

DATA_DOCS_PREFIX = "/data-docs"
"""Where `dags/plugins/data_docs.py` serves the pages."""


class _ShownLink(BaseOperatorLink):
    """A link whose address the task learns while it runs."""

    def get_link(self, operator: BaseOperator, *, ti_key: Any) -> str:
        """Return the address passed to `show` in this process; empty if there was none."""
        return getattr(operator, "shown_links", {}).get(self.xcom_key, "")

    def show(self, operator: BaseOperator, context: Context, url: str | None) -> None:
        """Set the link's address; without one the link stays grey."""
        if not url:
            return
        shown = vars(operator).setdefault("shown_links", {})
        shown[self.xcom_key] = url
        context["ti"].xcom_push(key=self.xcom_key, value=url)


class SparkDriverLink(_ShownLink):
    """A link to the page of the job's Spark driver."""

    name = "Spark driver"


class DataDocsLink(_ShownLink):
    """A link to the Data Docs of the quality checks."""

    name = "Data Docs"


def data_docs_page(pipeline: str) -> str:
    """Return the first page of a pipeline's Data Docs, on Airflow's own site."""
    site = (conf.get("api", "base_url", fallback=None) or "").rstrip("/")
    return f"{site}{DATA_DOCS_PREFIX}/{quote(pipeline)}/"
