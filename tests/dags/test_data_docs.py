"""The Data Docs in the Airflow UI: who may read them, and which files."""

import pytest

QUALITY_PAGE = "<p>all windows are there</p>"


@pytest.fixture
def quality(tmp_path, monkeypatch):
    """A state folder with the Data Docs of one pipeline, and a secret beside them."""
    monkeypatch.setenv("SLACKWATER_STATE_DIR", str(tmp_path))
    site = tmp_path / "quality" / "flight_delays" / "gx/uncommitted/data_docs/local_site"
    site.mkdir(parents=True)
    (site / "index.html").write_text(QUALITY_PAGE)
    (tmp_path / "secrets.json").write_text("{}")
    return tmp_path / "quality"


@pytest.fixture
def anybody():
    """A client of the plugin's application that has not logged in."""
    from airflow.api_fastapi.app import create_auth_manager
    from fastapi.testclient import TestClient

    from dags.plugins.data_docs import app

    create_auth_manager()
    return TestClient(app)


@pytest.fixture
def reader(anybody):
    """The same, logged in as the UI does it."""
    from airflow.api_fastapi.app import get_auth_manager
    from airflow.api_fastapi.auth.managers.simple.user import SimpleAuthManagerUser

    user = SimpleAuthManagerUser(username="reader", role="viewer")
    anybody.cookies.set("_token", get_auth_manager().generate_jwt(user))
    return anybody


@pytest.mark.usefixtures("airflow_database", "quality")
@pytest.mark.parametrize("path", ["/", "/flight_delays/", "/flight_delays/index.html"])
def test_only_those_who_are_logged_in_read_them(anybody, path):
    assert anybody.get(path).status_code == 401


@pytest.mark.usefixtures("airflow_database", "quality")
def test_the_menu_leads_to_every_pipeline_that_was_checked(reader):
    assert 'href="flight_delays/"' in reader.get("/").text
    assert reader.get("/flight_delays/").text == QUALITY_PAGE
    assert "not checked yet" in reader.get("/other/").text


@pytest.mark.usefixtures("airflow_database")
def test_nothing_outside_the_pages_can_be_read(reader, quality):
    assert reader.get("/flight_delays/missing.html").status_code == 404
    assert (
        reader.get("/flight_delays/%2e%2e/%2e%2e/%2e%2e/%2e%2e/%2e%2e/secrets.json").status_code
        == 404
    )
    link = quality / "flight_delays/gx/uncommitted/data_docs/local_site/link.html"
    link.symlink_to(quality.parent / "secrets.json")
    assert reader.get("/flight_delays/link.html").status_code == 404


def test_airflow_finds_the_plugin():
    from airflow.plugins_manager import get_plugin_info

    views = [
        view
        for plugin in get_plugin_info()
        if plugin["name"] == "slackwater_data_docs"
        for view in plugin["external_views"]
    ]
    assert {view["destination"] for view in views} == {"nav", "dag"}
