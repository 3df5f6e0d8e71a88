"""All commands, and the parser of the command line."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from importlib.metadata import version

from skinny.extras import DISTRIBUTION

from . import board, bound, compile, explain, faults, fpga, host, info, learn, picture, run, sim, sweep, trace, verilog
from .bench import command as bench
from .common import Parser

__all__ = ["parsed"]


def parsed(argv: Sequence[str]) -> argparse.Namespace:
    """What ``argv`` asks for: ``execute`` and its options."""
    return _parser().parse_args(_shielded(argv))


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
