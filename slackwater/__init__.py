"""The command line: it parses arguments, calls the other parts, and says what they did."""

from slackwater import rooms

rooms.open_rooms()
