"""The pipelines as pages of the Airflow UI: an entry in its menu, and a tab of every DAG."""

from __future__ import annotations

from typing import ClassVar

from airflow.plugins_manager import AirflowPlugin

from dags.page.app import PREFIX, app


class Pipelines(AirflowPlugin):
    """Shows the application in the UI."""

    name = "slackwater_pipelines"
    fastapi_apps: ClassVar = [{"app": app, "url_prefix": PREFIX, "name": "Pipelines"}]
    external_views: ClassVar = [
        {
            "name": "Pipelines",
            "href": f"{PREFIX}/",
            "destination": "nav",
            "url_route": "pipelines-all",
        },
        {
            "name": "Pipeline",
            "href": f"{PREFIX}/{{DAG_ID}}/",
            "destination": "dag",
            "url_route": "pipeline",
        },
    ]
