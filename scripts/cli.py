"""The ``skinny`` command: formulas to programs, programs to results.

Exit codes: 0 done, 1 a check failed, 2 bad input or usage, 130 interrupted, 141 the reader of the output went away.
"""

from __future__ import annotations

import argparse
import io
import os
import re
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from importlib.metadata import version

from skinny.extras import DISTRIBUTION, missing_extra
from skinny.model.errors import CheckError, InputError
from skinny.model.limits import telling

from . import board, bound, compile, explain, faults, fpga, host, info, learn, picture, run, sim, sweep, trace, verilog
from .bench import command as bench
from .common import Parser, note

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Do what ``argv`` (by default the command line) asks; returns the exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    argv = sys.argv[1:] if argv is None else argv
    try:
        args = _parser().parse_args(_shielded(argv))
        with args.limit.applied(), telling(note) if sys.stderr.isatty() else nullcontext():
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
    except KeyboardInterrupt:
        return _complain("interrupted", 130)
    except MemoryError:
        return _complain("not enough memory", 2)
    except OSError as error:
        return _complain(f"{error.filename or 'stdout'}: {error.strerror}", 2)


def _complain(message: str, code: int) -> int:
    print(f"skinny: error: {message}", file=sys.stderr)
    return code


def _parser() -> Parser:
    parser = Parser(
        prog="skinny",
        description="Compile formulas to proven programs on three registers and one multiplier, and run them.",
        epilog="exit codes: 0 done, 1 a check failed, 2 bad input or usage",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"skinny {version(DISTRIBUTION)}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True, dest="command")
    commanded = (
        compile,
        learn,
        run,
        trace,
        explain,
        bound,
        info,
        sim,
        faults,
        verilog,
        fpga,
        board,
        host,
        sweep,
        picture,
        bench,
    )
    for command in commanded:
        command.register(commands)
    return parser


def _shielded(argv: Sequence[str]) -> list[str]:
    """``argv`` with values that begin with a minus sign kept from being taken for options: ``--box -1:1``, and
    the formula ``-x*y``."""
    out: list[str] = []
    for place, word in enumerate(argv):
        if word == "--":
            return out + list(argv[place:])
        if re.match(r"-[0-9.]", word) and out and out[-1] in ("--box", "--start", "--error"):
            out[-1] += "=" + word
        elif argv[0] == "compile" and re.match("-[^-oh]", word):
            out.append(" " + word)
        else:
            out.append(word)
    return out
