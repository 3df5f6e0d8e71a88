"""Bits on a line, one by one."""

import gc

import pytest
from amaranth.sim import Simulator
from skinny.hdl.link.uart import UartReceiver, UartTransmitter


def bits_of(byte):
    return [0, *(byte >> n & 1 for n in range(8)), 1]


def simulate(component, bench):
    simulator = Simulator(component)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()


def rtl_receive(divisor, levels):
    """Bytes and their errors, of a line with these levels cycle by cycle."""
    receiver = UartReceiver(divisor)
    found = []

    async def bench(ctx):
        for level in [*levels, *[1] * 2 * divisor]:
            ctx.set(receiver.rx, level)
            if ctx.get(receiver.valid):
                found.append((ctx.get(receiver.data), ctx.get(receiver.error)))
            await ctx.tick()

    simulate(receiver, bench)
    return found


def levels_of(data, bit):
    """Cycle by cycle, of bits that last ``bit`` cycles, not a whole number perhaps."""
    bits = [1, 1, *(level for byte in data for level in bits_of(byte))]
    return [bits[int(cycle / bit)] for cycle in range(int(len(bits) * bit))]


@pytest.mark.parametrize("divisor", [4, 5, 24])
def test_sent_bit_by_bit_without_a_gap(divisor):
    data = [0x00, 0xFF, 0xA5, 0x01]
    transmitter = UartTransmitter(divisor)
    levels = []

    async def send(ctx):
        for byte in data:
            ctx.set(transmitter.i.payload, byte)
            ctx.set(transmitter.i.valid, 1)
            await ctx.tick().until(transmitter.i.ready)
        ctx.set(transmitter.i.valid, 0)

    async def watch(ctx):
        for _ in range((10 * len(data) + 2) * divisor):
            levels.append(ctx.get(transmitter.tx))
            await ctx.tick()

    simulator = Simulator(transmitter)
    simulator.add_clock(1e-6)
    simulator.add_testbench(send)
    simulator.add_testbench(watch)
    simulator.run()
    expected = [level for byte in data for level in bits_of(byte) for _ in range(divisor)]
    first = levels.index(0)
    assert levels[:first] == [1] * first
    assert levels[first : first + len(expected)] == expected
    assert set(levels[first + len(expected) :]) == {1}


@pytest.mark.parametrize(("divisor", "slower"), [(4, 1), (8, 0.98), (8, 1.02), (24, 0.97), (24, 1.03), (100, 1.04)])
def test_received_at_any_speed_nearby(divisor, slower):
    data = [0x00, 0xFF, 0xA5, 0x5A, 0x80, 0x01]
    assert rtl_receive(divisor, levels_of(data, divisor * slower)) == [(byte, 0) for byte in data]


def test_a_start_bit_that_does_not_last_is_none():
    assert rtl_receive(16, [1] * 20 + [0] * 6 + [1] * 200 + levels_of([0x42], 16)) == [(0x42, 0)]


def test_a_stop_bit_that_is_low_is_an_error():
    line = levels_of([0x42], 8)[:-8] + [0] * 300 + [1] * 8 + levels_of([0x17], 8)
    assert rtl_receive(8, line) == [(0x42, 1), (0x17, 0)]


@pytest.mark.filterwarnings("ignore::amaranth.hdl.UnusedElaboratable")
def test_bad_arguments():
    for component in (UartReceiver, UartTransmitter):
        for divisor in (3, 0, 4.5):
            with pytest.raises(ValueError, match=f"the divisor must be an integer of at least 4, not {divisor}"):
                component(divisor)
    gc.collect()
