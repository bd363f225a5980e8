"""What goes wrong with the machine or the stack, said in one sentence."""


class InfraError(Exception):
    """A part of the stack is missing, dead or unwell; the text says which, why, and what to do."""

    exit_code = 1


class NotReady(InfraError):
    """A daemon is not healthy yet; the text says what is still missing."""


class SettingsError(InfraError):
    """Settings that the user gave are wrong; the text says where, and what to do."""

    exit_code = 2
