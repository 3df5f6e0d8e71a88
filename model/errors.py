"""The two errors that end a command; the command line turns them into exit codes."""

__all__ = ["CheckError", "InputError"]


class InputError(ValueError):
    """The user gave something that cannot be used. The message is one line: what is wrong, where, and what to do. Exit
    code 2."""


class CheckError(Exception):
    """A result is not what it was proven or promised to be. Exit code 1."""
