"""The command line: parse arguments, call the other packages, report results."""

from slackwater import rooms

rooms.open_rooms()
