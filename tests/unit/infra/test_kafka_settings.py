"""Kafka settings: where they come from, what they refuse, and that secrets stay out of words."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest
from kafka import KafkaConsumer

from infra import kafka_settings
from infra.errors import InfraError
from infra.kafka_settings import FILE_VARIABLE, PREFIX, KafkaSettings, settings
from infra.kafka_spelling import for_java, for_python, hand_over

SECRET = 'a"b\\c $d'  # noqa: S105 - invented


def written(folder: Path, text: str) -> dict[str, str]:
    (folder / "slackwater.yml").write_text(text)
    (folder / "ca.pem").write_text("")
    return {FILE_VARIABLE: str(folder / "slackwater.yml")}


FILE = """
kafka:
  bootstrap: "one:9093, two:9093"
  sasl: {mechanism: SCRAM-SHA-512, username: tide, password: "${TIDE_PASSWORD}"}
  tls: {ca: ca.pem}
  properties: {client.id: me, request.timeout.ms: 5000, metric.reporters: x}
"""


def test_nothing_is_given() -> None:
    assert settings({}) is None


def test_a_file_with_references(tmp_path: Path) -> None:
    found = settings(written(tmp_path, FILE) | {"TIDE_PASSWORD": SECRET})
    assert found is not None
    assert found.bootstrap == "one:9093,two:9093"
    assert found.protocol == "SASL_SSL"
    assert found.sasl is not None
    assert found.sasl.secret() == SECRET
    assert found.tls is not None
    assert found.tls.ca == tmp_path / "ca.pem"
    assert SECRET not in repr(found)
    assert SECRET not in found.model_dump_json()


def test_variables_go_before_the_file(tmp_path: Path) -> None:
    secret = tmp_path / "password"
    secret.write_text("other\n")
    given = written(tmp_path, FILE) | {
        "TIDE_PASSWORD": SECRET,
        f"{PREFIX}USERNAME": "ebb",
        f"{PREFIX}PASSWORD_FILE": str(secret),
        f"{PREFIX}PROPERTIES": json.dumps({"client.id": "you"}),
        f"{PREFIX}TLS": "false",
    }
    found = settings(given)
    assert found is not None
    assert found.sasl is not None
    assert (found.sasl.username, found.sasl.secret()) == ("ebb", "other")
    assert found.properties["client.id"] == "you"
    assert found.protocol == "SASL_PLAINTEXT"


def test_variables_alone() -> None:
    given = {"BOOTSTRAP": "one:9093", "TLS": "true"}
    found = settings({f"{PREFIX}{name}": value for name, value in given.items()})
    assert found is not None
    assert found.protocol == "SSL"


def test_the_addresses_may_be_those_of_a_stack_elsewhere() -> None:
    found = settings({f"{PREFIX}TLS": "true", "SLACKWATER_KAFKA": "kafka:9092"})
    assert found == KafkaSettings(bootstrap="kafka:9092", tls={})


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("kafka: [", "are not YAML"),
        ("kafka: {bootstrap: one}", "'one' is not a broker's address: give host:port"),
        ("kafka: {bootstrap: 'one:9'}\nmore: 1", "must hold one key, `kafka`"),
        ("kafka: {bootstrap: 'one:9', sals: {}}", "sals: Extra inputs are not permitted"),
        ("kafka: {sasl: {mechanism: PLAIN, username: u, password: hunter2}}", "holds a secret its"),
        ("kafka: {sasl: {mechanism: PLAIN, username: u, password: 'x${A}'}}", "holds a secret its"),
        ("kafka: {sasl: {mechanism: PLAIN, username: u, password: '${NO_A}'}}", "has no NO_A"),
        ("kafka: {bootstrap: 'o:9', sasl: {mechanism: PLAIN, username: u}}", "one of them"),
        ("kafka: {bootstrap: 'o:9', sasl: {mechanism: GSSAPI, username: hunter2}}", "mechanism"),
        ("kafka: {bootstrap: 'o:9', tls: {ca: no.pem}}", "there is no file"),
        ("kafka: {bootstrap: 'o:9', tls: {key_password: hunter2}}", "holds a secret itself"),
        ("kafka: {properties: {sasl.jaas.config: hunter2}}", "properties.sasl.jaas.config"),
        ("kafka: {bootstrap: 'o:9', properties: {group.id: g}}", "group.id is not free"),
        ("kafka: {bootstrap: 'o:9', properties: {isolation.level: x}}", "is not free"),
        ("kafka: " + "[" * 1200, "are not YAML"),
        ("kafka: &a {bootstrap: *a}", "line 1 repeats another place by *"),
        ("kafka: {bootstrap: 'o:9', properties: {x: &x [1], y: [*x, *x]}}", "another place by *"),
        ("kafka:\n  bootstrap: o:9\n  bootstrap: p:9\n", "bootstrap is given twice below line 2"),
        ("kafka: {bootstrap: 'o:99999'}", "is not a broker's address"),
        ("kafka: {bootstrap: 'o:0'}", "is not a broker's address"),
        ('kafka: {bootstrap: "o\\e:9"}', "is not a broker's address"),
        ("kafka: {bootstrap: 'u:hunter2@o:9'}", "what stands there is not a broker's address"),
        ("kafka: {bootstrap: 'o:9', properties: {../../x: hunter2}}", "is not a client property"),
        ("kafka: {bootstrap: 'o:9', properties: {../../key: hunter2}}", "is not a client property"),
        (
            "kafka: {bootstrap: 'o:9', properties: {a: \"hunter2\\nb=c\"}}",
            "must be one line of text",
        ),
        ("kafka: {bootstrap: 'o:9', properties: {a: }}", "must be one line of text"),
        ("kafka: {bootstrap: 'o:9', properties: {a: [hunter2]}}", "must be one line of text"),
    ],
)
def test_what_is_wrong_is_one_sentence_without_secrets(
    tmp_path: Path, text: str, said: str
) -> None:
    with pytest.raises(InfraError) as caught:
        settings(written(tmp_path, text))
    assert said in str(caught.value)
    assert "hunter2" not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_misspelt_variable_is_an_error() -> None:
    with pytest.raises(InfraError, match="SLACKWATER_KAFKA_PASWORD is not a setting; there are"):
        settings({f"{PREFIX}PASWORD": "hunter2"})


def test_they_hold_for_the_addresses_that_they_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(f"{PREFIX}BOOTSTRAP", "one:9093")
    monkeypatch.setenv(f"{PREFIX}TLS", "true")
    assert kafka_settings.settings_for("one:9093").protocol == "SSL"
    assert kafka_settings.settings_for("127.0.0.1:9092").protocol == "PLAINTEXT"
    kafka_settings.use_addresses("127.0.0.1:9092")
    assert kafka_settings.settings_for("127.0.0.1:9092").protocol == "SSL"


def test_java_gets_no_secret_but_where_it_stands(tmp_path: Path) -> None:
    found = settings(written(tmp_path, FILE) | {"TIDE_PASSWORD": SECRET})
    assert found is not None
    folder = tmp_path / "kafka"
    spelled = for_java(found, folder)
    assert spelled["security.protocol"] == "SASL_SSL"
    assert spelled["sasl.jaas.config"] == f"${{secrets:{folder}:sasl.jaas.config}}"
    assert "${TIDE" not in str(spelled)
    line = (folder / "sasl.jaas.config").read_text()
    assert line.endswith('ScramLoginModule required username="tide" password="a\\"b\\\\c $d";')
    assert SECRET not in str(spelled)
    for path in (folder, *folder.iterdir()):
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0


def test_python_gets_what_it_knows_with_its_type(tmp_path: Path) -> None:
    found = settings(written(tmp_path, FILE) | {"TIDE_PASSWORD": SECRET})
    assert found is not None
    spelled = for_python(found, KafkaConsumer.DEFAULT_CONFIG)
    assert spelled["sasl_plain_password"] == SECRET
    assert spelled["request_timeout_ms"] == 5000
    assert spelled["client_id"] == "me"
    assert set(spelled) <= set(KafkaConsumer.DEFAULT_CONFIG)


def test_a_run_finds_them_again_without_the_environment(tmp_path: Path) -> None:
    given = written(tmp_path, FILE) | {
        "TIDE_PASSWORD": SECRET,
        f"{PREFIX}KEY_PASSWORD": "k",
        f"{PREFIX}PROPERTIES": json.dumps({"my.token": "t"}),
    }
    found = settings(given)
    assert found is not None
    file = hand_over(found, tmp_path / "run" / "kafka")
    again = settings({FILE_VARIABLE: str(file)})
    assert again is not None
    assert SECRET not in file.read_text()
    assert again.sasl is not None
    assert again.sasl.secret() == SECRET
    assert again.tls is not None
    assert again.tls.secret() == "k"
    assert for_java(again, tmp_path / "b").keys() == for_java(found, tmp_path / "a").keys()
    assert (tmp_path / "b" / "my.token").read_text() == "t"


def test_properties_of_the_environment_may_be_nested_however_deep() -> None:
    with pytest.raises(InfraError, match="must be a JSON object"):
        settings({f"{PREFIX}BOOTSTRAP": "o:9", f"{PREFIX}PROPERTIES": "[" * 100_000})


def test_an_endless_secret_is_not_read(tmp_path: Path) -> None:
    text = (
        "kafka: {bootstrap: 'o:9', sasl: {mechanism: PLAIN, username: u, password_file: /dev/zero}}"
    )
    found = settings(written(tmp_path, text))
    assert found is not None
    assert found.sasl is not None
    with pytest.raises(InfraError, match="/dev/zero cannot be read"):
        found.sasl.secret()
