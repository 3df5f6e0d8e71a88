"""The option ``--box``: the least and the greatest value of each input."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from fractions import Fraction

from skinny.model.errors import InputError
from skinny.model.names import elements
from skinny.model.tables import parse_number
from skinny.values import listed

__all__ = ["add_box_option", "parse_box"]


def add_box_option(parser: argparse.ArgumentParser, default: str) -> None:
    """``--box``, which may be repeated or hold several ranges; ``default`` says what holds without it."""
    parser.add_argument(
        "--box",
        action="append",
        default=[],
        metavar="[x=]LO:HI,…",
        help="least and greatest value of every input, of the input x, or of elements x[0:16]; repeatable "
        f"(default: {default})",
    )


def parse_box(given: Sequence[str], names: Sequence[str]) -> list[tuple[Fraction, Fraction]]:
    """The range of each input, from the texts that were given for ``--box``."""
    general: tuple[Fraction, Fraction] | None = None
    special: dict[str, tuple[Fraction, Fraction]] = {}
    for text in (part.strip() for texts in given for part in texts.split(",")):
        name, equals, limits = text.rpartition("=")
        low, colon, high = limits.partition(":")
        if not colon:
            raise InputError(f"--box: expected LO:HI or NAME=LO:HI, found {text!r}")
        try:
            pair = parse_number(low), parse_number(high)
        except InputError as error:
            raise InputError(f"--box {text}: {error}") from None
        if pair[0] > pair[1]:
            raise InputError(f"--box {text}: the least value is above the greatest")
        meant = elements(name, names) if equals else []
        if equals and not meant:
            raise InputError(f"--box {text}: the program has no input {name!r}, only {listed(names)}")
        if any(each in special for each in meant) or (not equals and general):
            raise InputError(f"--box {text}: this box is given twice")
        special.update(dict.fromkeys(meant, pair))
        general = general if equals else pair
    out = []
    for name in names:
        box = special.get(name, general)
        if box is None:
            raise InputError(f"--box: the input {name!r} has no box")
        out.append(box)
    return out
