"""Reads a file of Kafka settings: resolves references and paths, and refuses secrets.

`infra/kafka_settings.py` describes its contents.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from infra.errors import SettingsError
from infra.private import read_small
from infra.redacted import is_secret

_REFERENCE = re.compile(r"\$\{(\w+)\}")
_PATHS = ("password_file", "ca", "certificate", "key_password_file")


def read(path: Path, given: Mapping[str, str]) -> dict[str, Any]:
    """Read a settings file; return what is under `kafka`.

    Args:
        path: of the file; paths in it are relative to its folder.
        given: the environment that `${NAME}` refers to.

    Raises:
        SettingsError: it cannot be read, or contains a secret; never repeats its contents.
    """
    try:
        document = _load(read_small(path))
    except OSError as error:
        text = f"the Kafka settings {path} cannot be read ({error.strerror}): correct the name"
        raise SettingsError(text) from error
    except _Again as error:
        text = f"the Kafka settings {path} are wrong: {error}"
        raise SettingsError(text) from None
    except (yaml.YAMLError, ValueError, RecursionError):
        # YAML's messages repeat the line, which may contain a secret.
        text = f"the Kafka settings {path} are not YAML: look at quotes, colons and indents"
        raise SettingsError(text) from None
    found = document.get("kafka") if isinstance(document, dict) else None
    if not isinstance(found, dict) or set(document) != {"kafka"}:
        text = f"{path} must hold one key, `kafka`, with bootstrap, sasl, tls and properties below"
        raise SettingsError(text)
    _refuse_secrets(found, path)
    resolved: dict[str, Any] = _resolved(found, given, path)
    for part in ("sasl", "tls"):
        if isinstance(resolved.get(part), dict):
            _anchor(resolved[part], _PATHS, path)
    if isinstance(resolved.get("property_files"), dict):
        _anchor(resolved["property_files"], tuple(resolved["property_files"]), path)
    return resolved


class _Again(ValueError):
    """A repeated key, or an alias."""


def _load(text: str) -> Any:
    for event in yaml.parse(text, yaml.SafeLoader):
        if isinstance(event, yaml.AliasEvent):
            assert event.start_mark is not None  # noqa: S101 - of a text
            msg = f"line {event.start_mark.line + 1} repeats another place by *: write it out"
            raise _Again(msg)
    left = [yaml.compose(text, yaml.SafeLoader)]
    while left:
        node = left.pop()
        if isinstance(node, yaml.MappingNode):
            names = [key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode)]
            if len(set(names)) < len(names):
                twice = next(name for name in names if names.count(name) > 1)
                msg = f"{twice} is given twice below line {node.start_mark.line + 1}: keep one"
                raise _Again(msg)
            left += [value for _, value in node.value]
    return yaml.safe_load(text)


def _anchor(part: dict[str, Any], names: tuple[str, ...], file: Path) -> None:
    """Make paths absolute: they are relative to the folder of their file."""
    for name in names:
        if isinstance(part.get(name), str):
            part[name] = str((file.parent / Path(part[name]).expanduser()).absolute())


def _refuse_secrets(found: dict[str, Any], path: Path) -> None:
    places = [("", found), *((f"{one}.", found.get(one)) for one in ("sasl", "tls"))]
    places.append(("properties.", found.get("properties")))
    for prefix, part in places:
        if not isinstance(part, dict):
            continue
        for name, value in part.items():
            is_path = prefix != "properties." and str(name).endswith("_file")
            if not is_secret(str(name), str(value)) or is_path or isinstance(value, dict):
                continue
            if not (isinstance(value, str) and _REFERENCE.fullmatch(value)):
                text = (
                    f"{path} holds a secret itself, at {prefix}{name}: write `${{NAME}}` for the "
                    "environment's variable of this name, or name a file that holds it"
                )
                raise SettingsError(text)


def _resolved(value: Any, given: Mapping[str, str], path: Path) -> Any:
    if isinstance(value, dict):
        return {name: _resolved(one, given, path) for name, one in value.items()}
    if not isinstance(value, str):
        return value

    def look(reference: re.Match[str]) -> str:
        name = reference.group(1)
        if name not in given:
            text = f"{path} refers to ${{{name}}}, and the environment has no {name}: set it"
            raise SettingsError(text)
        return given[name]

    return _REFERENCE.sub(look, value)
