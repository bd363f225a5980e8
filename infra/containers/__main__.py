"""The Docker engine from the shell: `python -m infra.containers start | stop`."""

import sys

from infra.containers import engine
from infra.errors import InfraError


def main(arguments: list[str]) -> int:
    """Start an engine if none answers, or stop the one that was started this way."""
    try:
        match arguments:
            case ["start"]:
                if not engine.bring_up(_say):
                    _say("a Docker engine answers: used, and left as it is")
            case ["stop"]:
                if engine.take_down():
                    _say("Docker engine stopped")
            case _:
                _say("usage: python -m infra.containers start | stop")
                return 2
    except InfraError as error:
        _say(str(error))
        return 1
    return 0


def _say(text: str) -> None:
    sys.stderr.write(f"{text}\n")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
