"""The options that several commands share, and what they ask for."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from fractions import Fraction

from skinny.model.errors import InputError
from skinny.model.link.wire import BAUD
from skinny.model.machine.isa import MOST_FLIPFLOPS, REGISTERS
from skinny.model.parallel.image import ImageOptions
from skinny.model.program.program import Program
from skinny.model.program.storage import load
from skinny.model.rings import Ring, parse_ring
from skinny.model.tables import parse_number

__all__ = [
    "add_baud_option",
    "add_core_options",
    "add_inputs_option",
    "add_lanes_option",
    "add_program_options",
    "add_rom_option",
    "add_self_check_option",
    "add_size_options",
    "add_stream_options",
    "add_strict_option",
    "add_weight_option",
    "expect_stream_options",
    "image_options",
    "load_program",
    "read_error",
    "read_retunes",
    "with_weights",
]

SIZES = {
    "depth": "words of the program memory",
    "inputs": "words of an input vector at most",
    "weights": "weights at most",
}


HARDWARE_RINGS = "modular:BITS, fixed:BITS.FRAC, prime:P or boolean"
ALL_RINGS = "modular:BITS, fixed:BITS.FRAC, prime:P, boolean, exact or real"


def add_program_options(parser: argparse.ArgumentParser, rings: str = ALL_RINGS, default: str = "") -> None:
    """The program and its ring, ``default`` if neither the option nor the program names one; :func:`load_program` reads
    them."""
    parser.add_argument("program", metavar="PROGRAM", help="a .skn or .npz file")
    otherwise = f", or {default}" if default else ""
    parser.add_argument(
        "--ring", metavar="RING", help=f"{rings} (default: what the program was compiled for{otherwise})"
    )
    add_weight_option(parser)


def load_program(args: argparse.Namespace, default: str = "") -> tuple[Program, Ring]:
    """The program and the ring that :func:`add_program_options` asks for."""
    program = with_weights(load(args.program), args.weight)
    name = args.ring or program.ring or default
    if not name:
        raise InputError(f"{args.program} was compiled for no ring in particular: give --ring")
    return program, parse_ring(name)


def add_weight_option(parser: argparse.ArgumentParser) -> None:
    """``--weight``; :func:`with_weights` reads it."""
    parser.add_argument(
        "--weight", metavar="NAME=VALUE", action="append", default=[], help="set a named weight; repeatable"
    )


def with_weights(program: Program, given: Sequence[str]) -> Program:
    """The program with the named weights that ``NAME=VALUE`` texts set."""
    values: dict[str, Fraction] = {}
    for text in given:
        name, equals, value = (part.strip() for part in text.partition("="))
        if not equals:
            raise InputError(f"--weight: expected NAME=VALUE, found {text!r}")
        if name in values:
            raise InputError(f"--weight: {name!r} is given twice")
        try:
            values[name] = parse_number(value)
        except InputError as error:
            raise InputError(f"--weight {name}: {error}") from None
    return program.with_weights(**values) if values else program


def read_error(text: str | None) -> Fraction | None:
    """The number that ``--error`` gives, if it is given."""
    try:
        return None if text is None else parse_number(text)
    except InputError as error:
        raise InputError(f"--error: {error}") from None


def add_strict_option(parser: argparse.ArgumentParser) -> None:
    """``--strict``, where fixed point may take something away."""
    parser.add_argument(
        "--strict",
        action="store_true",
        help="exit code 1 when weights became 0 or changed by more than 1 %%, rows wrapped or are outside the box, or "
        "inputs were rounded",
    )


def add_core_options(parser: argparse.ArgumentParser) -> None:
    """The program, the ring, the threads and the registers, for all commands that make an image."""
    add_program_options(parser, HARDWARE_RINGS)
    parser.add_argument(
        "--threads", metavar="T", type=int, help="inferences in flight (default: 4, with registers in memory 8)"
    )
    parser.add_argument(
        "--registers",
        choices=REGISTERS,
        help=f"where registers are (default: in a memory if there are more than {MOST_FLIPFLOPS}; see docs/fpga.md)",
    )
    parser.add_argument(
        "--pipeline",
        metavar="P",
        type=int,
        help="cycles from issue to retirement with registers in memory, 6 to 11, for P - 1 threads or more "
        "(default: 7, on ECP5 9)",
    )
    parser.add_argument(
        "--roll",
        action=argparse.BooleanOptionalAction,
        help="what repeats becomes loops (default: only if the program does not fit its memory otherwise)",
    )


def add_lanes_option(parser: argparse.ArgumentParser) -> None:
    """``--lanes``, where there can be an engine in place of a core."""
    parser.add_argument(
        "--lanes",
        metavar="K",
        type=int,
        default=1,
        help="cores that share one inference (default: 1; see docs/parallel.md)",
    )


def add_self_check_option(parser: argparse.ArgumentParser, default: str = "what the program says") -> None:
    """``--self-check`` and ``--no-self-check``; ``default`` says what holds without them."""
    parser.add_argument(
        "--self-check",
        action=argparse.BooleanOptionalAction,
        help=f"every run undoes itself and checks, and the core has the guard (default: {default})",
    )


def add_size_options(parser: argparse.ArgumentParser, *names: str, **least: int) -> None:
    """The sizes ``names`` of a core: ``depth``, ``inputs``, ``weights``; those of ``least`` are never smaller unless
    they are given."""
    for name in (*names, *least):
        default = f"as needed, at least {least[name]}" if name in least else "as needed"
        parser.add_argument(f"--{name}", metavar="N", type=int, help=f"{SIZES[name]} (default: {default})")


def add_rom_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--rom", action="store_true", help="program and weights are part of the design")


def add_inputs_option(parser: argparse._ActionsContainer) -> None:
    """The values of a program's inputs; :func:`~.inputs.read_inputs` reads them."""
    parser.add_argument("--inputs", metavar="FILE.csv|x=1,y=2", help="values of the inputs (- reads CSV from stdin)")


def add_stream_options(parser: argparse._ActionsContainer) -> None:
    """The samples of a stream program; :func:`expect_stream_options` and :func:`~.inputs.read_streams` read them."""
    parser.add_argument(
        "--stream",
        metavar="FILE.csv",
        action="append",
        default=[],
        help="samples of a stream, a row each, in the order of time; repeatable, a stream each (a program without "
        "inputs takes a number of samples)",
    )
    parser.add_argument(
        "--retune",
        metavar="N:NAME=VALUE",
        action="append",
        default=[],
        help="set a named weight before sample N while the stream runs, which keeps its states; repeatable",
    )
    parser.add_argument("--pad", action="store_true", help="zeros before the first sample, which then fills the window")


def expect_stream_options(args: argparse.Namespace, program: Program, *others: str) -> bool:
    """Whether ``program`` is to run on a stream. Raises :exc:`InputError` when what is given does not fit it; the
    options ``others`` go without a stream."""
    if not program.streaming:
        for option in ("stream", "retune", "pad"):
            if getattr(args, option):
                program.expect_stream(f"--{option} needs")
        return False
    if args.inputs is not None:
        raise InputError("a run of the program is one sample of a stream: give --stream FILE.csv in place of --inputs")
    for option in others:
        given = getattr(args, option.replace("-", "_"))
        if given is True or given not in (None, 1, False):
            raise InputError(f"streams go without --{option}")
    if args.pad and not program.window:
        raise InputError("--pad fills a window, but the program has none")
    return True


def read_retunes(given: Sequence[str]) -> dict[int, dict[str, Fraction]]:
    """What ``--retune`` sets, by the number of the sample and the name of the weight."""
    found: dict[int, dict[str, Fraction]] = {}
    for text in given:
        number, colon, setting = text.partition(":")
        name, equals, value = (part.strip() for part in setting.partition("="))
        if not colon or not equals or not re.fullmatch("[0-9]{1,18}", number):
            raise InputError(f"--retune: expected N:NAME=VALUE, found {text!r}")
        weights = found.setdefault(int(number), {})
        if name in weights:
            raise InputError(f"--retune: {name!r} is given twice before sample {number}")
        try:
            weights[name] = parse_number(value)
        except InputError as error:
            raise InputError(f"--retune {number}:{name}: {error}") from None
    return found


def add_baud_option(parser: argparse.ArgumentParser) -> None:
    """The speed of a serial line."""
    parser.add_argument("--baud", metavar="N", type=int, default=BAUD, help=f"speed of the line (default: {BAUD:,})")


def image_options(args: argparse.Namespace, *names: str) -> ImageOptions:
    """The threads, the registers, whether to roll, and the other options ``names``, as
    :func:`~skinny.model.parallel.image.build_image` takes them."""
    return ImageOptions(**{name: getattr(args, name) for name in ("threads", "registers", "pipeline", "roll", *names)})
