"""``skinny board``: the bitstream of a board with a core and its serial link."""

from __future__ import annotations

import argparse
from dataclasses import replace
from time import perf_counter
from typing import Any

from skinny.model.errors import InputError
from skinny.model.files import expect_folder
from skinny.model.link.wire import seal
from skinny.sim.fpga.devices import find_device
from skinny.sim.fpga.expected import image_for

from .common import add_command, print_json, print_table
from .options import (
    add_baud_option,
    add_core_options,
    add_self_check_option,
    add_size_options,
    image_options,
    load_program,
)
from .progress import working

__all__ = ["register"]

#: The smallest device of the boards of each family.
PLACED = ("up5k", "ecp5-25k")
#: What the counted cells are called.
NAMES = {"logic_cells": "logic cells", "luts": "LUTs", "multipliers": "multiplier blocks", "rams": "block RAMs"}
#: Program words, words of a vector and weights that a core has room for, unless fewer are asked for: other formulas
#: than the first are loaded into the same bitstream.
ROOM = {"depth": 256, "inputs": 16, "weights": 256}

DETAILS = """\
Writes the bitstream (skinny.bin or skinny.bit), the logs of synthesis (skinny.rpt) and of place and route (skinny.tim,
report.json), and manifest.json. The core holds the program from the beginning; others that fit are loaded over the
serial port (see 'skinny host'): new formula, same bitstream. There is room for 256 program words, 16 inputs and 256
weights, or for as many as the program needs. The board's button resets the core, not what it holds.

boards: icebreaker (iCE40 UP5K), ulx3s (ECP5 85F), ulx3s-12f, ulx3s-25f, ulx3s-45f. When the clock asked for is not
reached nothing is written and the exit code is 1.

JSON keys: board, folder, files, clock_mhz, reached_mhz, baud, logic_cells (of ECP5 luts), multipliers, rams (each
used and available), words (of the program), seal, seconds.

example:
  $ skinny compile 'y = (a + 2*b)^3' -o cube.skn
  $ skinny board icebreaker cube.skn --ring fixed:16.8 --threads 4 -o cube
  $ iceprog cube/skinny.bin
  $ skinny host /dev/ttyUSB1 run cube.skn --inputs a=1,b=2
"""


def register(commands: Any) -> None:
    parser = add_command(commands, "board", execute, "build the bitstream of a board with a serial link", DETAILS)
    parser.add_argument("board", metavar="BOARD", help="icebreaker or ulx3s")
    add_core_options(parser)
    add_self_check_option(parser)
    add_size_options(parser, **ROOM)
    parser.add_argument("--freq", metavar="MHZ", type=float, help="clock of the core (default: that of the board)")
    add_baud_option(parser)
    parser.add_argument("--seed", metavar="N", type=int, default=1, help="of place and route (default: 1)")
    parser.add_argument("-o", "--output", metavar="DIR", required=True, help="the folder to write to")


def execute(args: argparse.Namespace) -> None:
    # Loaded here, because other commands do not need Amaranth.
    from skinny.hdl.link.board import BOARDS
    from skinny.sim.fpga.bitstream import build_board

    if args.board not in BOARDS:
        raise InputError(f"the board must be one of {', '.join(BOARDS)}, not {args.board!r}")
    for name in ("baud", "freq"):
        given = getattr(args, name)
        if given is not None and not 0 < given < 1e9:
            raise InputError(f"--{name} must be a positive number, not {given:g}")
    if args.seed < 0:
        raise InputError(f"the seed must not be negative, not {args.seed}")
    board = BOARDS[args.board]
    expect_folder(args.output)
    options = image_options(args, "self_check", *ROOM)
    # A board has one core.
    program, ring = load_program(args)
    device = next(device for device in map(find_device, PLACED) if device.family.target == board.target)
    (image,) = image_for(device, program, ring, options, target=board.target).lanes
    sizes = {n: max(least, getattr(image.config, n)) for n, least in ROOM.items() if getattr(args, n) is None}
    roomy = replace(options, roll=image.rolled or options.roll, **sizes)
    (image,) = image_for(device, program, ring, roomy, target=board.target).lanes
    clock = board.clock(args.freq)
    before = perf_counter()
    with working(f"{board.name}: synthesis, place and route"):
        made = build_board(board, image, clock, args.baud, args.output, args.seed)
    seconds = perf_counter() - before
    if args.json:
        counts = {name: {"used": used, "available": there} for name, (used, there) in made.cells.items()}
        answer = {"board": board.name, "folder": args.output, "files": made.files, "clock_mhz": made.clock}
        answer |= {"reached_mhz": made.reached, "baud": args.baud, **counts, "words": len(image)}
        print_json(answer | {"seal": seal(image), "seconds": seconds})
        return
    print_table(("cells", "used", "available"), [(NAMES[name], *counts) for name, counts in made.cells.items()])
    print(f"\n{args.output}: {', '.join(made.files)}")
    print(f"clock {made.clock:g} MHz ({made.reached:.1f} MHz reached), line {args.baud:,} baud, {seconds:.0f} s")
