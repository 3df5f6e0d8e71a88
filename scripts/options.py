"""The options that several commands share, and what they ask for."""

from __future__ import annotations

import argparse

from skinny.model.parallel.image import ImageOptions

__all__ = [
    "add_baud_option",
    "add_core_options",
    "add_inputs_option",
    "add_lanes_option",
    "add_rom_option",
    "add_self_check_option",
    "add_size_options",
    "image_options",
]

BAUD = 1_000_000
SIZES = {
    "depth": "words of the program memory",
    "inputs": "words of an input vector at most",
    "weights": "weights at most",
}


def add_core_options(parser: argparse.ArgumentParser) -> None:
    """The program, the ring and the threads, for all commands that make an image."""
    parser.add_argument("program", metavar="PROGRAM", help="a .skn or .npz file")
    parser.add_argument(
        "--ring", required=True, metavar="RING", help="modular:BITS, fixed:BITS.FRAC, prime:P or boolean"
    )
    parser.add_argument("--threads", metavar="T", type=int, default=4, help="inferences in flight (default: 4)")


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


def add_size_options(parser: argparse.ArgumentParser, *names: str) -> None:
    """The sizes ``names`` of a core: ``depth``, ``inputs``, ``weights``."""
    for name in names:
        parser.add_argument(f"--{name}", metavar="N", type=int, help=f"{SIZES[name]} (default: as needed)")


def add_rom_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--rom", action="store_true", help="program and weights are part of the design")


def add_inputs_option(parser: argparse._ActionsContainer) -> None:
    """The values of a program's inputs; :func:`~.inputs.read_inputs` reads them."""
    parser.add_argument("--inputs", metavar="FILE.csv|x=1,y=2", help="values of the inputs (- reads CSV from stdin)")


def add_baud_option(parser: argparse.ArgumentParser) -> None:
    """The speed of a serial line."""
    parser.add_argument("--baud", metavar="N", type=int, default=BAUD, help=f"speed of the line (default: {BAUD:,})")


def image_options(args: argparse.Namespace, *names: str) -> ImageOptions:
    """The threads, and the other options ``names``, as :func:`~skinny.model.parallel.image.build_image` takes them."""
    return ImageOptions(**{name: getattr(args, name) for name in ("threads", *names)})
