"""``skinny sim``: a program on the simulated core, compared with the cycle model in every cycle."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Console
from rich.progress import Progress
from skinny.model.errors import CheckError, InputError
from skinny.model.machine.isa import Words
from skinny.model.parallel.image import build_image
from skinny.model.program.storage import load
from skinny.model.rings import Array, FixedPoint, parse_ring
from skinny.model.run.golden import run
from skinny.sim import SIMULATORS

from .common import add_command, note, print_json, print_table, readable
from .inputs import read_inputs
from .options import add_core_options, add_inputs_option, add_lanes_option, add_self_check_option, image_options

if TYPE_CHECKING:
    from skinny.sim.check.record import Record
    from skinny.sim.check.stimulus import Stimulus

__all__ = ["random_inputs", "register"]

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
SHOWN = 20
#: Instructions simulated between two steps of the progress bar, by simulator.
CHUNK = {"bulk": 2_000_000, "verilator": 1 << 60, "amaranth": 20_000}


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


def random_inputs(count: int, inputs: int, ring: Any) -> Array:
    """``count`` inferences, the same every time."""
    from skinny.sim.check.stimulus import random_elements

    if not count >= 1:
        raise InputError(f"the number of random inferences must be at least 1, not {count}")
    return random_elements(np.random.default_rng(1), ring, (count, inputs))


def execute(args: argparse.Namespace) -> None:
    # Loaded here, because other commands need neither Amaranth nor cocotb.
    from skinny.sim.check.record import outputs
    from skinny.sim.check.stimulus import Stimulus
    from skinny.sim.simulators.choose import choose, simulate

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
    config = image.config
    vectors = config.pack(elements) if program.inputs else np.zeros((len(elements), 1), dtype=np.uint64)
    chunk = max(1, CHUNK[simulator] // (len(image) * config.threads * len(image.lanes))) * image.batch
    stimuli = [Stimulus.steady(image, vectors[first : first + chunk]) for first in range(0, len(vectors), chunk)]
    before = perf_counter()
    words: list[Words] = []
    records: list[Record] = []
    difference = None
    try:
        with Progress(console=Console(file=sys.stderr), transient=True, disable=not sys.stderr.isatty()) as progress:
            task = progress.add_task(f"{simulator}: building", total=None)

            def watched() -> Iterator[Stimulus]:
                for number, stimulus in enumerate(stimuli):
                    progress.update(task, description=f"{simulator}: running", completed=number, total=len(stimuli))
                    yield stimulus

            for stimulus, record in zip(stimuli, simulate(image, watched(), simulator, args.vcd), strict=True):
                words.append(outputs(stimulus, record)[:, : len(program.outputs)])
                records.append(record)
        found = config.unpack(np.concatenate(words), len(elements))
        _compare(program, ring, image.golden(elements), found)
    except CheckError as error:
        difference = error
    seconds = perf_counter() - before
    if difference is not None:
        if args.json:
            print_json({"match": False, "divergence": str(difference), "simulator": simulator, "seconds": seconds})
        raise difference
    answer = _figures(records, len(found), len(image.lanes)) | {"simulator": simulator, "seconds": seconds}
    if len(image.lanes) > 1 and isinstance(ring, FixedPoint):
        sequential = run(program, ring, elements).outputs
        answer["largest_difference"] = float(np.abs(found - sequential).max()) / (1 << ring.frac)
    _report(args, [output.name for output in program.outputs], ring, found, answer)


def _compare(program: Any, ring: Any, expected: Array, found: Array) -> None:
    wrong = np.argwhere(expected != found)
    if len(wrong):
        row, column = wrong[0]
        name = program.outputs[column].name
        values = f"{ring.decode(expected[row, column])}, got {ring.decode(found[row, column])}"
        raise CheckError(f"inference {row + 1}, output {name}: the golden run gives {values}")


def _figures(records: list[Record], inferences: int, lanes: int) -> dict[str, Any]:
    cycles = sum(record.cycles for record in records)
    spans = sum(int(r.trace["cycle"][-1] - r.trace["cycle"][0]) + 1 for r in records if r.trace is not None)
    return {
        "match": True,
        "cycles": cycles,
        "cycles_per_inference": cycles / inferences,
        "multiplier_utilisation": sum(record.worked for record in records) / (spans * lanes),
    }


def _report(args: argparse.Namespace, names: list[str], ring: Any, found: Array, answer: dict[str, Any]) -> None:
    if args.json:
        results = {
            name: [readable(ring.decode(element), name) for element in column]
            for name, column in zip(names, found.T, strict=True)
        }
        print_json(answer | {"results": results})
        return
    rows = [
        (number, *(readable(ring.decode(element), name) for name, element in zip(names, row, strict=True)))
        for number, row in enumerate(found[:SHOWN], 1)
    ]
    print_table(("row", *names), rows)
    if len(found) > SHOWN:
        note(f"{len(found) - SHOWN:,} more rows; --json gives all")
    print(
        f"\nall cycles match: {len(found):,} inferences in {answer['cycles']:,} cycles "
        f"({answer['cycles_per_inference']:,.1f} each), multiplier at work {answer['multiplier_utilisation']:.1%}, "
        f"{answer['simulator']}, {answer['seconds']:.2f} s"
    )
    if "largest_difference" in answer:
        print(f"largest difference from the sequential run: {answer['largest_difference']:g}")
