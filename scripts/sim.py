"""``skinny sim``: a program on the simulated core, compared with the cycle model in every cycle."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from time import perf_counter
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.progress import Progress
from skinny.answers import random_inputs, simulation
from skinny.model.errors import CheckError
from skinny.model.parallel.image import build_image
from skinny.model.program.storage import load
from skinny.model.rings import Array, parse_ring
from skinny.sim import SIMULATORS

from .common import SHOWN, add_command, named_results, note, print_json, print_results
from .inputs import read_inputs
from .options import add_core_options, add_inputs_option, add_lanes_option, add_self_check_option, image_options

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

--lanes K runs each inference on K cores at once, a segment of the program each (T // width inferences a batch).

JSON keys: match, cycles, cycles_per_inference, multiplier_utilisation (counted at the core's retire port, from the
first retirement to the last), results (a list of values for each name), simulator, seconds; divergence if not match;
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


def execute(args: argparse.Namespace) -> None:
    # Loaded here, because other commands need neither Amaranth nor cocotb.
    from skinny.sim.simulators.choose import choose

    ring = parse_ring(args.ring)
    program = load(args.program)
    image = build_image(program, ring, image_options(args, "lanes", "self_check"))
    if args.random is None:
        elements = read_inputs(args.inputs, program.inputs, ring)
    else:
        elements = random_inputs(args.random, len(program.inputs), ring)
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

            found, figures = simulation(image, elements, simulator, args.vcd, watched)
    except CheckError as error:
        difference = error
    seconds = perf_counter() - before
    if difference is not None:
        if args.json:
            print_json({"match": False, "divergence": str(difference), "simulator": simulator, "seconds": seconds})
        raise difference
    answer = figures | {"simulator": simulator, "seconds": seconds}
    _report(args, [output.name for output in program.outputs], ring, found, answer)


def _report(args: argparse.Namespace, names: list[str], ring: Any, found: Array, answer: dict[str, Any]) -> None:
    if args.json:
        print_json(answer | {"results": named_results(ring, names, found)})
        return
    print_results(named_results(ring, names, found[:SHOWN]), len(found))
    print(
        f"\nall cycles match: {len(found):,} inferences in {answer['cycles']:,} cycles "
        f"({answer['cycles_per_inference']:,.1f} each), multiplier at work {answer['multiplier_utilisation']:.1%}, "
        f"{answer['simulator']}, {answer['seconds']:.2f} s"
    )
    if "largest_difference" in answer:
        print(f"largest difference from the sequential run: {answer['largest_difference']:g}")
