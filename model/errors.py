"""The errors that end a command, which the command line turns into exit codes, and the warning of Python calls."""

__all__ = ["CheckError", "InputError", "PrecisionWarning", "ToolError"]


class InputError(ValueError):
    """The user gave something that cannot be used. The message is one line: what is wrong, where, and what to do. Exit
    code 2."""


class CheckError(Exception):
    """A result is not what it was proven or promised to be. Exit code 1."""


class ToolError(InputError):
    """A tool that we run was killed, which says nothing about the design: it may do better another time."""


class PrecisionWarning(UserWarning):
    """A result in fixed point lost more than rounding takes: weights became zero or changed much, values wrapped; or
    inputs were rounded. Commands say the same line on stderr."""
