"""``skinny sim``: a program on the simulated core, compared with the cycle model in every cycle."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Any

from skinny.answers import losses, random_inputs, simulation
from skinny.model.errors import CheckError
from skinny.model.files import expect_file
from skinny.model.parallel.image import build_image
from skinny.model.program.units import Units
from skinny.model.rings import Array
from skinny.model.run.precision import lost_weights
from skinny.sim import SIMULATORS
from skinny.streams import random_samples, stream_simulation, tuned, watched_stream
from skinny.values import several

from .common import (
    SHOWN,
    add_command,
    named_inputs,
    named_results,
    named_streams,
    note,
    print_json,
    print_results,
    print_samples,
    tell,
)
from .inputs import read_inputs, read_streams
from .options import (
    add_core_options,
    add_inputs_option,
    add_lanes_option,
    add_self_check_option,
    add_stream_options,
    add_strict_option,
    expect_stream_options,
    image_options,
    load_program,
    read_retunes,
)
from .outputs import add_output_option, expect_table, write_results, write_samples
from .progress import counted, working

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

Inputs and results are in your own units; -o FILE.csv writes all results, with --random beside their inputs. --random
draws from the box that the program was compiled for, or, if there is none, from all words: then it is not said how many
rows wrapped.

--lanes K runs each inference on K cores at once, a segment of the program each (T // width inferences a batch).

A program with states or a window runs on streams: --stream takes the samples of one, a row each, and comes again for
each further one. A thread is a stream: one stream alone has 1/T of the core, and T streams take the same cycles. With
--random N these are N samples of T streams. --pad puts zeros before the first sample, so that it finds the window full.
--retune 500:kp=1.2 writes a named weight over the load port before sample 500; states stay.

JSON keys: match, cycles, cycles_per_inference, multiplier_utilisation (counted at the core's retire port, from the
first retirement to the last), results (a list of values for each name), simulator, seconds, precision (as for skinny
run); divergence if not match; vcd (the file of the
waveform); with --random also inputs;
largest_difference (from the sequential run, with --lanes in fixed point). For streams also streams, samples (of each),
cycles_per_sample in place of cycles_per_inference, room (streams that the core has threads for), first (the number of
the first sample with results, from 1), and results has a list for each stream.

example:
  $ skinny compile 'y = (a + 2*b)^3' -o cube.skn
  $ skinny sim cube.skn --ring fixed:16.8 --random 1000
  $ skinny sim cube.skn --ring fixed:16.8 --random 1000 --lanes 2
  $ skinny sim cube.skn --ring modular:16 --inputs a=1,b=-2 --simulator verilator --vcd cube.vcd
  $ skinny sim sum.skn --ring fixed:16.8 --stream samples.csv
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
    add_stream_options(parser)
    add_strict_option(parser)
    add_output_option(parser)


def execute(args: argparse.Namespace) -> None:
    # Loaded here, because other commands need neither Amaranth nor cocotb.
    from skinny.sim.simulators.choose import choose

    expect_table(args.output)
    expect_file(args.vcd)
    program, ring = load_program(args)
    streaming = expect_stream_options(args, program, "lanes", "self-check")
    units = Units(program, ring)
    image = build_image(program, ring, image_options(args, "lanes", "self_check"))
    drawn = args.random is not None
    if streaming:
        samples = random_samples(args.random, image) if drawn else read_streams(args.stream, units)
        pieces = tuned(program, read_retunes(args.retune), samples.elements.shape[1])
        expected, precision = watched_stream(pieces, ring, samples, args.pad, partial(counted, "golden run"))
        if drawn and program.box is None:
            precision = lost_weights(program, ring)
    else:
        inputs = read_inputs(args.inputs, units) if not drawn else random_inputs(args.random, program, ring)
        precision = losses(program, ring, inputs, drawn=drawn)
    simulator, remark = choose(args.simulator, args.vcd is not None)
    if remark:
        note(remark)
    before = perf_counter()
    difference = None
    try:
        with working(f"{simulator}: building") as work:

            def watched(stimuli: list[Stimulus]) -> Iterator[Stimulus]:
                for number, stimulus in enumerate(stimuli):
                    work.at(number, len(stimuli), f"{simulator}: running")
                    yield stimulus

            if streaming:
                options = {"padded": args.pad, "vcd": args.vcd, "watch": watched}
                found, figures = stream_simulation(image, pieces, samples.elements, expected, simulator, **options)
            else:
                found, figures = simulation(image, inputs.elements, simulator, args.vcd, watched)
    except CheckError as error:
        difference = error
    seconds = perf_counter() - before
    if difference is not None:
        if args.json:
            print_json({"match": False, "divergence": str(difference), "simulator": simulator, "seconds": seconds})
        raise difference
    told = {"simulator": simulator, "seconds": seconds, "precision": precision.counts, "vcd": args.vcd}
    if args.vcd is not None and not args.json:
        note(f"{args.vcd}: the waveform of the core")
    if streaming:
        _report_streams(args, units, found, figures | told)
    else:
        # Nobody has the inputs that were drawn, so they stand beside their results.
        _report(args, units, found, figures | told, named_inputs(units, inputs.elements) if drawn else {})
    tell(precision, args.strict)


def _report(
    args: argparse.Namespace, units: Units, found: Array, answer: dict[str, Any], given: dict[str, list[Any]]
) -> None:
    if args.output is not None:
        write_results(args.output, given | named_results(units, found))
    if args.json:
        print_json(answer | {"results": named_results(units, found)} | ({"inputs": given} if given else {}))
        return
    if args.output is None:
        shown = {name: column[:SHOWN] for name, column in given.items()}
        print_results(shown | named_results(units, found[:SHOWN]), len(found))
        print()
    print(
        f"all cycles match: {several(len(found), 'inference')} in {answer['cycles']:,} cycles "
        f"({answer['cycles_per_inference']:,.1f} each), multiplier at work {answer['multiplier_utilisation']:.1%}, "
        f"{answer['simulator']}, {answer['seconds']:.2f} s"
    )
    if "largest_difference" in answer:
        print(f"largest difference from the sequential run: {answer['largest_difference']:g}")


def _report_streams(args: argparse.Namespace, units: Units, found: Array, answer: dict[str, Any]) -> None:
    first = answer["samples"] - found.shape[1] + 1
    if args.output is not None:
        write_samples(args.output, named_streams(units, found), first)
    if args.json:
        print_json(answer | {"first": first, "results": named_streams(units, found)})
        return
    if args.output is None:
        print_samples(named_streams(units, found[:, :SHOWN]), found.shape[1], first)
        print()
    streams, room = answer["streams"], answer["room"]
    print(
        f"all cycles match: {several(streams, 'stream')} of {several(answer['samples'], 'sample')} in "
        f"{answer['cycles']:,} cycles ({answer['cycles_per_sample']:,.1f} a sample of each), multiplier at work "
        f"{answer['multiplier_utilisation']:.1%}, {answer['simulator']}, {answer['seconds']:.2f} s"
    )
    if streams < room:
        alone = "one stream alone has" if streams == 1 else f"{streams} streams have"
        print(f"{alone} {streams}/{room} of the core: {room} streams at once take the same cycles")
