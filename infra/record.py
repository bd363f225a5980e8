"""`stack.json`: the processes that the stack has started, and the ports it has taken.

It is written the moment a process starts, so that an interrupted start can be cleaned up later, by
pid and start time.
"""

import errno
import json
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path

from infra.errors import InfraError
from infra.layout import Layout
from infra.locks import Locked, locked
from infra.process import ProcessId

LOCK_WAIT_S = 180.0


@dataclass(frozen=True)
class RunningDaemon:
    """One daemon that was started.

    Attributes:
        recipe: hash of the command and the settings that it was started with.
    """

    process: ProcessId
    recipe: str
    log: str


@dataclass
class Record:
    """What `stack.json` holds; safe to change from several threads.

    Attributes:
        ports: by name; kept after a stop, so that the next start takes the same ones.
        running: by daemon name.
    """

    path: Path
    ports: dict[str, int] = field(default_factory=dict)
    running: dict[str, RunningDaemon] = field(default_factory=dict)
    _guard: threading.Lock = field(default_factory=threading.Lock, repr=False, compare=False)

    def started(self, name: str, running: RunningDaemon) -> None:
        """Add a daemon and write the file.

        Raises:
            InfraError: the file cannot be written.
        """
        with self._guard:
            self.running[name] = running
            self._write()

    def ended(self, names: list[str]) -> None:
        """Remove daemons and write the file.

        Raises:
            InfraError: the file cannot be written.
        """
        with self._guard:
            for name in names:
                self.running.pop(name, None)
            self._write()

    def promise(self, ports: dict[str, int]) -> None:
        """Record ports as taken and write the file.

        Raises:
            InfraError: the file cannot be written.
        """
        with self._guard:
            self.ports.update(ports)
            self._write()

    def _write(self) -> None:
        running = {name: asdict(daemon) for name, daemon in self.running.items()}
        text = json.dumps({"ports": self.ports, "running": running}, indent=2, sort_keys=True)
        part = self.path.with_name(self.path.name + ".part")
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            part.write_text(text + "\n")
            part.replace(self.path)
        except OSError as error:
            raise InfraError(cannot_write(self.path, error)) from error


def cannot_write(path: Path, error: OSError) -> str:
    """Say in one sentence why a file could not be written, and what to do."""
    hints = {
        errno.ENOSPC: "free some space, then try again",
        errno.EDQUOT: "free some of your quota, then try again",
        errno.EROFS: "SLACKWATER_STATE_DIR can name a folder elsewhere",
        errno.EACCES: "SLACKWATER_STATE_DIR can name a folder elsewhere",
    }
    reason = (error.strerror or type(error).__name__).lower()
    return f"cannot write {path}: {reason}; {hints.get(error.errno or 0, 'look at the folder')}"


def read(layout: Layout) -> Record:
    """Read the record; it is empty if nothing was ever started.

    Raises:
        InfraError: the file exists but is not ours.
    """
    path = layout.stack_file
    try:
        held = json.loads(path.read_text())
        running = {
            name: RunningDaemon(ProcessId(**one["process"]), one["recipe"], one["log"])
            for name, one in held["running"].items()
        }
        return Record(path, {name: int(port) for name, port in held["ports"].items()}, running)
    except FileNotFoundError:
        return Record(path)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        text = (
            f"{path} is damaged ({type(error).__name__}: {error}); delete it and run "
            "`slackwater down`, which also finds the processes without it"
        )
        raise InfraError(text) from error


@contextmanager
def only_one(layout: Layout) -> Iterator[None]:
    """Allow one start or stop of the stack at a time; others wait.

    Raises:
        InfraError: the other one took longer than three minutes, or the folder is not writable.
    """
    path = layout.state_dir / "stack.lock"
    with ExitStack() as stack:
        try:
            stack.enter_context(locked(path, wait_s=LOCK_WAIT_S))
        except Locked as error:
            text = f"another `up` or `down` of {layout.state_dir} is still at work; end it"
            raise InfraError(text) from error
        except OSError as error:
            raise InfraError(cannot_write(path, error)) from error
        yield
