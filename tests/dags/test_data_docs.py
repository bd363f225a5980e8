"""The Data Docs in the Airflow UI: who may read them, and which files."""

import shutil
from pathlib import Path

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


def login(client):
    """Log a client in as the UI does it."""
    from airflow.api_fastapi.app import get_auth_manager
    from airflow.api_fastapi.auth.managers.simple.user import SimpleAuthManagerUser

    user = SimpleAuthManagerUser(username="reader", role="viewer")
    client.cookies.set("_token", get_auth_manager().generate_jwt(user))
    return client


@pytest.fixture
def reader(anybody):
    """The same, logged in."""
    return login(anybody)


@pytest.mark.usefixtures("airflow_database", "quality")
@pytest.mark.parametrize("path", ["/", "/flight_delays/", "/flight_delays/index.html"])
def test_only_those_who_are_logged_in_read_them(anybody, path):
    assert anybody.get(path).status_code == 401


@pytest.mark.usefixtures("airflow_database", "quality")
def test_the_menu_leads_to_every_pipeline_that_was_checked(reader):
    assert 'href="flight_delays/"' in reader.get("/").text
    assert reader.get("/flight_delays/").text == QUALITY_PAGE
    assert "not checked yet" in reader.get("/other/").text


@pytest.mark.usefixtures("airflow_database", "quality")
def test_an_empty_page_names_the_task_that_fills_it(reader):
    from dags.entities import read_plans
    from dags.render_nightly import render_nightly

    assert "task <code>quality</code>" in reader.get("/other/").text
    assert "task <code>publish</code>" in reader.get("/chaos_nightly/").text
    assert "publish" in render_nightly(read_plans(Path(__file__).parents[2])).task_ids


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


@pytest.mark.usefixtures("airflow_database", "quality")
@pytest.mark.parametrize("path", ["/", "/flight_delays/index.html", "/other/", "/flight_delays/no"])
def test_no_page_may_run_a_script_or_load_anything(anybody, path):
    for answer in (anybody.get(path), login(anybody).get(path)):
        policy = {
            part.split()[0]: part.split()[1:]
            for part in answer.headers["Content-Security-Policy"].split(";")
        }
        assert "allow-scripts" not in policy["sandbox"]
        assert policy["default-src"] == policy["base-uri"] == policy["form-action"] == ["'none'"]
        assert "script-src" not in policy
        assert policy["frame-ancestors"] == ["'self'"]
        assert answer.headers["X-Content-Type-Options"] == "nosniff"


@pytest.mark.usefixtures("airflow_database")
def test_the_headers_stand_on_what_airflow_itself_serves(quality):
    """The application as Airflow mounts it, not as it is imported here."""
    from airflow.api_fastapi.app import create_app
    from fastapi.testclient import TestClient

    page = quality / "flight_delays/gx/uncommitted/data_docs/local_site/index.html"
    page.write_text("<script>alert(1)</script>")
    client = login(TestClient(create_app(apps="core")))
    answer = client.get("/data-docs/flight_delays/index.html")
    assert answer.status_code == 200
    assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
    assert answer.headers["X-Content-Type-Options"] == "nosniff"


@pytest.mark.usefixtures("airflow_database")
def test_a_hostile_name_is_text_on_the_page(reader, quality):
    name = "<script>alert(1)<"
    (quality / name / "gx/uncommitted/data_docs/local_site").mkdir(parents=True)
    (quality / name / "gx/uncommitted/data_docs/local_site/index.html").touch()
    assert "script" not in reader.get("/").text
    asked = {"accept": "text/html"}
    refused = reader.get("/%3Cscript%3Ealert(1)/", headers=asked)
    assert refused.status_code == 404
    assert "<script" not in refused.text
    assert "&lt;script&gt;" in refused.text


HIDDEN = "payments"


@pytest.fixture
def guarded(quality, monkeypatch):
    """A client of Airflow's whole site, under an auth manager that grants rights by DAG."""
    from airflow.api_fastapi import app
    from airflow.api_fastapi.auth.managers.simple.simple_auth_manager import SimpleAuthManager
    from fastapi.testclient import TestClient

    class ByDag(SimpleAuthManager):
        """Shows every DAG but one."""

        def is_authorized_dag(self, *, method, user, access_entity=None, details=None):
            return details is None or details.id != HIDDEN

    shutil.copytree(quality / "flight_delays", quality / HIDDEN)
    monkeypatch.setattr(app._AuthManagerState, "instance", None)
    monkeypatch.setattr(app, "get_auth_manager_cls", lambda: ByDag)
    return login(TestClient(app.create_app(apps="core")))


@pytest.mark.usefixtures("airflow_database")
@pytest.mark.parametrize("way", ["", "index.html", "no.html"])
def test_whoever_may_not_read_a_dag_may_not_read_its_data_docs(guarded, way):
    assert guarded.get(f"/pipelines/{HIDDEN}/").status_code == 403
    refused = guarded.get(f"/data-docs/{HIDDEN}/{way}")
    assert refused.status_code == 403
    assert "all windows" not in refused.text
    listed = guarded.get("/data-docs/").text
    assert "flight_delays" in listed
    assert HIDDEN not in listed
    assert guarded.get("/data-docs/flight_delays/index.html").text == QUALITY_PAGE


@pytest.mark.usefixtures("airflow_database", "quality")
@pytest.mark.parametrize(
    "path",
    [
        "/a%00b/",
        "/flight_delays/a%00b",
        "/flight_delays/index.html?a=%00",
        f"/{'x' * 260}/",
        f"/flight_delays/{'x' * 900}",
        f"/flight_delays/{'x/' * 2_000}",
        "/%2e%2e/",
    ],
)
def test_an_address_that_nothing_has_is_refused_with_a_sentence_and_the_policy(reader, path):
    answer = reader.get(path)
    assert 400 <= answer.status_code < 500, answer.text
    assert answer.json()["detail"]
    assert "default-src 'none'" in answer.headers["Content-Security-Policy"]


def test_airflow_finds_the_plugin():
    from airflow.plugins_manager import get_plugin_info

    views = [
        view
        for plugin in get_plugin_info()
        if plugin["name"] == "slackwater_data_docs"
        for view in plugin["external_views"]
    ]
    assert {view["destination"] for view in views} == {"nav", "dag"}
