"""Errors of the machine or the stack, each one sentence."""


class InfraError(Exception):
    """A part of the stack is missing, dead or unhealthy; says which, why, and what to do."""

    exit_code = 1


class NotReady(InfraError):
    """A daemon is not healthy yet; the text says what is still missing."""


class SettingsError(InfraError):
    """Settings that the user gave are wrong; the text says where, and what to do."""

    exit_code = 2
