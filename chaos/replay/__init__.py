"""Replay of a range of the log, in different ways (`run`) or with a changed pipeline (`shadow`)."""
