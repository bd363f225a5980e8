"""How to reach your own Kafka cluster: addresses, login, TLS, client properties.

They come from a settings file (`slackwater --kafka FILE …`, or SLACKWATER_KAFKA_FILE), from the
environment (`SLACKWATER_KAFKA_…`, which overrides the file), or from an Airflow connection, whose
tasks pass them on in that environment. The file itself contains no secrets:

    kafka:
      bootstrap: broker-1.example:9093,broker-2.example:9093
      sasl: {mechanism: SCRAM-SHA-512, username: flights, password: "${FLIGHTS_PASSWORD}"}
      tls: {ca: ca.pem, certificate: client.pem, key_password_file: /run/secrets/key}
      properties: {client.dns.lookup: resolve_canonical_bootstrap_servers_only}

They apply only to the addresses that they name: chaos breaks a broker of its own.
How clients spell them: `infra/kafka_spelling.py`.
"""

import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    SecretStr,
    ValidationError,
    field_validator,
    model_validator,
)

from infra import kafka_file
from infra.errors import SettingsError
from infra.private import read_small

FILE_VARIABLE = "SLACKWATER_KAFKA_FILE"
"""Names the settings file."""

PREFIX = "SLACKWATER_KAFKA_"
"""The prefix of all variables below, and of nothing else."""

_ADDRESSES_ELSEWHERE = "SLACKWATER_KAFKA"  # belongs to infra/elsewhere.py

_VARIABLES: Mapping[str, tuple[str, ...]] = {
    "BOOTSTRAP": ("bootstrap",),
    "SASL_MECHANISM": ("sasl", "mechanism"),
    "USERNAME": ("sasl", "username"),
    "PASSWORD": ("sasl", "password"),
    "PASSWORD_FILE": ("sasl", "password_file"),
    "TLS": ("tls",),
    "CA": ("tls", "ca"),
    "CERTIFICATE": ("tls", "certificate"),
    "KEY_PASSWORD": ("tls", "key_password"),
    "KEY_PASSWORD_FILE": ("tls", "key_password_file"),
    "CHECK_HOSTNAME": ("tls", "check_hostname"),
    "PROPERTIES": ("properties",),
}
"""What each variable sets, by its name behind the prefix."""

_OURS = re.compile(
    r"bootstrap\.servers|security\.protocol|sasl\.(mechanism|jaas\.config)|config\.providers.*"
    r"|ssl\.(truststore|keystore|key)\..*|ssl\.endpoint\.identification\.algorithm"
    r"|isolation\.level|group\..*|enable\.(auto\.commit|idempotence)|auto\.offset\.reset|acks"
    r"|transactional\.id|(key|value)\.(de)?serializer|interceptor\.classes"
)
_ADDRESS = re.compile(r"(?:[\w.-]{1,255}|\[[0-9a-fA-F:.%\w]+\]):(?P<port>\d{1,5})")
_PROPERTY = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}")  # for the argument with a file's path


class _Part(BaseModel):
    # The value may be a secret: an error must not repeat it.
    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)


class Sasl(_Part):
    """The login.

    Attributes:
        mechanism: how the password is proved.
        password: in a file only as `${NAME}`, a reference to the environment.
        password_file: a file that contains only the password, instead of it.
    """

    mechanism: Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"]
    username: str = Field(min_length=1)
    password: SecretStr | None = None
    password_file: Path | None = None

    @model_validator(mode="after")
    def _one_password(self) -> "Sasl":
        if (self.password is None) == (self.password_file is None):
            msg = "give the password as `password: ${NAME}` or as `password_file`, one of them"
            raise ValueError(msg)
        return self

    def secret(self) -> str:
        """The password.

        Raises:
            SettingsError: its file cannot be read.
        """
        return _secret(self.password, self.password_file)


class Tls(_Part):
    """Certificates: those that we trust, and our own.

    Attributes:
        ca: PEM certificates of authorities that sign for brokers; None: the system's.
        certificate: our own, in PEM: its chain and its key (PKCS#8) in one file.
        key_password: of that key, in a file only as `${NAME}`.
        key_password_file: a file that contains only that password, instead of it.
        check_hostname: whether a broker's certificate must match its address.
    """

    ca: Path | None = None
    certificate: Path | None = None
    key_password: SecretStr | None = None
    key_password_file: Path | None = None
    check_hostname: bool = True

    @model_validator(mode="after")
    def _files(self) -> "Tls":
        if self.key_password is not None and self.key_password_file is not None:
            msg = "give key_password or key_password_file, one of them"
            raise ValueError(msg)
        for name in ("ca", "certificate"):
            path = getattr(self, name)
            if path is not None and not path.is_file():
                msg = f"{name}: there is no file {path}"
                raise ValueError(msg)
        return self

    def secret(self) -> str | None:
        """The password of the certificate's key; None: it has none.

        Raises:
            SettingsError: its file cannot be read.
        """
        if self.key_password is None and self.key_password_file is None:
            return None
        return _secret(self.key_password, self.key_password_file)


class KafkaSettings(_Part):
    """How to reach one cluster.

    Attributes:
        bootstrap: `host:port` of brokers, separated by commas.
        sasl: the login; None: none.
        tls: None: no encryption.
        properties: any other property of a client, in Kafka's own spelling.
        property_files: the same for secrets: each value in its own file.
    """

    bootstrap: str
    sasl: Sasl | None = None
    tls: Tls | None = None
    properties: dict[str, str] = Field(default_factory=dict, repr=False)
    property_files: dict[str, Path] = Field(default_factory=dict)

    @field_validator("bootstrap")
    @classmethod
    def _addresses(cls, text: str) -> str:
        addresses = [one.strip() for one in text.split(",")]
        for one in addresses:
            match = _ADDRESS.fullmatch(one)
            if match is None or not 0 < int(match["port"]) < 65_536:
                # With an @, it may be a login.
                which = "what stands there" if "@" in one else repr(one)
                msg = f"{which} is not a broker's address: give host:port, such as 127.0.0.1:9092"
                raise ValueError(msg)
        return ",".join(addresses)

    @field_validator("properties", mode="before")
    @classmethod
    def _texts(cls, given: Any) -> Any:
        if not isinstance(given, dict):
            return given
        return {name: _property(name, value) for name, value in given.items()}

    @model_validator(mode="after")
    def _not_ours(self) -> "KafkaSettings":
        for name in (*self.properties, *self.property_files):
            if _OURS.fullmatch(name):
                msg = (
                    f"the client property {name} is not free: results depend on it, or it has a "
                    "key of its own (bootstrap, sasl, tls); leave it out"
                )
                raise ValueError(msg)
        return self

    @property
    def is_more(self) -> bool:
        """Whether there are settings besides addresses."""
        return self != KafkaSettings(bootstrap=self.bootstrap)

    @property
    def user(self) -> str:
        """The user, for error messages."""
        if self.sasl is not None:
            return f"user {self.sasl.username!r}"
        if self.tls is not None and self.tls.certificate is not None:
            return f"the owner of {self.tls.certificate}"
        return "a client without a login"

    @property
    def protocol(self) -> str:
        """Kafka's security.protocol."""
        names = {
            (False, False): "PLAINTEXT",
            (False, True): "SSL",
            (True, False): "SASL_PLAINTEXT",
            (True, True): "SASL_SSL",
        }
        return names[self.sasl is not None, self.tls is not None]


def settings_for(bootstrap: str) -> KafkaSettings:
    """Return the settings for these addresses: the given ones if they name them, else none.

    Raises:
        SettingsError: settings are given, and are wrong.
    """
    given = settings()
    if given is not None and given.bootstrap == bootstrap:
        return given
    try:
        return KafkaSettings(bootstrap=bootstrap)
    except ValidationError as error:
        raise SettingsError(_first(error)) from None


def settings(environment: Mapping[str, str] | None = None) -> KafkaSettings | None:
    """Return the settings in the environment, or in the file that it names; None: there are none.

    Args:
        environment: default: this process's.

    Raises:
        SettingsError: they are wrong; says where, and what to do.
    """
    given = os.environ if environment is None else environment
    known = {f"{PREFIX}{name}" for name in _VARIABLES} | {FILE_VARIABLE}
    if unknown := sorted(name for name in given if name.startswith(PREFIX) and name not in known):
        text = f"{unknown[0]} is not a setting; there are {', '.join(sorted(known))}"
        raise SettingsError(text)
    file = given.get(FILE_VARIABLE)
    found = kafka_file.read(Path(file), given) if file else {}
    _override(found, given)
    if not found:
        return None
    if "bootstrap" not in found and given.get(_ADDRESSES_ELSEWHERE):
        found["bootstrap"] = given[_ADDRESSES_ELSEWHERE]
    where = file or f"the variables {PREFIX}…"
    try:
        return KafkaSettings.model_validate(found)
    except ValidationError as error:
        text = f"the Kafka settings of {where} are wrong: {_first(error)}"
        raise SettingsError(text) from None


def choose(file: Path) -> None:
    """Make this process and its children use the settings of a file, below those in variables.

    Raises:
        SettingsError: they are wrong.
    """
    os.environ[FILE_VARIABLE] = str(file.absolute())
    settings()


def use(file: Path) -> None:
    """Make this process and its children use only the settings of a file."""
    for name in [name for name in os.environ if name.startswith(PREFIX)]:
        del os.environ[name]
    os.environ[FILE_VARIABLE] = str(file)


def use_addresses(bootstrap: str) -> str:
    """Apply the given settings, if any, to these addresses; return the addresses."""
    if settings() is not None:
        os.environ[f"{PREFIX}BOOTSTRAP"] = bootstrap
    return bootstrap


def _override(found: dict[str, Any], given: Mapping[str, str]) -> None:
    for name, path in _VARIABLES.items():
        value = given.get(f"{PREFIX}{name}")
        if not value:
            continue
        if name == "TLS":
            _set_tls(found, value)
        elif name == "PROPERTIES":
            found.update(properties=found.get("properties", {}) | _json(value))
        elif len(path) == 1:
            found[path[0]] = value
        else:
            part = found.setdefault(path[0], {})
            # A secret and its file are one setting: the one that is given last replaces both.
            stem = path[1].removesuffix("_file")
            if stem.endswith("password"):
                part.pop(stem, None)
                part.pop(f"{stem}_file", None)
            part[path[1]] = value


def _property(name: Any, value: Any) -> str:
    """Convert a client property's value to Kafka's spelling; an error does not repeat it."""
    if not isinstance(name, str) or not _PROPERTY.fullmatch(name):
        msg = f"{str(name)[:80]!r} is not a client property: write its name, as client.id"
        raise ValueError(msg)
    if isinstance(value, bool):
        return str(value).lower()
    if not isinstance(value, str | int | float) or not str(value).isprintable():
        msg = f"the client property {name} must be one line of text, a number, true or false"
        raise ValueError(msg)
    return str(value)


def _set_tls(found: dict[str, Any], value: str) -> None:
    if value.lower() not in ("true", "false"):
        text = f"{PREFIX}TLS is {value!r}: it must be true or false"
        raise SettingsError(text)
    if value.lower() == "true":
        found.setdefault("tls", {})
    else:
        found.pop("tls", None)


def _json(text: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        text = f'{PREFIX}PROPERTIES must be a JSON object, such as {{"client.id": "slackwater"}}'
        raise SettingsError(text)
    return found


def _secret(value: SecretStr | None, file: Path | None) -> str:
    if value is not None:
        return value.get_secret_value()
    assert file is not None  # noqa: S101 - one of the two was given
    try:
        return read_small(file).rstrip("\r\n")
    except (OSError, ValueError) as error:
        text = f"the secret in {file} cannot be read ({type(error).__name__}): correct the name"
        raise SettingsError(text) from error


def _first(error: ValidationError) -> str:
    found = error.errors(include_input=False, include_url=False)[0]
    place = ".".join(map(str, found["loc"]))
    said = found["msg"].removeprefix("Value error, ")
    return f"{place}: {said}" if place else said
