"""``skinny faults``: bits of the simulated core are flipped, and what the receiver sees of it is counted."""

from __future__ import annotations

import argparse
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from skinny.model.errors import CheckError, InputError
from skinny.model.files import write_file
from skinny.model.machine.assemble import Image
from skinny.model.machine.isa import CoreConfig
from skinny.model.parallel.image import build_image
from skinny.model.program.program import Program
from skinny.model.rings import Ring
from skinny.trace import expect_png
from skinny.values import several

from .common import add_command, note, print_json, print_table
from .options import add_core_options, add_self_check_option, image_options, load_program
from .progress import working

if TYPE_CHECKING:
    from skinny.sim.upsets.campaign import Campaign
    from skinny.sim.upsets.recovery import Recovery

__all__ = ["register"]

DETAILS = """\
Runs four batches of random inputs again and again, and in each run flips one bit of state in one cycle while the second
batch is issued: COUNT bits of registers and COUNT bits of memories, a quarter in each memory. Outcomes: masked (all
results right, nothing raised), detected (fault was raised before a wrong batch was trusted), time-out (the same, but
seen only by a word that is missing or one too many), wrong (a batch with a wrong word was trusted).

Three cores are compared: 'plain' has no self-check; 'undo' runs every program, undoes it and checks, and sends a status
word; 'self-check' has the guard as well. --self-check takes only the last, --no-self-check only the first. --luts
synthesises the cores for iCE40, which takes a minute. docs/faults.md explains the protocol and the figures.

--recover then does what docs/faults.md tells the receiver to do: after every flip the core is reset and loaded once and
the vectors are sent again, and all results must be right. With the self-check 200 more upsets hit a simulated board,
whose results the host library has to get right by itself. If any are not, the exit code is 1.

JSON keys: ring, threads, count, seed, confidence, cores: a list with name, words (of the program), cycles (a batch),
registers, memories and places: each with flips, masked, detected, timeout, wrong, wrong_share, wrong_interval and, with
--recover, recovered; time (of registers: by tenths of the program, from the first word to the last), cells with --luts;
board with --recover: upsets, recoveries (runs that the host did twice), right; picture if -o.

example:
  $ skinny compile 'y = (a + 2*b)^3 - 3/4*c' -o cube.skn
  $ skinny faults cube.skn --ring fixed:16.8
  $ skinny faults cube.skn --ring fixed:16.8 --count 100000 --self-check --luts -o faults.png
  $ skinny faults cube.skn --ring fixed:16.8 --self-check --recover
"""
CONFIDENCE = 0.95
#: Parts of the program for which figures over time are given.
PARTS = 10
#: Upsets of the simulated board.
BOARD_UPSETS = 200


def register(commands: Any) -> None:
    parser = add_command(commands, "faults", execute, "flip bits of the core and count what comes of it", DETAILS)
    add_core_options(parser)
    add_self_check_option(parser, "all three cores, see below")
    parser.add_argument("--count", metavar="N", type=int, default=10_000, help="flips of each kind (default: 10000)")
    parser.add_argument("--seed", metavar="S", type=int, default=1, help="of inputs, bits and cycles (default: 1)")
    parser.add_argument("--recover", action="store_true", help="reset, load and send again after every flip")
    parser.add_argument("--luts", action="store_true", help="report what the cores cost on iCE40")
    parser.add_argument("-o", "--output", metavar="FILE", help="draw where and when a flip hurts: a .png file")


def execute(args: argparse.Namespace) -> None:
    if not 1 <= args.count <= 10_000_000:
        raise InputError(f"the number of flips must be 1 to 10000000, not {args.count}")
    if args.seed < 0:
        raise InputError(f"the seed must not be negative, not {args.seed}")
    if args.output is not None:
        expect_png(args.output)
    program, ring = load_program(args)
    program.expect_no_stream("a campaign of upsets needs")
    images = _images(program, ring, args)

    from skinny.sim.build import missing_tools
    from skinny.sim.upsets.campaign import campaign
    from skinny.sim.upsets.recovery import recover_board

    if missing := missing_tools():
        raise InputError(f"a campaign needs the compiled simulation: {missing}")
    found: dict[str, Campaign] = {}
    board: Recovery | None = None
    for name, image in images.items():
        with working(f"{name}: building the simulator", 2 * args.count) as work:
            told = partial(work.at, what=f"{name}: flipping bits")
            found[name] = campaign(image, args.count, args.seed, told, recover=args.recover)
    if args.recover and "self-check" in images:
        with working("board: upsets through the host library", BOARD_UPSETS) as work:
            board = recover_board(images["self-check"], BOARD_UPSETS, args.seed, work.at)
    answer: dict[str, Any] = {
        "ring": ring.name,
        "threads": next(iter(images.values())).config.threads,
        "count": args.count,
        "seed": args.seed,
    }
    answer |= {"confidence": CONFIDENCE, "cores": [_core(name, done, args) for name, done in found.items()]}
    if board is not None:
        answer["board"] = board._asdict()
    if args.output is not None:
        from .fault_map import draw

        figure = draw(found)
        write_file(args.output, lambda file: figure.savefig(file, format="png", dpi=110))
        answer["picture"] = args.output
        note(f"{args.output}: written")
    if args.json:
        print_json(answer)
    else:
        _print(answer)
    for name, done in found.items():
        if args.recover and not done.recovered.all():
            place = done.place[~done.recovered][0]
            raise CheckError(
                f"{name}: after {(~done.recovered).sum():,} of {len(done.recovered):,} flips reset, load and the same "
                f"vectors again gave wrong results; the first was in {place}"
            )
    if board is not None and board.right != board.upsets:
        raise CheckError(f"the host got the results of {board.right} of {board.upsets} runs with an upset right")


def _images(program: Program, ring: Ring, args: argparse.Namespace) -> dict[str, Image]:
    given: dict[str, dict[str, Any]] = {
        "plain": {"self_check": False, "check": False},
        "undo": {"self_check": True, "guard": False},
        "self-check": {"self_check": True},
    }
    if args.self_check is not None:
        name = "self-check" if args.self_check else "plain"
        given = {name: given[name]}
    options = image_options(args)
    images = {name: build_image(program, ring, replace(options, **more)) for name, more in given.items()}
    return {name: image.lanes[0] for name, image in images.items()}


def _core(name: str, done: Campaign, args: argparse.Namespace) -> dict[str, Any]:
    from skinny.sim.simulators.state import PLACES

    image = done.image
    figures = partial(_figures, done, args.recover)
    part = done.word * PARTS // len(image)
    answer: dict[str, Any] = {
        "name": name,
        "words": len(image),
        "cycles": len(image) * image.config.threads,
        "registers": figures(~done.in_memory),
        "memories": figures(done.in_memory),
        "places": {place: figures(done.place == place) for place in PLACES if (done.place == place).any()},
        "time": [figures(~done.in_memory & (part == number)) for number in range(PARTS)],
    }
    if args.luts:
        answer["cells"] = _cells(image.config)
    return answer


def _cells(config: CoreConfig) -> dict[str, int]:
    """The cells that a loadable core takes on an iCE40 UP5K."""
    from skinny.hdl.core.core import Core
    from skinny.hdl.export.export import TOP, Pins
    from skinny.sim.fpga.devices import find_device
    from skinny.sim.fpga.expected import expected_cells
    from skinny.sim.fpga.synth import synthesise

    device = find_device("up5k")
    with working("synthesis of the core"):
        found = synthesise(Pins(Core(config), retire=False), TOP, device, expected_cells(config, device)).cells
    return {"luts": found.lut4, "flip_flops": found.ff, "block_rams": found.block_ram, "multipliers": found.dsp}


def _figures(done: Campaign, recover: bool, chosen: Any) -> dict[str, Any]:
    from skinny.sim.upsets.intervals import interval

    counts = done.counts(chosen)
    flips = sum(counts.values())
    return {
        "flips": flips,
        **counts,
        "wrong_share": counts["wrong"] / flips if flips else None,
        "wrong_interval": interval(counts["wrong"], flips, CONFIDENCE),
        **({"recovered": int(done.recovered[chosen].sum())} if recover else {}),
    }


def _print(answer: dict[str, Any]) -> None:
    for core in answer["cores"]:
        print(f"{core['name']}: {several(core['words'], 'program word')}, {core['cycles']:,} cycles a batch", end="")
        cells = core.get("cells")
        print(": " + ", ".join(f"{count} {what.replace('_', ' ')}" for what, count in cells.items()) if cells else "")
        rows = [
            ("all registers", core["registers"]),
            *core["places"].items(),
        ]
        recover = "recovered" in core["registers"]
        print_table(
            (
                *("where", "flips", "masked", "detected", "time-out", "wrong", f"wrong, {CONFIDENCE:.0%} interval"),
                *["recovered"] * recover,
            ),
            [
                (
                    place,
                    figures["flips"],
                    *(f"{figures[outcome] / figures['flips']:7.2%}" for outcome in ("masked", "detected", "timeout")),
                    f"{figures['wrong_share']:7.3%}",
                    "{:.3%} to {:.3%}".format(*figures["wrong_interval"]),
                    *([figures["recovered"]] if recover else []),
                )
                for place, figures in rows
            ],
        )
        print()
    if board := answer.get("board"):
        print(
            f"board: {board['upsets']} runs with an upset through the host library, {board['recoveries']} of them done "
            f"twice, {board['right']} right"
        )
