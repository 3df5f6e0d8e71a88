"""The netlist does in every cycle what the model of the core says, in every ring; a wrong one is found out."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from skinny.hdl.core.core import Core
from skinny.model.errors import CheckError, InputError
from skinny.model.machine.assemble import fit_image
from skinny.model.machine.isa import CoreConfig
from skinny.model.program.forms import Linear
from skinny.model.program.program import Columns, Mode, Output, Program
from skinny.model.rings import Boolean, FixedPoint, Modular, PrimeField
from skinny.sim import build
from skinny.sim.fpga.devices import DEVICES
from skinny.sim.fpga.expected import expected_cells
from skinny.sim.fpga.gate import expect_gate_level, gate_netlist, gate_testbench, simulate_netlist
from skinny.sim.fpga.synth import Netlist
from skinny.sim.simulators.cocotb_runner import run_testbench

SMALL = {"depth": 32, "inputs": 4, "weights": 6}
#: Every ring that has hardware, with multiplier block and without; the last has its program inside. The first is the
#: core of tests/scripts/test_fpga.py, so that it is built once.
CASES = [
    ("up5k", CoreConfig(FixedPoint(12, 6), threads=2, **SMALL)),
    ("hx8k", CoreConfig(Modular(8), threads=4, **SMALL)),
    ("up5k", CoreConfig(PrimeField(127), threads=3, **SMALL)),
    ("hx8k", CoreConfig(PrimeField(13), threads=4, **SMALL)),
    ("up5k", CoreConfig(Modular(7), threads=4, assign=True, sums=True, relu=True, argmax=4, **SMALL | {"depth": 128})),
    ("up5k", CoreConfig(FixedPoint(11, 5), 40, 6, registers="memory", state=True, **SMALL | {"depth": 128})),
    ("up5k", CoreConfig(FixedPoint(9, 4), threads=3, assign=True, state=True, window=True, **SMALL)),
]
INSIDE = ("up5k", CoreConfig(Boolean(), threads=1, slices=4, **SMALL))


def netlist_of(name, config, image=None):
    device = DEVICES[name]
    core = Core(config, image, rom=image is not None)
    return gate_netlist(core, device, expected_cells(config, device, rom=image))


@pytest.mark.parametrize(("device", "config"), CASES, ids=[config.ring.name for _, config in CASES])
def test_the_netlist_passes_the_bench_of_the_core(make_image, make_vectors, rng, device, config):
    images = [make_image(rng, config, length, outputs=2, inputs=inputs) for length, inputs in ((5, 2), (9, 4))]
    if config.window:
        images = [replace(image, state=(0, 2), window=4, vector=hop) for image, hop in zip(images, (2, 3), strict=True)]
    # Streams of a window begin with vectors that do not run.
    rounds = 6 if config.streams else 2
    job = [(image, make_vectors(rng, image, rounds * config.threads + 1)) for image in images]
    run_testbench(
        gate_testbench(netlist_of(device, config)),
        job,
        ["matches_model", "load_waits_while_busy", "reset_drops_what_runs"],
    )


def test_loops_run_in_the_netlist():
    # Forms of four terms, a loop in a loop; registers in memory, which move, too.
    weights = tuple(Fraction(n, 8) for n in range(-8, 8))
    forms = tuple(Linear(tuple((4 * n + u, u) for u in range(4))) for n in range(4))
    code = Columns.of(range(2, 6), [1] * 4, [1] * 4, range(4), [Mode.ASSIGN] * 4)
    outputs = tuple(Output(f"y{n}", 2 + n, 4, False) for n in range(4))
    program = Program(6, ("a", "b", "c", "d"), weights, forms, code, outputs)
    image = fit_image(program, FixedPoint(8, 4), threads=6, roll=True, repeat=2)
    assert image.rolled
    assert image.config.deep
    assert simulate_netlist(netlist_of("up5k", image.config), image) > 16 * image.steps * 6


@pytest.fixture
def rom(make_image):
    """The smallest core, with its program inside, and its netlist."""
    device, config = INSIDE
    image = make_image(np.random.default_rng(1), config, 9, outputs=2)
    return image, netlist_of(device, config, image)


def test_a_core_with_its_program_inside(rom):
    image, netlist = rom
    # At full speed and with waits, sixteen batches each.
    assert simulate_netlist(netlist, image, rom=True) > 2 * 16 * len(image)


def test_a_corrupted_netlist(rom, tmp_path):
    image, netlist = rom
    text = (netlist.folder / "netlist.v").read_text()
    (tmp_path / "netlist.json").write_bytes((netlist.folder / "netlist.json").read_bytes())
    # One bit of a register is always zero.
    wire = ".Q(\\core.datapath.r1_0 [0])"
    assert text.count(wire) == 1
    (tmp_path / "netlist.v").write_text(text.replace(wire, ".Q()"))
    with pytest.raises(CheckError, match=r"does_the_steps: .*cycle [0-9]+"):
        simulate_netlist(Netlist(tmp_path, netlist.top), image, rom=True)


def test_where_it_cannot_be_done(monkeypatch):
    with pytest.raises(InputError, match=r"^there is no gate-level simulation for ecp5-25k, only for iCE40$"):
        expect_gate_level(DEVICES["ecp5-25k"])
    monkeypatch.setattr(build, "compiler", lambda: None)
    with pytest.raises(InputError, match=r"^no C\+\+ compiler .*: the netlist cannot be simulated, --no-gate-level"):
        expect_gate_level(DEVICES["up5k"])
