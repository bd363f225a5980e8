"""Who may use the HTTP doors of HDFS: those who can read a secret in the state folder.

These doors give away every file and take orders, such as to truncate one, and by default they ask
for no login: a web page that a browser on this machine shows could give them. WebHDFS cannot be
left out (Hadoop no longer reads `dfs.webhdfs.enabled`). So both doors are locked, twice:

- All pages want a cookie that is signed with the secret (`hadoop.auth`, HMAC-SHA256), as browsers
  have one after a login. Nobody can log in: the directory that would be asked does not exist.
- A DataNode answers for WebHDFS before it looks at cookies. So both daemons also want a header
  whose name is derived from the secret: the protection from forged requests, for all methods.

Standard library only.
"""

import base64
import contextlib
import hashlib
import hmac
import os
import secrets
import time
from pathlib import Path

TOKEN_S = 300
"""How long a signed cookie is good for, in seconds."""

REFUSALS = (400, 401, 403)
"""The answers to requests that lack the header, or a cookie, or have a wrong one."""

_USER = "slackwater"
_TYPE = "ldap"
_NO_DIRECTORY = "ldap://127.0.0.1:1"
_FILTER = "org.apache.hadoop.security.AuthenticationFilterInitializer"
_CSRF = "dfs.webhdfs.rest-csrf"
_HTTP = "hadoop.http.authentication"


def make(yarn: Path) -> None:
    """Create the secret, if there is none yet.

    Args:
        yarn: the folder of YARN and HDFS in the state folder.
    """
    with contextlib.suppress(FileExistsError):
        handle = os.open(_path(yarn), os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "w") as out:
            out.write(secrets.token_hex(32))


def forget(yarn: Path) -> None:
    """Delete the secret, so that the next start makes another one; no daemon may be running."""
    _path(yarn).unlink(missing_ok=True)


def locks(yarn: Path) -> dict[str, str]:
    """Return the settings that lock the doors of a NameNode or a DataNode; for private files."""
    return {
        "hadoop.http.filter.initializers": _FILTER,
        f"{_HTTP}.type": _TYPE,
        f"{_HTTP}.{_TYPE}.providerurl": _NO_DIRECTORY,
        f"{_HTTP}.{_TYPE}.basedn": "ou=nobody",
        f"{_HTTP}.signature.secret.file": str(_path(yarn)),
        f"{_CSRF}.enabled": "true",
        f"{_CSRF}.custom-header": _header(_path(yarn).read_bytes()),
        # By default whoever calls itself no browser, and whoever only reads, is let in.
        f"{_CSRF}.browser-useragents-regex": ".*",
        f"{_CSRF}.methods-to-ignore": "NONE",
    }


def headers(yarn: Path) -> dict[str, str]:
    """Return the headers of a request to a page; none if there is no secret."""
    try:
        key = _path(yarn).read_bytes()
    except FileNotFoundError:
        return {}
    until_ms = (int(time.time()) + TOKEN_S) * 1000
    token = f"u={_USER}&p={_USER}&t={_TYPE}&e={until_ms}"
    signed = base64.b64encode(hmac.new(key, token.encode(), hashlib.sha256).digest()).decode()
    return {"Cookie": f'hadoop.auth="{token}&s={signed}"', _header(key): "slackwater"}


def _header(key: bytes) -> str:
    return f"X-Slackwater-{hmac.new(key, b'header', hashlib.sha256).hexdigest()}"


def _path(yarn: Path) -> Path:
    return yarn / "secret"
