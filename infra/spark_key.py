"""The cluster's secret: its holder may submit programs, and talk to master, workers, drivers.

Created in the state folder, readable only by its owner, whenever a cluster starts of which nothing
runs; a cluster of which something runs keeps it, since its daemons and jobs know no other. Spark's
submission server requires it as the signature of a token (RFC 7515, HS256), its daemons as
`spark.authenticate.secret`. A token is made for each request and expires (RFC 7519), so that one
that has got into a log or a dump is soon worth nothing.
Standard library only: Airflow's environment reads it too.
"""

import base64
import contextlib
import hashlib
import hmac
import json
import os
import secrets
import time
from pathlib import Path

TOKEN_S = 300
"""How long a token is good for, in seconds: more than a request takes, and clocks differ."""

_HEADER = b'{"alg":"HS256"}'


def make(state_dir: Path) -> str:
    """Return the secret of a state folder; create it the first time.

    Args:
        state_dir: of the stack; if several machines or containers share one, the first one's secret
            is used.
    """
    path = _path(state_dir)
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.{secrets.token_hex(8)}")
    with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as out:
        out.write(base64.urlsafe_b64encode(secrets.token_bytes(48)).decode())
    with contextlib.suppress(FileExistsError):
        os.link(part, path)  # complete, and never overwriting another's
    part.unlink()
    return path.read_text()


def forget(state_dir: Path) -> None:
    """Delete the secret, so that the next start makes another one; nothing may know it any more."""
    _path(state_dir).unlink(missing_ok=True)


def headers(state_dir: Path) -> dict[str, str]:
    """Return the headers of a request to the submission server; none if there is no secret."""
    try:
        key = base64.urlsafe_b64decode(_path(state_dir).read_text())
    except FileNotFoundError:
        return {}  # a cluster that someone else has started, with its own access control
    claims = {"sub": "slackwater", "exp": int(time.time()) + TOKEN_S}
    signed = b".".join(map(_spelled, (_HEADER, json.dumps(claims).encode())))
    signature = _spelled(hmac.new(key, signed, hashlib.sha256).digest())
    return {"Authorization": f"Bearer {(signed + b'.' + signature).decode()}"}


def _spelled(raw: bytes) -> bytes:
    return base64.urlsafe_b64encode(raw).rstrip(b"=")


def _path(state_dir: Path) -> Path:
    return state_dir / "spark" / "secret"
