"""What errors, logs, pages and command lines show of addresses and settings: never a login."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from infra import elsewhere, kafka_settings, outside, redacted, spark, spark_rest, yarn_jobs
from infra.endpoints import Endpoints
from infra.errors import InfraError, NotReady, SettingsError
from infra.kafka_settings import FILE_VARIABLE, PREFIX
from infra.kafka_spelling import for_java, for_python, hand_over
from infra.layout import ROOT
from infra.monitoring_settings import lineage_settings, telemetry_settings
from infra.setup import java_command

SECRET = "hunter2"  # noqa: S105 - invented
LOGIN = f"tide:{SECRET}"
WEB = "http://"


@pytest.mark.parametrize(
    ("address", "what"),
    [
        ("http://127.0.0.1:8088/ws", "http://127.0.0.1:8088/ws"),
        ("one:9092,two:9092", "one:9092,two:9092"),
        (f"{WEB}{LOGIN}@host:1/x", f"{WEB}***@host:1/x"),
        (f"{WEB}{LOGIN}@2@host:1", f"{WEB}***@host:1"),
        (f"{WEB}{LOGIN}/?#{SECRET}@host:1", f"{WEB}***@host:1"),
        (f"{LOGIN}@one:9,two:9", "***@one:9,two:9"),
        (f"one:9,{LOGIN}@two:9", "***@two:9"),
        (f"{WEB}host/v1?key=hunter2", f"{WEB}host/v1?***"),
        (f"{WEB}host/v1#hunter2", f"{WEB}host/v1?***"),
    ],
)
def test_an_address_is_shown_without_login_and_query(address: str, what: str) -> None:
    assert redacted.shown(address) == what


SECRET_NAMES = (
    *("basic.auth.user.info", "schema.registry.basic.auth.user.info", "my.passphrase"),
    *("sasl.oauthbearer.assertion.private.key.passphrase", "my.token", "bearer.auth.credentials"),
    *("spark.hadoop.fs.s3a.access.key", "api-key", "api_key", "sasl.jaas.config", "my.key"),
    *("spark.hadoop.javax.jdo.option.ConnectionPassword", "ssl.keystore.key", "X.Secret"),
)
PLAIN_NAMES = ("client.id", "request.timeout.ms", "keyed", "basic.auth.credentials.source", "users")


def test_names_and_values_tell_a_secret() -> None:
    assert not [name for name in SECRET_NAMES if not redacted.is_secret(name)]
    assert not [name for name in PLAIN_NAMES if redacted.is_secret(name)]
    assert redacted.is_secret("schema.registry.url", f"{WEB}{LOGIN}@host")
    assert not redacted.is_secret("schema.registry.url", f"{WEB}host/a,b")


def test_spark_hides_the_same(tmp_path: Path) -> None:
    """Java reads the expression, from a file of properties, as Python does."""
    words = [*SECRET_NAMES, *PLAIN_NAMES, f"{WEB}{LOGIN}@host", f"{WEB}host/a"]
    program = """
        import java.util.regex.Pattern;
        class Found {
            public static void main(String[] given) throws Exception {
                var settings = new java.util.Properties();
                settings.load(new java.io.FileReader(given[0]));
                var pattern = Pattern.compile(settings.getProperty("spark.redaction.regex"));
                for (int i = 1; i < given.length; i++)
                    System.out.print(pattern.matcher(given[i]).find() ? "1" : "0");
            }
        }
    """
    conf = ROOT / "infra" / "cluster" / "spark.conf"
    (tmp_path / "Found.java").write_text(program)
    found = subprocess.run(
        [str(java_command()), str(tmp_path / "Found.java"), str(conf), *words],
        capture_output=True,
        text=True,
        check=True,
    )
    expected = [bool(re.search(redacted.SPARK_REGEX, word)) for word in words]
    assert [one == "1" for one in found.stdout] == expected
    assert expected == [True] * len(SECRET_NAMES) + [False] * len(PLAIN_NAMES) + [True, False]


def test_every_cluster_of_ours_hides_the_same(tmp_path: Path) -> None:
    spark.write_defaults(tmp_path, "h", bind="h", rest=1, recovery=tmp_path / "r", key="k")
    for file in (*tmp_path.glob("*.conf"), ROOT / "infra" / "cluster" / "spark.conf"):
        lines = [line.split(maxsplit=1) for line in file.read_text().splitlines()]
        assert ["spark.redaction.regex", redacted.SPARK_REGEX] in lines, file


ENDPOINTS = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT")


@pytest.mark.parametrize(
    ("variable", "read"),
    [
        *((name, telemetry_settings) for name in ENDPOINTS),
        ("OPENLINEAGE_URL", lineage_settings),
        ("OPENLINEAGE_ENDPOINT", lineage_settings),
    ],
)
@pytest.mark.parametrize(
    "value",
    [
        f"{WEB}{LOGIN}@127.0.0.1:1",
        f"{LOGIN}@127.0.0.1:1",
        f"http://127.0.0.1:1/?key={SECRET}",
        f"api/v1?key={SECRET}",
        f"http://127.0.0.1:1/#{SECRET}",
    ],
)
def test_a_receiver_with_a_secret_is_refused_and_not_repeated(
    monkeypatch: pytest.MonkeyPatch, variable: str, read: Callable[[], object], value: str
) -> None:
    monkeypatch.setenv(variable, value)
    with pytest.raises(SettingsError, match=r"contains a (login|query), which") as caught:
        read()
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize("name", ["basic.auth.user.info", "my.passphrase", "schema.registry.url"])
def test_a_secret_property_is_in_a_file_of_its_own(tmp_path: Path, name: str) -> None:
    value = f"{WEB}{LOGIN}@host" if name.endswith("url") else LOGIN
    (tmp_path / "wrong.yml").write_text(
        f"kafka: {{bootstrap: 'o:9', properties: {{{name}: '{value}'}}}}"
    )
    with pytest.raises(InfraError, match="holds a secret itself") as caught:
        kafka_settings.settings({FILE_VARIABLE: str(tmp_path / "wrong.yml")})
    assert SECRET not in str(caught.value)
    given = {f"{PREFIX}BOOTSTRAP": "o:9", f"{PREFIX}PROPERTIES": json.dumps({name: value})}
    found = kafka_settings.settings(given)
    assert found is not None
    assert SECRET not in str(for_java(found, tmp_path / "java"))
    assert SECRET not in hand_over(found, tmp_path / "run").read_text()
    again = kafka_settings.settings({FILE_VARIABLE: str(tmp_path / "run" / "settings.yml")})
    assert again is not None
    for_java(again, tmp_path / "again")
    assert (tmp_path / "again" / name).read_text() == value


def test_a_property_of_the_wrong_kind_is_not_repeated_if_it_is_secret() -> None:
    given = {"request.token.ms": SECRET, "client.id": "x"}
    found = kafka_settings.KafkaSettings(bootstrap="o:9", properties=given)
    with pytest.raises(InfraError, match="must be a number") as caught:
        for_python(found, {"request_token_ms": 1})
    assert SECRET not in str(caught.value)


def test_a_stack_elsewhere_is_spoken_of_without_its_login(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    url = f"{WEB}{LOGIN}@127.0.0.1:1"
    names = (elsewhere.SPARK, elsewhere.SPARK_REST, elsewhere.SPARK_UI)
    names += (elsewhere.YARN, elsewhere.HDFS, elsewhere.HADOOP_CONF, elsewhere.AIRFLOW)
    for name in names:
        monkeypatch.setenv(name, url)
    monkeypatch.setenv(elsewhere.KAFKA, "one:9092")
    monkeypatch.setenv("SLACKWATER_STATE_DIR", str(tmp_path))
    found = elsewhere.endpoints(("kafka", "spark", "airflow"), user="admin", jars="")
    asked: list[Callable[[Endpoints], object]] = [
        spark_rest.list_drivers,
        yarn_jobs.list_drivers,
        lambda them: spark_rest.submit(them, "/x.py", [], name="x"),
        lambda them: spark.page(them.spark_ui),
        lambda them: spark.alive_workers(them.spark_ui),
    ]
    for ask in asked:
        with pytest.raises((InfraError, NotReady), match=r"\*\*\*@127\.0\.0\.1:1") as caught:
            ask(found)
        assert SECRET not in str(caught.value)
    for address in (
        outside.spark_ui(found),
        outside.airflow_url(found),
        yarn_jobs.page_of(found, "a"),
    ):
        assert address.startswith("http://***@127.0.0.1:1")
