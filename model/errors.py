"""The two ways a request can end badly; the command line turns them into exit codes."""

__all__ = ["CheckError", "InputError"]


class InputError(ValueError):
    """What the user gave cannot be used: one line that says what is wrong and where. Exit code 2."""


class CheckError(Exception):
    """A result is not what it was proven or promised to be. Exit code 1."""
