"""A design small enough to be built in seconds, and the tools ready."""

import pytest
from amaranth import Cat, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from skinny.sim.fpga import place, synth
from skinny.sim.fpga.devices import DEVICES
from skinny.sim.fpga.tools import prepare


class Twister(wiring.Component):
    """A shift register with an exclusive or in front of each bit: a LUT and a register a bit. ``ports`` bits go
    in and out."""

    def __init__(self, bits, ports=1):
        self.bits = bits
        super().__init__({"d": In(ports), "q": Out(ports)})

    def elaborate(self, platform):
        m = Module()
        held = Signal(self.bits)
        ports = len(self.d)
        m.d.sync += held.eq(Cat(self.d, held[:-ports] ^ held[ports:]))
        m.d.comb += self.q.eq(held[-ports:])
        return m


@pytest.fixture(scope="session")
def up5k():
    device = DEVICES["up5k"]
    for tool in device.tools:
        prepare(tool)
    return device


@pytest.fixture(scope="session")
def small(up5k):
    """The netlist of 20 LUTs and registers."""
    return synth.synthesise(Twister(20), "twister", up5k)


@pytest.fixture
def twister():
    return Twister


@pytest.fixture
def no_tools(monkeypatch):
    """From now on nothing may be run."""

    def refuse(tool, arguments, folder):
        raise AssertionError(f"{tool} was run")

    monkeypatch.setattr(synth, "run_tool", refuse)
    monkeypatch.setattr(place, "run_tool", refuse)
