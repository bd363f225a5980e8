"""One driver per run: the one that has claimed its folder.

A second driver of a run would read the same log into the same tables. The tables would stay right,
since they accept a batch once; but the two would share one checkpoint, and each would keep failing
on the other's files. So a driver first claims the run, then increments a counter to show that it is
alive, and checks before each batch that it still owns the run. Clocks of different machines are
never compared.
"""

from __future__ import annotations

import json
import os
import socket
import sys
import threading
import time
import uuid
from dataclasses import asdict, dataclass
from pathlib import Path

from infra.process import ProcessId, identify, is_alive
from windowing.model.run_errors import SecondDriver

OWNER_FILE = "owner.json"
REFUSED_FILE = "refused.json"

BEAT_S = 2.0
"""How often a driver shows that it is alive, in seconds."""

SILENT_S = 15.0
"""How long a driver on another machine may be silent before it loses the run, in seconds."""


@dataclass(frozen=True)
class _Claim:
    """The owner of a run: a driver, by a unique name and as a process of a machine."""

    driver: str
    host: str
    pid: int
    started: float
    beat: int = 0

    def __str__(self) -> str:
        return f"process {self.pid} on {self.host}"


class Owner:
    """A driver's claim on a run.

    Args:
        beat_s: how often to show that it is alive, in seconds.
        silent_s: how long to wait for a beat from another machine's driver, or for the end of a
            driver on this machine, in seconds.
    """

    def __init__(self, folder: Path, beat_s: float = BEAT_S, silent_s: float = SILENT_S) -> None:
        self._file, self._beat_s, self._silent_s = folder / OWNER_FILE, beat_s, silent_s
        me = identify(os.getpid())
        started = me.started if me else 0.0
        self._claim = _Claim(uuid.uuid4().hex, socket.gethostname(), os.getpid(), started)
        self._ended = threading.Event()
        self._beating = threading.Thread(target=self._beat, daemon=True, name="owner")

    def claim(self) -> None:
        """Claim the run, unless another live driver owns it.

        Raises:
            SecondDriver: one has.
        """
        other = self._read()
        if other is not None and self._lives(other):
            msg = (
                f"run {self._file.parent.name} belongs to {other}, which lives: this second driver "
                "ends; to move the run, stop that one first (`slackwater stop`)"
            )
            raise SecondDriver(msg)
        self._write(self._claim)
        # If two claim at the same moment, the later one has the file; the other notices it here.
        time.sleep(min(0.2, self._beat_s))
        self.check()
        self._beating.start()

    def check(self) -> None:
        """Check that the run is still ours.

        Raises:
            SecondDriver: another driver has it now.
        """
        now = self._read()
        if now is None or now.driver != self._claim.driver:
            whose = "nobody" if now is None else str(now)
            msg = (
                f"run {self._file.parent.name} belongs to {whose} now, taken over while this "
                "driver was silent: this one ends, and has written nothing since"
            )
            raise SecondDriver(msg)

    def release(self) -> None:
        """Release the run, if it is still ours."""
        self._ended.set()
        if self._beating.is_alive():
            self._beating.join()  # a beat half written would put our claim back
        now = self._read()
        if now is not None and now.driver == self._claim.driver:
            self._file.unlink(missing_ok=True)

    def _lives(self, other: _Claim) -> bool:
        """Whether another driver is alive; waits for one that may be about to end."""
        here = other.host == self._claim.host
        until_s = time.monotonic() + self._silent_s
        while time.monotonic() < until_s:
            now = self._read()
            if now is None or (here and not is_alive(ProcessId(other.pid, other.started))):
                return False
            if not here and now != other:
                return True
            time.sleep(self._beat_s / 4)
        # A driver whose JVM was killed ends within seconds; one that is still here is working.
        return here

    def _beat(self) -> None:
        beat, complained = 0, False
        while not self._ended.wait(self._beat_s):
            now = self._read()
            if now is None or now.driver != self._claim.driver:
                return  # `check` tells the writer
            beat += 1
            try:
                self._write(_Claim(**{**asdict(self._claim), "beat": beat}))
                complained = False
            except OSError as error:
                # A temporarily full disk must not silence a driver for good.
                if not complained:
                    what = "that this driver lives cannot be shown"
                    sys.stderr.write(f"{self._file}: {what}: {error}\n")
                complained = True

    def _read(self) -> _Claim | None:
        try:
            return _Claim(**json.loads(self._file.read_text(encoding="utf-8")))
        except (FileNotFoundError, ValueError, TypeError):
            return None

    def _write(self, claim: _Claim) -> None:
        self._file.parent.mkdir(parents=True, exist_ok=True)
        written = self._file.with_name(f".{OWNER_FILE}.{self._claim.driver}")
        written.write_text(json.dumps(asdict(claim)), encoding="utf-8")
        written.replace(self._file)
