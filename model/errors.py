"""The errors that end a command, which the command line turns into exit codes, and the warning of Python calls."""

import re

__all__ = ["CheckError", "InputError", "PrecisionWarning", "ToolError"]

#: A number with more digits than anybody reads.
LONG = re.compile("[0-9]{41,}")


class InputError(ValueError):
    """The user gave something that cannot be used. The message is one line: what is wrong, where, and what to do. Exit
    code 2. Of long numbers it has the first digits."""

    def __init__(self, message: str) -> None:
        super().__init__(LONG.sub(lambda found: f"{found[0][:12]}… ({len(found[0]):,} digits)", message))


class CheckError(Exception):
    """A result is not what it was proven or promised to be. Exit code 1."""


class ToolError(InputError):
    """A tool that we run was killed, which says nothing about the design: it may do better another time."""


class PrecisionWarning(UserWarning):
    """A result in fixed point lost more than rounding takes: weights became zero or changed much, values wrapped; or
    inputs were rounded. Commands say the same line on stderr."""
