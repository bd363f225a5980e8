"""The stack without the `slackwater` command: `python -m infra up | down | status | clean`."""

import argparse
import sys

from infra import stack
from infra.errors import InfraError
from infra.state_folder import clean


def _say(component: str, message: str, seconds: float) -> None:
    sys.stdout.write(f"{seconds:6.1f} s  {component:<8} {message}\n")
    sys.stdout.flush()


def _up(only: list[str]) -> None:
    endpoints = stack.up(_say, only=only or stack.USUAL)
    for address in (endpoints.kafka_bootstrap, endpoints.spark_ui, endpoints.airflow_url):
        if address:
            sys.stdout.write(f"  {address}\n")


def _status() -> None:
    for one in stack.status():
        memory = f"{one.memory_bytes >> 20:5d} MiB" if one.pid else ""
        line = f"{one.name:<22} {one.state:<8} {one.pid or '':>7} {memory} {one.detail}"
        sys.stdout.write(line.rstrip() + "\n")


def main() -> int:
    """Carry out one command; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m infra", description=__doc__)
    parser.add_argument("command", choices=("up", "down", "status", "clean"))
    parser.add_argument("only", nargs="*", help="with up: kafka, spark, airflow; also yarn")
    arguments = parser.parse_args()
    unknown = set(arguments.only) - set(stack.PARTS)
    if unknown:
        parser.error(f"{', '.join(sorted(unknown))} is none of {', '.join(stack.PARTS)}")
    try:
        match arguments.command:
            case "up":
                _up(arguments.only)
            case "down":
                stack.down(_say)
            case "status":
                _status()
            case "clean":
                for name in clean():
                    sys.stdout.write(f"left alone, since it is not Slackwater's: {name}\n")
    except InfraError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
