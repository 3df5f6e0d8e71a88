"""The ``skinny`` command: formulas to programs, programs to results.

Exit codes: 0 done, 1 a check failed, 2 bad input or usage, 130 interrupted, 141 the reader of the output went away.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Sequence

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Do what ``argv`` (by default the command line) asks; returns the exit code."""
    try:
        return _main(sys.argv[1:] if argv is None else argv)
    except KeyboardInterrupt:
        return _complain("interrupted", 130)


def _main(argv: Sequence[str]) -> int:
    # Loaded here, because loading takes long enough to be interrupted.
    from skinny.extras import missing_extra
    from skinny.model.errors import CheckError, InputError

    from .progress import telling_what_is_done

    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        with telling_what_is_done(argv[0] if argv else "skinny"):
            from .commands import parsed

            args = parsed(argv)
            with args.limit.applied():
                args.execute(args)
        sys.stdout.flush()
        return 0
    except SystemExit as done:  # --help and --version
        return int(done.code or 0)
    except CheckError as error:
        return _complain(f"check failed: {error}", 1)
    except InputError as error:
        return _complain(str(error), 2)
    except ModuleNotFoundError as error:
        if (message := missing_extra(error, argv[0])) is None:
            raise
        return _complain(message, 2)
    except BrokenPipeError:
        # The interpreter flushes stdout once more when it ends; let that go nowhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except MemoryError:
        return _complain("not enough memory", 2)
    except OSError as error:
        return _complain(f"{error.filename or 'stdout'}: {error.strerror}", 2)


def _complain(message: str, code: int) -> int:
    print(f"skinny: error: {message}", file=sys.stderr)
    return code
