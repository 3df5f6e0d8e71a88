"""``skinny fpga``: what a program costs on an FPGA, and a bitstream."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from skinny.answers import SEEDS, expect_bare_estimate, expect_own_parts
from skinny.model.errors import InputError
from skinny.model.files import expect_folder
from skinny.model.machine.image import MachineImage
from skinny.model.program.units import Units
from skinny.model.run.precision import Precision, lost_weights
from skinny.sim.fpga.devices import DEVICES, ICE40, Device, find_device
from skinny.sim.fpga.estimate import estimate_report
from skinny.sim.fpga.expected import image_for

from .common import add_command, note, print_json, print_table, tell
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
from .progress import working

if TYPE_CHECKING:
    from skinny.sim.fpga.report import Report

__all__ = ["register"]

DETAILS = f"""\
Synthesis with yosys, place and route with nextpnr, all from Python packages: nothing to install. The first call of each
tool compiles it for this machine, which takes a minute or more; results are kept in $SKINNY_CACHE or the user's cache
folder, so that what was done once is answered at once.

devices: {"; ".join(f"{device.name} ({device.title})" for device in DEVICES.values())}

The core is measured alone, and in a scan wrapper that needs four pins; the scan wrapper is what is placed. A LUT and a
register share a logic cell of iCE40 only if one feeds the other, so logic cells, not LUTs, fill the device; ECP5 has
slices of two LUTs and two registers, which are counted when they are placed.
Guards: signs of lost logic in the log, input bits that nothing reads, the number of multiplier blocks and block RAMs,
and, on iCE40, the netlist simulated cycle by cycle against the model of the core. A failed guard is exit code 1.

On ECP5 the core takes the family's own multiplier and block RAM with their registers; --inferred leaves them to yosys.
Without --rom the core is empty, and programs are loaded over its port: new formula, same bitstream. state bits are
those of all threads; inferences a second are those of the best seed, in the long run.

--estimate answers in a moment without any tool, from formulas that were fitted to synthesis runs, and says how far they
were off for other designs; keys: device, ring, target, rom, core (lut4, ff, cells, dsp, block_ram), mhz (median, cap,
effective), critical_path, cycles_per_inference, inferences_per_second, state_bits, program_words, program_bits,
worst_errors (lut4, ff, cells, mhz), outside (parameters that no fitted design had).

JSON keys: device, ring, threads, width, depth, inputs, weights, fifo, attention, check, guard, assign, sums, relu,
argmax, registers, pipeline (registers in memory), repeat, lanes, rom, target, core and with_scan_wrapper (lut4, ff,
carry, dsp, block_ram, lut_ram, cells), utilisation, mhz (best, median, seeds, cap, effective), critical_path,
cycles_per_inference, inferences_per_second, state_bits, program_words, program_bits, gate_level_cycles; folder and
files with -o. Estimates too have precision (zero_weights, changed_weights).

example:
  $ skinny compile 'y = (a + 2*b)^3' -o cube.skn
  $ skinny fpga cube.skn --ring fixed:16.8 --device up5k
  $ skinny fpga cube.skn --ring fixed:16.8 --device up5k --estimate
  $ skinny fpga cube.skn --ring fixed:16.8 --device ecp5-25k --depth 1024 --seeds 5 -o cube
"""


def register(commands: Any) -> None:
    parser = add_command(commands, "fpga", execute, "area, frequency and bitstream on an FPGA", DETAILS)
    add_core_options(parser)
    add_lanes_option(parser)
    add_self_check_option(parser)
    parser.add_argument("--device", required=True, metavar="DEVICE", help=", ".join(DEVICES))
    parser.add_argument("--seeds", metavar="N", type=int, help=f"runs of place and route (default: {SEEDS})")
    parser.add_argument("--freq", metavar="MHZ", type=float, help="what place and route aims at")
    parser.add_argument("--inferred", action="store_true", help="generic parts instead of the family's own")
    add_size_options(parser, "depth", "inputs", "weights")
    parser.add_argument("--no-attention", dest="attention", action="store_false", help="no attention unit")
    parser.add_argument("--no-check", dest="check", action="store_const", const=False, help="no check unit")
    add_rom_option(parser)
    parser.add_argument(
        "--gate-level", action=argparse.BooleanOptionalAction, help="simulate the netlist (default: on iCE40)"
    )
    parser.add_argument("--estimate", action="store_true", help="formulas instead of synthesis, in a moment")
    parser.add_argument("-o", "--output", metavar="DIR", help="write Verilog, netlist, reports and a bitstream")
    add_strict_option(parser)


def execute(args: argparse.Namespace) -> None:
    device = find_device(args.device)
    expect_folder(args.output)
    if args.inferred:
        expect_own_parts(device, "--inferred")
    if args.estimate:
        simulated = "--no-gate-level" if args.gate_level is False else "--gate-level"
        expect_bare_estimate(
            {"--seeds": args.seeds, "--freq": args.freq, simulated: args.gate_level, "-o": args.output}
        )
    seeds = SEEDS if args.seeds is None else args.seeds
    if not 1 <= seeds <= 1000:
        raise InputError(f"the number of seeds must be 1 to 1000, not {seeds}")
    if args.freq is not None and not 1 <= args.freq <= 1000:
        raise InputError(f"the frequency must be 1 to 1000 MHz, not {args.freq:g}")
    gate_level = device.family is ICE40 if args.gate_level is None else args.gate_level
    names = ("lanes", "self_check", "depth", "inputs", "weights", "attention", "check")
    program, ring = load_program(args)
    Units(program, ring)  # refuses a ring that has no scales
    target = "generic" if args.inferred else device.family.target
    image = image_for(device, program, ring, image_options(args, *names), target=target, rom=args.rom)
    precision = lost_weights(program, ring)
    tell(precision, args.strict)
    if args.estimate:
        _estimate(args, image, device, target, precision)
        return

    # Loaded here, because other commands do not need Amaranth.
    from skinny.sim.fpga.gate import expect_gate_level
    from skinny.sim.fpga.report import Design, implement, write_design
    from skinny.sim.fpga.tools import prepare

    if gate_level:
        expect_gate_level(device)
    design = Design(image, device, rom=args.rom, inferred=args.inferred)
    design.expected()  # refuses what cannot fit, before any tool is made ready
    for tool in device.tools:
        prepare(tool, note)
    with working(f"{device.name}: synthesis", 2 + seeds + gate_level) as work:
        report = implement(
            design,
            range(1, seeds + 1),
            frequency=args.freq,
            gate_level=gate_level,
            done=lambda what: work.step(f"{device.name}, behind {what}"),
        )
    files = [] if args.output is None else write_design(report, args.output)
    if args.json:
        told = {"precision": precision.counts}
        print_json(report.as_dict() | told | ({"folder": args.output, "files": files} if files else {}))
    else:
        _show(device, report)
        if files:
            print(f"{args.output}: {', '.join(files)}")


def _estimate(args: argparse.Namespace, image: MachineImage, device: Device, target: str, precision: Precision) -> None:
    answer = estimate_report(image, device, target, rom=args.rom)
    for what in answer["outside"]:
        note(f"the estimate may be further off than stated: no fitted design had {what}")
    if args.json:
        print_json(answer | {"precision": precision.counts})
        return
    core, mhz, off = answer["core"], answer["mhz"], answer["worst_errors"]
    rows = [
        ("LUT4", f"{core['lut4']:,}", f"± {off['lut4']:.0%}"),
        ("FF", f"{core['ff']:,}", f"± {off['ff']:.0%}"),
        *([("logic cells", f"{core['cells']:,}", f"± {off['cells']:.0%}")] if core["cells"] is not None else []),
        ("DSP", f"{core['dsp']}", ""),
        ("block RAM", f"{core['block_ram']}", ""),
        ("MHz", f"{mhz['median']:.1f}", f"± {off['mhz']:.0%}"),
    ]
    print_table((device.title, "estimate", "worst error of those checked"), rows)
    print(f"\ncritical path: {answer['critical_path']}")
    _show_use(answer)


def _show(device: Device, report: Report) -> None:
    answer = report.as_dict()
    names = {"lut4": "LUT4", "ff": "FF", "carry": "carry", "dsp": "DSP", "block_ram": "block RAM", "lut_ram": "LUT RAM"}
    parts = ("core", "with_scan_wrapper")
    names["cells"] = device.family.cells
    rows = [(names[name], *("-" if (n := answer[part][name]) is None else n for part in parts)) for name in names]
    print_table((device.title, "core alone", "in scan wrapper"), rows)
    mhz = answer["mhz"]
    seeds = "1 seed" if len(mhz["seeds"]) == 1 else f"{len(mhz['seeds'])} seeds"
    print(f"\nfrequency: best {mhz['best']:.1f} MHz, median {mhz['median']:.1f} MHz of {seeds}")
    print(f"critical path: {answer['critical_path']['words']}")
    _show_use(answer)
    if answer["gate_level_cycles"] is not None:
        print(f"gate level: {answer['gate_level_cycles']:,} cycles of the netlist match the model")


def _show_use(answer: dict[str, Any]) -> None:
    mhz = answer["mhz"]
    if mhz["cap"] is not None:
        print(
            f"nextpnr knows no timing for the multiplier block SB_MAC16; with its delay, where no registers are around "
            f"it, and the {mhz['cap']:g} MHz of its data sheet {mhz['effective']:.1f} MHz count"
        )
    print(
        f"{answer['cycles_per_inference']:,.2f} cycles an inference, "
        f"{answer['inferences_per_second']:,.0f} inferences a second"
    )
    print(f"{answer['state_bits']:,} state bits, {answer['program_bits']:,} program bits")
