"""``skinny verilog``: the core as Verilog, with all that is needed to use it without Python."""

from __future__ import annotations

import argparse
from typing import Any

from skinny.answers import losses, random_inputs
from skinny.model.files import expect_folder
from skinny.model.machine.cycles import latency
from skinny.model.parallel.image import build_image
from skinny.model.program.units import Units
from skinny.model.run.precision import lost_weights
from skinny.streams import random_samples, samples_for
from skinny.values import several

from .common import add_command, print_json, tell
from .options import (
    add_core_options,
    add_lanes_option,
    add_rom_option,
    add_self_check_option,
    add_size_options,
    add_strict_option,
    image_options,
    load_program,
)

__all__ = ["register"]

DETAILS = """\
Writes skinny_core.v, a test bench skinny_core_tb.v that checks itself, manifest.json (ports, parameters, memory map,
encoding, latency, ring, what a raw word means in your own units), the contents of the memories and listing.txt. The
test bench compares with the golden model and runs in any Verilog simulator; the first lines of its text say how. The
same program gives the same bytes.

Without --rom the core is empty and programs are loaded over its port: new formula, same design. With --rom program and
weights are part of the design and there is no load port.

The test bench of a program with states or a window runs as many streams as the core has threads; --vectors counts the
runs of all.

The test bench draws its inputs from the box that the program was compiled for, or from all words.

JSON keys: folder, files, ring, threads, words (of the program), cycles (from the last input word of a batch to its last
result), precision (as for skinny run).

example:
  $ skinny compile 'y = (a + 2*b)^3' -o cube.skn
  $ skinny verilog cube.skn --ring fixed:16.8 --threads 4 -o cube
  $ skinny verilog cube.skn --ring fixed:16.8 --roll -o rolled   # what repeats becomes loops; listing.txt shows them
  $ cd cube && iverilog -o bench skinny_core_tb.v skinny_core.v && vvp -N bench
"""


def register(commands: Any) -> None:
    parser = add_command(commands, "verilog", execute, "write the core as Verilog with a test bench", DETAILS)
    add_core_options(parser)
    add_lanes_option(parser)
    add_self_check_option(parser)
    add_size_options(parser, "depth")
    add_rom_option(parser)
    parser.add_argument("-o", "--output", metavar="DIR", required=True, help="the folder to write to")
    parser.add_argument("--vectors", metavar="N", type=int, default=100, help="runs of the test bench (default: 100)")
    add_strict_option(parser)


def execute(args: argparse.Namespace) -> None:
    from skinny.hdl.export.export import export

    expect_folder(args.output)
    program, ring = load_program(args)
    Units(program, ring)  # refuses a ring that has no scales
    image = build_image(program, ring, image_options(args, "lanes", "self_check", "depth"))
    if program.streaming:
        inputs = random_samples(samples_for(args.vectors, image), image)
        precision = lost_weights(program, ring)
    else:
        inputs = random_inputs(args.vectors, program, ring)
        precision = losses(program, ring, inputs, drawn=True)
    tell(precision, args.strict)
    files = export(image, inputs.elements, args.output, rom=args.rom)
    cycles = latency(image)
    words = sum(map(len, image.lanes))
    if args.json:
        answer = {"folder": args.output, "files": files, "ring": ring.name, "threads": image.config.threads}
        print_json(answer | {"words": words, "cycles": cycles, "precision": precision.counts})
    else:
        print(f"{args.output}: {', '.join(files)}")
        sizes = f"{several(words, 'program word')}, {several(image.config.threads, 'thread')}"
        print(f"{sizes}: {cycles:,} cycles for a batch")
