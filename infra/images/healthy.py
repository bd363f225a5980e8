"""Asks a page that answers JSON whether all is well: the health checks of docker-compose.yml.

`healthy URL [PATH[=VALUE]]`: PATH, with dots, must lead to VALUE, or to anything but nothing.
"""

import json
import sys
import urllib.request

REQUEST_S = 4.0


def complaint(url: str, wanted: str) -> str:
    """Say what is wrong; empty if nothing is.

    Args:
        wanted: as above; empty if any JSON will do.
    """
    try:
        with urllib.request.urlopen(url, timeout=REQUEST_S) as answer:  # noqa: S310 - from our own file
            found = json.load(answer)
    except (OSError, ValueError) as error:
        return f"{url} does not answer ({error})"
    path, _, value = wanted.partition("=")
    for name in filter(None, path.split(".")):
        found = found.get(name)
        if found is None:
            return f"{url} says nothing of {path}"
    if found == "" or (value and found != value):
        return f"{path} is {found!r}"
    return ""


if __name__ == "__main__":
    text = complaint(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "")
    sys.exit(text or 0)
