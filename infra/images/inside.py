"""Looks at the processes in a container, and sends them signals: `-m infra.images.inside`.

`list` prints the cluster's processes, one JSON object a line; `signal NUMBER PID STARTED` sends a
signal to exactly this process, `state PID STARTED` prints its state: `running`, `stopped` or
`gone`.
"""

import json
import sys
from dataclasses import asdict

import psutil

from infra.process import ProcessId, identify, is_alive, send
from infra.spark_processes import cluster_processes


def listing() -> list[str]:
    """List the cluster's processes below the container's first process."""
    first = identify(1)
    return [json.dumps(asdict(one)) for one in cluster_processes([first] if first else [])]


def state(process: ProcessId) -> str:
    """Return the state of a process."""
    try:
        status = psutil.Process(process.pid).status()
    except psutil.NoSuchProcess:
        return "gone"
    if not is_alive(process):
        return "gone"
    return "stopped" if status == psutil.STATUS_STOPPED else "running"


def answer(arguments: list[str]) -> list[str]:
    """Carry out the arguments; return what to print."""
    match arguments:
        case ["list"]:
            return listing()
        case ["signal", number, pid, started]:
            sent = send(ProcessId(int(pid), float(started)), int(number))
            return ["sent" if sent else "gone"]
        case ["state", pid, started]:
            return [state(ProcessId(int(pid), float(started)))]
    text = f"{arguments} is none of: list, signal NUMBER PID STARTED, state PID STARTED"
    raise SystemExit(text)


if __name__ == "__main__":
    sys.stdout.write("".join(f"{line}\n" for line in answer(sys.argv[1:])))
