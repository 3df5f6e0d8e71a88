"""``skinny sim``: a program on the simulated core, compared with the cycle model in every cycle."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from time import perf_counter
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.progress import Progress
from skinny.answers import losses, random_inputs, simulation
from skinny.model.errors import CheckError
from skinny.model.parallel.image import build_image
from skinny.model.program.units import Units
from skinny.model.rings import Array
from skinny.sim import SIMULATORS

from .common import SHOWN, add_command, named_results, note, print_json, print_results, tell
from .inputs import read_inputs
from .options import (
    add_core_options,
    add_inputs_option,
    add_lanes_option,
    add_self_check_option,
    add_strict_option,
    image_options,
    load_program,
)

if TYPE_CHECKING:
    from skinny.sim.check.stimulus import Stimulus

__all__ = ["register"]

DETAILS = """\
The core is built for the size of the program, the program is loaded over its port, and every retirement, every result
and every handshake is compared with the cycle model; results are compared with the golden run as well. The first
difference ends the command with exit code 1.

simulators: bulk (Verilator, whole batches, the default), verilator (cocotb looks at every cycle; writes waveforms),
amaranth (Amaranth's simulator, taken where there is no C++ compiler). Builds are kept in $SKINNY_CACHE or the user's
cache folder.

Inputs and results are in your own units. --random draws from the box that the program was compiled for, or, if there is
none, from all words: then it is not said how many rows wrapped.

--lanes K runs each inference on K cores at once, a segment of the program each (T // width inferences a batch).

JSON keys: match, cycles, cycles_per_inference, multiplier_utilisation (counted at the core's retire port, from the
first retirement to the last), results (a list of values for each name), simulator, seconds, precision (as for skinny
run); divergence if not match;
largest_difference (from the sequential run, with --lanes in fixed point).

example:
  $ skinny compile 'y = (a + 2*b)^3' -o cube.skn
  $ skinny sim cube.skn --ring fixed:16.8 --random 1000
  $ skinny sim cube.skn --ring fixed:16.8 --random 1000 --lanes 2
  $ skinny sim cube.skn --ring modular:16 --inputs a=1,b=-2 --simulator verilator --vcd cube.vcd
"""


def register(commands: Any) -> None:
    parser = add_command(commands, "sim", execute, "simulate the core cycle by cycle and compare", DETAILS)
    add_core_options(parser)
    add_lanes_option(parser)
    add_self_check_option(parser)
    given = parser.add_mutually_exclusive_group()
    add_inputs_option(given)
    given.add_argument("--random", metavar="N", type=int, help="N random inferences instead (the same every time)")
    parser.add_argument("--simulator", choices=SIMULATORS, help="what simulates the core (default: bulk)")
    parser.add_argument("--vcd", metavar="FILE", help="write a waveform (value change dump)")
    add_strict_option(parser)


def execute(args: argparse.Namespace) -> None:
    # Loaded here, because other commands need neither Amaranth nor cocotb.
    from skinny.sim.simulators.choose import choose

    program, ring = load_program(args)
    units = Units(program, ring)
    image = build_image(program, ring, image_options(args, "lanes", "self_check"))
    inputs = read_inputs(args.inputs, units) if args.random is None else random_inputs(args.random, program, ring)
    precision = losses(program, ring, inputs, drawn=args.random is not None)
    simulator, remark = choose(args.simulator, args.vcd is not None)
    if remark:
        note(remark)
    before = perf_counter()
    difference = None
    try:
        with Progress(console=Console(file=sys.stderr), transient=True, disable=not sys.stderr.isatty()) as progress:
            task = progress.add_task(f"{simulator}: building", total=None)

            def watched(stimuli: list[Stimulus]) -> Iterator[Stimulus]:
                for number, stimulus in enumerate(stimuli):
                    progress.update(task, description=f"{simulator}: running", completed=number, total=len(stimuli))
                    yield stimulus

            found, figures = simulation(image, inputs.elements, simulator, args.vcd, watched)
    except CheckError as error:
        difference = error
    seconds = perf_counter() - before
    if difference is not None:
        if args.json:
            print_json({"match": False, "divergence": str(difference), "simulator": simulator, "seconds": seconds})
        raise difference
    _report(args, units, found, figures | {"simulator": simulator, "seconds": seconds, "precision": precision.counts})
    tell(precision, args.strict)


def _report(args: argparse.Namespace, units: Units, found: Array, answer: dict[str, Any]) -> None:
    if args.json:
        print_json(answer | {"results": named_results(units, found)})
        return
    print_results(named_results(units, found[:SHOWN]), len(found))
    print(
        f"\nall cycles match: {len(found):,} inferences in {answer['cycles']:,} cycles "
        f"({answer['cycles_per_inference']:,.1f} each), multiplier at work {answer['multiplier_utilisation']:.1%}, "
        f"{answer['simulator']}, {answer['seconds']:.2f} s"
    )
    if "largest_difference" in answer:
        print(f"largest difference from the sequential run: {answer['largest_difference']:g}")
