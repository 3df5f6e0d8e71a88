"""``skinny host``: a board at a serial port, told what to run."""

from __future__ import annotations

import argparse
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
from skinny.answers import watched_run
from skinny.model.errors import CheckError, InputError
from skinny.model.link.host import Host, Status
from skinny.model.machine.assemble import Image
from skinny.model.machine.streams import expect_room, interleaved, padding, separated
from skinny.model.parallel.image import ImageOptions, build_image
from skinny.model.program.storage import load
from skinny.model.program.units import Units
from skinny.model.run.precision import Precision
from skinny.streams import first_sample, tuned, watched_stream
from skinny.values import several

from .common import (
    add_command,
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
    add_baud_option,
    add_inputs_option,
    add_stream_options,
    add_strict_option,
    add_weight_option,
    expect_stream_options,
    read_retunes,
    with_weights,
)
from .outputs import add_output_option, expect_table, write_results, write_samples
from .progress import counted

if TYPE_CHECKING:
    from skinny.model.program.program import Program

__all__ = ["register"]

DETAILS = """\
  info            what the board is, which program it holds (by its seal), whether a fault was met
  load PROGRAM    put a program into the core; nothing is sent if it is there, unless with --force
  run PROGRAM     load it, send the inputs, read the results
  reset           reset the core; what it holds stays

--weight kp=1.2 sets a named weight of the program. When the program is there, only the words of weights that can be set
are sent: named ones, and all of a trained model, so that a model that was trained again and compiled into the same
instructions (skinny compile --weights, set_weights in Python) runs on without a reload.

The board says which ring and sizes its core has; a program that does not fit is refused. Lost and garbled bytes are
made good. When a run meets a fault, or results stay away, the core is reset and loaded and the inputs are sent again,
once; when that does not help, or the board does not answer any more, the exit code is 1. A program that was compiled
with --self-check is checked in every run.

JSON keys: board, clock_mhz, ring, seal, fault, busy, core (its sizes), lost (requests that had to be repeated),
recoveries (how often the core was loaded again because of its results); for load and run also program, words, loaded
(whether it was sent), retuned (whether only its weights were sent); for run also results (a list of values for
each name), faults (numbers of the inferences that met one, from 1), seconds and precision (as for skinny run). Inputs
and results are in your own units; -o FILE.csv writes all results. For streams (--stream, docs/streams.md) also streams,
samples and first, results has a list for each stream, and faults are numbers of samples.

example:
  $ skinny host /dev/ttyUSB1 info
  $ skinny host /dev/ttyUSB1 run cube.skn --inputs a=1,b=2
  $ skinny host /dev/ttyUSB1 run cube.skn --inputs values.csv --json
  $ skinny host /dev/ttyUSB1 run sum.skn --stream samples.csv
  $ skinny host /dev/ttyUSB1 run pid.skn --inputs e=0.5,i=0,d=0 --weight kp=1.2
"""
ACTIONS = ("info", "load", "run", "reset")


def register(commands: Any) -> None:
    parser = add_command(commands, "host", execute, "run programs on a board at a serial port", DETAILS)
    parser.add_argument("port", metavar="PORT", help="the serial port, like /dev/ttyUSB1 or COM3")
    parser.add_argument("action", metavar="ACTION", choices=ACTIONS, help="info, load, run or reset")
    parser.add_argument("program", metavar="PROGRAM", nargs="?", help="a .skn or .npz file, for load and run")
    add_inputs_option(parser)
    add_stream_options(parser)
    parser.add_argument("--force", action="store_true", help="load even if the board says that the program is there")
    add_baud_option(parser)
    add_weight_option(parser)
    add_strict_option(parser)
    add_output_option(parser)


def execute(args: argparse.Namespace) -> None:
    from skinny.sim.link.port import SerialPort

    if (args.program is None) != (args.action in ("info", "reset")):
        raise InputError(f"{args.action} takes {'a' if args.program is None else 'no'} program")
    if args.inputs is not None and args.action != "run":
        raise InputError(f"{args.action} takes no --inputs")
    for option in ("stream", "retune", "pad"):
        if getattr(args, option) and args.action != "run":
            raise InputError(f"{args.action} takes no --{option}")
    if args.strict and args.action != "run":
        raise InputError(f"{args.action} takes no --strict")
    if args.output is not None and args.action != "run":
        raise InputError(f"{args.action} takes no -o")
    expect_table(args.output)
    if args.force and args.action != "load":
        raise InputError(f"{args.action} takes no --force")
    if args.weight and args.program is None:
        raise InputError(f"{args.action} takes no --weight")
    program = None if args.program is None else with_weights(load(args.program), args.weight)
    if program is not None and args.action == "run":
        expect_stream_options(args, program)
    with SerialPort(args.port, args.baud) as port:
        host = Host(port)
        status = host.open() if args.action == "reset" else host.status()
        answer: dict[str, Any] = {}
        precision: Precision | None = None
        if program is not None:
            config = status.info.config
            (image,) = build_image(program, config.ring, ImageOptions.of_core(config)).lanes
            answer = {"program": args.program, "words": len(image)}
            if args.action == "run":
                if program.streaming:
                    found, precision = _run_streams(host, program, image, args)
                else:
                    found, precision = _run(host, program, image, args.inputs)
                answer |= found
            else:
                host.load(image, force=args.force)
            answer["loaded"], answer["retuned"] = host.loads > 0, host.retunes > 0
            status = host.status()
        answer = _described(status) | answer | {"lost": host.lost, "recoveries": host.recoveries}
    _report(args, answer)
    if precision is not None:
        tell(precision, args.strict)
    if faults := answer.get("faults"):
        raise CheckError(f"{several(len(faults), 'inference')} met a fault, the first is number {faults[0]}")


def _described(status: Status) -> dict[str, Any]:
    device = status.info
    sizes = ("width", "threads", "depth", "inputs", "weights", "attention", "check", "fifo", "slices", "guard")
    names = (*sizes, "assign", "sums", "relu", "argmax", "registers", *["pipeline"] * device.config.deep)
    kept = [name for name in ("state", "window", "repeat") if getattr(device.config, name)]
    return {
        "board": device.board,
        "clock_mhz": device.clock / 1e6,
        "ring": device.config.ring.name,
        "seal": status.seal,
        "fault": status.fault,
        "busy": status.busy,
        "core": {name: getattr(device.config, name) for name in (*names, *kept)},
    }


def _run(host: Host, program: Program, image: Image, given: str | None) -> tuple[dict[str, Any], Precision]:
    config = image.config
    ring = config.ring
    units = Units(program, ring)
    inputs = read_inputs(given, units)
    elements = inputs.elements
    precision = watched_run(program, ring, inputs)[1]
    before = perf_counter()
    values, faulty = host.run_elements(image, elements)
    seconds = perf_counter() - before
    results = named_results(units, values)
    answer = {"results": results, "faults": (np.flatnonzero(faulty) + 1).tolist(), "seconds": seconds}
    return answer | {"precision": precision.counts}, precision


def _run_streams(
    host: Host, program: Program, image: Image, args: argparse.Namespace
) -> tuple[dict[str, Any], Precision]:
    config = image.config
    units = Units(program, config.ring)
    samples = read_streams(args.stream, units)
    streams, count, words = samples.elements.shape
    expect_room(config, streams)
    pieces = tuned(program, read_retunes(args.retune), count)
    precision = watched_stream(pieces, config.ring, samples, args.pad, partial(counted, "golden run"))[1]
    zeros = padding(program) if args.pad else 0
    # A batch is full: streams that nobody asked for get zeros.
    given = np.zeros((config.threads * config.inferences, zeros + count, words), dtype=samples.elements.dtype)
    given[:streams, zeros:] = samples.elements
    before = perf_counter()
    cuts = np.split(given, [zeros + first for first, _ in pieces[1:]], axis=1)
    found = host.run_stream(
        [(image.reassemble(tuned), interleaved(config, part)) for (_, tuned), part in zip(pieces, cuts, strict=True)]
    )
    seconds = perf_counter() - before
    values = separated(config, found.words, len(given))[:streams]
    faulty = found.faults.any(axis=1).reshape(-1, config.threads).repeat(config.inferences, axis=1)[:, :streams]
    first = first_sample(program, args.pad)
    answer = {"results": named_streams(units, values), "streams": streams, "samples": count, "first": first}
    faults = (np.flatnonzero(faulty.any(axis=1)) + first).tolist()
    return answer | {"faults": faults, "seconds": seconds, "precision": precision.counts}, precision


def _report(args: argparse.Namespace, answer: dict[str, Any]) -> None:
    if args.output is not None and "streams" in answer:
        write_samples(args.output, answer["results"], answer["first"])
    elif args.output is not None:
        write_results(args.output, answer["results"])
    if args.json:
        print_json(answer)
        return
    if args.action == "run":
        results = answer["results"]
        if "streams" in answer:
            runs = answer["samples"] - answer["first"] + 1
            if args.output is None:
                print_samples(results, runs, answer["first"])
                print()
            counts = f"{several(answer['streams'], 'stream')} of {several(answer['samples'], 'sample')}"
            print(f"{counts} in {answer['seconds']:.2f} s")
        else:
            count = len(next(iter(results.values())))
            if args.output is None:
                print_results(results, count)
                print()
            print(f"{several(count, 'inference')} in {answer['seconds']:.2f} s")
    elif args.action == "load":
        print(f"{args.program}: {several(answer['words'], 'word')}, {_done(answer)}")
    else:
        core = ", ".join(f"{name} {int(v) if isinstance(v, bool) else v}" for name, v in answer["core"].items())
        print(f"{answer['board']}, {answer['clock_mhz']:g} MHz, {answer['ring']}: {core}")
        held = f"holds a program with the seal {answer['seal']:08x}" if answer["seal"] else "holds no complete program"
        print(held + (", a fault was met" if answer["fault"] else "") + (", running" if answer["busy"] else ""))
    if answer["lost"]:
        note(f"{several(answer['lost'], 'request')} had to be repeated")
    if answer["recoveries"]:
        times = several(answer["recoveries"], "time")
        note(f"results were faulty or stayed away, so the core was loaded again, {times}")


def _done(answer: dict[str, Any]) -> str:
    if answer["loaded"]:
        return "loaded"
    return "was there already" + (", its weights were sent" if answer["retuned"] else "")
