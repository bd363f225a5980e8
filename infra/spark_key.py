"""The cluster's secret: its holder may submit programs, and talk to master, workers, drivers.

Created at the first start in the state folder, readable only by its owner. Spark's submission
server requires it as the signature of a token (RFC 7515, HS256), its daemons as
`spark.authenticate.secret`.
Standard library only: Airflow's environment reads it too.
"""

import base64
import contextlib
import hashlib
import hmac
import os
import secrets
from pathlib import Path

_HEADER, _CLAIMS = b'{"alg":"HS256"}', b'{"sub":"slackwater"}'


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


def headers(state_dir: Path) -> dict[str, str]:
    """Return the headers of a request to the submission server; none if there is no secret."""
    try:
        key = base64.urlsafe_b64decode(_path(state_dir).read_text())
    except FileNotFoundError:
        return {}  # a cluster that someone else has started, with its own access control
    signed = b".".join(map(_spelled, (_HEADER, _CLAIMS)))
    signature = _spelled(hmac.new(key, signed, hashlib.sha256).digest())
    return {"Authorization": f"Bearer {(signed + b'.' + signature).decode()}"}


def _spelled(raw: bytes) -> bytes:
    return base64.urlsafe_b64encode(raw).rstrip(b"=")


def _path(state_dir: Path) -> Path:
    return state_dir / "spark" / "secret"
