"""Entry point of the command: while modules are still loading, Ctrl-C ends it silently.

After that, `slackwater/ending.py` handles signals. A library must not touch signals when it is
imported, so `slackwater/main.py` does not.
"""

from __future__ import annotations

import signal
import sys


def main() -> None:
    """Run the command line."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    from slackwater import rooms

    if sentence := rooms.taken():
        sys.stderr.write(f"error: {sentence}\n")
        sys.exit(2)
    from slackwater import main as command

    command.main()


if __name__ == "__main__":
    main()
