"""What is a secret, and what may be shown of a text that could hold one.

In one place, for all errors, logs, command lines, pages and settings files: a login that only one
of them repeats is no secret any more. Standard library only.
"""

import re

from infra.errors import SettingsError

SPARK_REGEX = (
    "(?i)passw|passphrase|secret|token|jaas|credential(?!s[.]source)|user[.]info"
    "|(access|api|account)[._-]?key|(^|[._-])key$|://[^/@ ]+@"
)
"""Matches names of settings that hold a secret, and values that do; Java reads it alike.

Without a backslash, which files of properties would swallow.
"""

_SECRET = re.compile(SPARK_REGEX)
HIDDEN = "***"


def is_secret(name: str, value: str = "") -> bool:
    """Whether a setting holds a secret: its name says so, or its value is a URL with a login."""
    return bool(_SECRET.search(name)) or "@" in value.partition("://")[2]


def shown(address: str) -> str:
    """Return an address without login and query, for errors and logs.

    Args:
        address: a URL, addresses of brokers, or what a user has written in place of one; what
            stands before the last @ is hidden, whatever it is.
    """
    before, at, after = address.rpartition("@")
    scheme, marked, _ = before.partition("://")
    login = f"{scheme}{marked}{HIDDEN}@" if marked else f"{HIDDEN}@"
    place, query, _ = after.replace("#", "?").partition("?")
    return f"{login if at else ''}{place}{query}{HIDDEN if query else ''}"


def refuse_login(name: str, address: str, instead: str) -> None:
    """Check that an address holds no secret; an error does not repeat it.

    Args:
        name: the variable that holds it.
        address: a URL, or a part of one.
        instead: what to do, as a clause.

    Raises:
        SettingsError: it has a login, a query or a fragment, which clients put into their logs.
    """
    if "@" in address or "?" in address or "#" in address:
        kind = "login" if "@" in address else "query"
        msg = f"{name} contains a {kind}, which logs would repeat: leave it out, and {instead}"
        raise SettingsError(msg)
