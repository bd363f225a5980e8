"""Where the command begins: Ctrl-C ends it at once and in silence, while it is still being read.

What comes after that is the affair of `slackwater/ending.py`. A library that is imported must not
touch signals, so that `slackwater/main.py` does not.
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
