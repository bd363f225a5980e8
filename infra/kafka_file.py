"""Reads a file of Kafka settings: references resolved, paths made whole, no secret let in.

What may stand in it, and what it means: `infra/kafka_settings.py`.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from infra.errors import SettingsError
from infra.small_file import read_small

SECRET_NAME = re.compile(r"password|secret|token|jaas|(^|\.)key$", re.IGNORECASE)
"""Client properties that hold a secret, by their names."""

_REFERENCE = re.compile(r"\$\{(\w+)\}")
_PATHS = ("password_file", "ca", "certificate", "key_password_file")


def read(path: Path, given: Mapping[str, str]) -> dict[str, Any]:
    """Reads a settings file; what stands under `kafka`.

    Args:
        path: of the file; paths in it are meant from its folder.
        given: the environment that `${NAME}` refers to.

    Raises:
        SettingsError: it cannot be read, or holds a secret itself; never repeats what stands there.
    """
    try:
        document = yaml.safe_load(read_small(path))
    except OSError as error:
        text = f"the Kafka settings {path} cannot be read ({error.strerror}): correct the name"
        raise SettingsError(text) from error
    except (yaml.YAMLError, ValueError, RecursionError):
        # YAML's own words repeat the line, which may hold what must not be shown.
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


def _anchor(part: dict[str, Any], names: tuple[str, ...], file: Path) -> None:
    """Makes paths absolute: they are meant from the folder of the file that they stand in."""
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
            if not SECRET_NAME.search(str(name)) or is_path or isinstance(value, dict):
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
