"""Kafka settings as the clients spell them: kafka-python in memory, Java's by files.

A Java client gets a reference to a secret, not the secret itself (KIP-297): Spark shows, plans,
ships and records options, and a password must not appear in any of them.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from infra.errors import InfraError
from infra.kafka_settings import KafkaSettings
from infra.private import read_small, write_private
from infra.redacted import HIDDEN, is_secret

SETTINGS_FILE = "settings.yml"
"""The file with a run's settings, in its folder of secrets."""

SECRETS_MARKER = ".slackwater-secrets"
"""In a folder of secrets that was made for them: it may be deleted as a whole."""

_PROVIDER = "org.apache.kafka.common.config.provider.DirectoryConfigProvider"
_LOGIN_MODULES = {
    "PLAIN": "org.apache.kafka.common.security.plain.PlainLoginModule",
    "SCRAM-SHA-256": "org.apache.kafka.common.security.scram.ScramLoginModule",
    "SCRAM-SHA-512": "org.apache.kafka.common.security.scram.ScramLoginModule",
}


def for_python(settings: KafkaSettings, defaults: Mapping[str, Any]) -> dict[str, Any]:
    """Convert the settings to arguments of a kafka-python client.

    Properties that this client does not have apply only to Spark's.

    Args:
        defaults: the client's own; they tell which properties it takes, and their types.

    Raises:
        InfraError: a secret's file cannot be read, or a property's value has another type.
    """
    found: dict[str, Any] = {
        "bootstrap_servers": settings.bootstrap.split(","),
        "security_protocol": settings.protocol,
    }
    if settings.sasl is not None:
        found["sasl_mechanism"] = settings.sasl.mechanism
        found["sasl_plain_username"] = settings.sasl.username
        found["sasl_plain_password"] = settings.sasl.secret()
    if settings.tls is not None:
        tls = settings.tls
        found["ssl_check_hostname"] = tls.check_hostname
        found["ssl_cafile"] = str(tls.ca) if tls.ca else None
        found["ssl_certfile"] = str(tls.certificate) if tls.certificate else None
        found["ssl_password"] = tls.secret()
    for name, value in _properties(settings).items():
        spelled = name.replace(".", "_")
        if spelled in defaults:
            found[spelled] = _typed(name, value, defaults[spelled])
    return found


def for_java(settings: KafkaSettings, folder: Path) -> dict[str, str]:
    """Convert the settings to properties of a Java client; write secrets into files of a folder.

    Args:
        folder: created if needed, readable only by us; the client's process must see it.

    Raises:
        InfraError: a secret's file cannot be read, or the folder's name cannot be spelled.
    """
    secrets: dict[str, str] = {}
    found = {"bootstrap.servers": settings.bootstrap, "security.protocol": settings.protocol}
    if settings.sasl is not None:
        found["sasl.mechanism"] = settings.sasl.mechanism
        secrets["sasl.jaas.config"] = _jaas(settings)
    if settings.tls is not None:
        tls = settings.tls
        if not tls.check_hostname:
            found["ssl.endpoint.identification.algorithm"] = ""
        if tls.ca is not None:
            found |= {"ssl.truststore.type": "PEM", "ssl.truststore.location": str(tls.ca)}
        if tls.certificate is not None:
            found |= {"ssl.keystore.type": "PEM", "ssl.keystore.location": str(tls.certificate)}
        password = tls.secret()
        if password is not None:
            secrets["ssl.key.password"] = password
    for name, value in _properties(settings).items():
        (secrets if is_secret(name, value) else found)[name] = value
    if secrets:
        _private(folder)
        for name, value in secrets.items():
            write_private(folder / name, value)
            found[name] = f"${{secrets:{_spellable(folder)}:{name}}}"
        found |= {"config.providers": "secrets", "config.providers.secrets.class": _PROVIDER}
    return found


def hand_over(settings: KafkaSettings, folder: Path) -> Path:
    """Write the settings where a job finds them again after each restart; return their file.

    A secret from the environment becomes a separate file that only we can read.

    Args:
        folder: the run's, for secrets.

    Raises:
        InfraError: a secret cannot be read.
    """
    _private(folder)
    given: dict[str, Any] = {"bootstrap": settings.bootstrap}
    if settings.sasl is not None:
        given["sasl"] = {
            "mechanism": settings.sasl.mechanism,
            "username": settings.sasl.username,
            "password_file": write_private(folder / "password", settings.sasl.secret()),
        }
    if settings.tls is not None:
        tls = settings.tls
        paths = {"ca": tls.ca, "certificate": tls.certificate}
        given["tls"] = {
            "check_hostname": tls.check_hostname,
            **{name: str(path.absolute()) for name, path in paths.items() if path is not None},
        }
        password = tls.secret()
        if password is not None:
            given["tls"]["key_password_file"] = write_private(folder / "key_password", password)
    plain, files = {}, {}
    for name, value in _properties(settings).items():
        if is_secret(name, value):
            files[name] = write_private(folder / f"property.{name}", value)
        else:
            plain[name] = value
    given |= {"properties": plain, "property_files": files}
    text = yaml.safe_dump({"kafka": given}, sort_keys=False)
    write_private(folder / SETTINGS_FILE, text)
    return folder / SETTINGS_FILE


def _private(folder: Path) -> None:
    if not folder.exists():
        write_private(folder / SECRETS_MARKER, "")
    folder.chmod(0o700)


def _properties(settings: KafkaSettings) -> dict[str, str]:
    """Return all free properties, including those in files."""
    found = dict(settings.properties)
    for name, file in settings.property_files.items():
        try:
            found[name] = read_small(file).rstrip("\r\n")
        except (OSError, ValueError) as error:
            text = f"the value of {name} in {file} cannot be read ({type(error).__name__})"
            raise InfraError(text) from error
    return found


def _jaas(settings: KafkaSettings) -> str:
    sasl = settings.sasl
    assert sasl is not None  # noqa: S101 - asked for where there is one

    def quoted(text: str) -> str:
        escaped = text.replace("\\", "\\\\").replace('"', '\\"')
        return f'"{escaped}"'

    login = f"username={quoted(sasl.username)} password={quoted(sasl.secret())}"
    return f"{_LOGIN_MODULES[sasl.mechanism]} required {login};"


def _typed(name: str, value: str, default: Any) -> Any:
    if isinstance(default, bool):
        if value not in ("true", "false"):
            text = f"the client property {name} is {_shown(name, value)}: it must be true or false"
            raise InfraError(text)
        return value == "true"
    if isinstance(default, int | float):
        try:
            return type(default)(value)
        except ValueError:
            text = f"the client property {name} is {_shown(name, value)}: it must be a number"
            raise InfraError(text) from None
    return value


def _shown(name: str, value: str) -> str:
    return HIDDEN if is_secret(name, value) else repr(value)


def _spellable(folder: Path) -> str:
    text = str(folder.absolute())
    if ":" in text or "}" in text:
        msg = f"{text} has a `:` or a `}}`, which Kafka cannot read in a name: use another folder"
        raise InfraError(msg)
    return text
