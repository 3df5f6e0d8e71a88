"""Parts that the commands share: their parsers, and how they print notes and answers."""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from functools import partial
from itertools import islice
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text
from skinny.model.errors import CheckError, InputError
from skinny.model.formula.formula import CEILING
from skinny.model.limits import DEFAULTS, Limits, parse_limits, size_text
from skinny.model.program.units import Units
from skinny.model.rings import Array
from skinny.model.run.precision import Precision
from skinny.values import readable, several

from .progress import note

__all__ = [
    "SHOWN",
    "Parser",
    "add_command",
    "large",
    "named_inputs",
    "named_results",
    "named_streams",
    "note",
    "print_json",
    "print_results",
    "print_samples",
    "print_table",
    "readable",
    "rounded_outwards",
    "tell",
]

#: Inferences whose results a table shows.
SHOWN = 20


class Parser(argparse.ArgumentParser):
    """A parser whose errors are :exc:`InputError`. Where an option is of type ``int`` or ``float``, it takes what a
    person writes, ASCII digits, and not all that Python would (``1_000``, other scripts' digits, ``nan``)."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.register("type", int, partial(_converted, "[+-]?[0-9]{1,18}", int))
        self.register("type", float, partial(_converted, r"[+-]?[0-9]{1,18}(\.[0-9]{0,18})?", float))

    def error(self, message: str) -> Any:
        raise InputError(f"{message} (see '{self.prog} --help')")


def _converted(pattern: str, convert: Callable[[str], Any], text: str) -> Any:
    if not re.fullmatch(pattern, text):
        raise ValueError
    return convert(text)


def _limits(text: str) -> Limits:
    try:
        return parse_limits(text)
    except InputError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def add_command(
    commands: Any, name: str, execute: Callable[[argparse.Namespace], None], summary: str, details: str
) -> Parser:
    """A subcommand that does ``execute(args)``; ``details`` stand below the options in its help. Every command
    can answer in JSON and keeps limits when it reads or compiles."""
    parser: Parser = commands.add_parser(
        name,
        help=summary,
        description=summary[0].upper() + summary[1:] + ".",
        epilog=details,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object and nothing else on stdout")
    parser.add_argument(
        "--limit",
        metavar="time=S,memory=SIZE",
        type=_limits,
        default=DEFAULTS,
        help="what reading or compiling may take: seconds, bytes "
        f"(default: time={DEFAULTS.seconds},memory={size_text(DEFAULTS.memory)})",
    )
    parser.set_defaults(execute=execute)
    return parser


def tell(precision: Precision, strict: bool) -> None:
    """Say what fixed point took away, if anything; with ``strict`` that fails the command."""
    if precision.line:
        if strict:
            raise CheckError(f"{precision.line} (--strict)")
        note(precision.line)


def print_json(answer: dict[str, Any]) -> None:
    print(json.dumps(answer, allow_nan=False))


def large(number: int) -> str:
    """A length that may have been cut at :data:`CEILING`."""
    return f"{number:,}" if number < CEILING else f"at least 2^{CEILING.bit_length() - 1}"


def rounded_outwards(value: float | None, up: bool) -> str:
    """``value`` with three digits, rounded up or down; what is None is not proven."""
    if value is None:
        return "not proven"
    context = Context(prec=3, rounding=ROUND_CEILING if up else ROUND_FLOOR)
    return f"{float(context.create_decimal(Decimal(value))):.6g}"


class _Console(Console):
    """A console that leaves a reader that went away to :func:`~skinny.scripts.cli.main`."""

    def on_broken_pipe(self) -> None:
        raise


def print_table(heads: Sequence[str], rows: Iterable[Sequence[object]], widest: int | None = None) -> None:
    """A table on stdout: numbers to the right, text to the left. A pipe gets whole lines, however long; texts beyond
    ``widest`` characters go on in the next line."""
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    listed = [list(row) for row in rows]
    for column, head in enumerate(heads):
        numeric = all(isinstance(row[column], int | float) for row in listed)
        table.add_column(Text(head), justify="right" if numeric else "left", overflow="fold", max_width=widest)
    for row in listed:
        # Text, because brackets in a plain string would be read as markup.
        table.add_row(*(Text(f"{cell:,}" if isinstance(cell, int) else str(cell)) for cell in row))
    _Console(file=sys.stdout, width=None if sys.stdout.isatty() else 100_000, highlight=False).print(table)


def named_results(units: Units, values: Array) -> dict[str, list[int | float | str]]:
    """The elements ``values``, a row for each inference, as readable numbers for each output, in the user's units."""
    return {name: [readable(value, name) for value in column] for name, column in units.decode_columns(values).items()}


def named_inputs(units: Units, elements: Array) -> dict[str, list[int | float | str]]:
    """The same for the elements of the inputs."""
    return {
        name: [readable(units.decode_input(u, element), name) for element in elements[:, u]]
        for u, name in enumerate(units.inputs)
    }


def named_streams(units: Units, outputs: Array) -> dict[str, list[list[int | float | str]]]:
    """The results of streams, from elements ``outputs`` of shape ``(streams, runs, results)``: a list for each."""
    found = [named_results(units, stream) for stream in outputs]
    return {name: [columns[name] for columns in found] for name in units.outputs}


def print_samples(results: dict[str, list[list[int | float | str]]], count: int, first: int) -> None:
    """A table of the first of ``count`` samples, whose ``results`` are given by name, a list for each stream; the first
    of them has the number ``first``."""
    columns = {
        f"{name}, stream {number}" if len(streams) > 1 else name: values
        for name, streams in results.items()
        for number, values in enumerate(streams, 1)
    }
    rows = islice(zip(*columns.values(), strict=True), SHOWN)
    print_table(("sample", *columns), [(number, *row) for number, row in enumerate(rows, first)])
    if count > SHOWN:
        note(f"{several(count - SHOWN, 'more sample')}; -o FILE.csv has all")


def print_results(results: dict[str, list[int | float | str]], count: int) -> None:
    """A table of the first of ``count`` inferences, whose ``results`` are given by name; not all need be given."""
    rows = islice(zip(*results.values(), strict=True), SHOWN)
    print_table(("row", *results), [(number, *row) for number, row in enumerate(rows, 1)])
    if count > SHOWN:
        note(f"{several(count - SHOWN, 'more row')}; -o FILE.csv has all")
