"""A memory whose words can be replaced by zero on their way out, where that costs least."""

from amaranth import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from skinny.model.machine.isa import index_bits

from .target import Target

__all__ = ["ClearedRAM"]


class ClearedRAM(wiring.Component):
    """A memory of ``depth`` words of ``bits`` bits that reads in every cycle; what is read can be zero instead, so that
    words of several memories are joined by OR.

    Latency: a word is at ``data`` ``latency`` cycles after its address. With 1 it comes straight from the block RAM
    through a gate; with 2 through a register that has a reset for ``clear``; with 3 through the output register of the
    block RAM and then that register. Throughput: one word a cycle. No back-pressure. What is read in the cycle in which
    it is written is undefined.

    Parameters
    ----------
    bits, depth, latency : int
    init : list of int
        The initial contents; the rest is zero.
    target : Target

    Members
    -------
    addr : In
        The address that is read.
    clear : In(1)
        In the next cycle ``data`` is zero.
    data : Out(bits)
        The word that was read.
    write, write_addr, write_data : In
        ``write_data`` is written at ``write_addr``.
    """

    def __init__(self, bits: int, depth: int, latency: int, init: list[int], target: Target):
        self.latency = latency
        self._memory = target.memory(bits, depth, init, registered=latency > 2)
        address = index_bits(depth)
        super().__init__(
            {
                "addr": In(address),
                "clear": In(1),
                "data": Out(bits),
                "write": In(1),
                "write_addr": In(address),
                "write_data": In(bits),
            }
        )

    def elaborate(self, platform):
        # The block RAM of the ECP5 has a reset of its own, but one that is driven is reported not to work in silicon.
        m = Module()
        m.submodules.memory = memory = self._memory
        m.d.comb += [
            memory.addr.eq(self.addr),
            memory.fetch.eq(1),
            memory.take.eq(1),
            memory.write.eq(self.write),
            memory.write_addr.eq(self.write_addr),
            memory.write_data.eq(self.write_data),
        ]
        if self.latency == 1:
            cleared = Signal()
            m.d.sync += cleared.eq(self.clear)
            m.d.comb += self.data.eq(Mux(cleared, 0, memory.data))
        else:
            held = Signal.like(self.data, reset_less=True)
            m.d.sync += held.eq(Mux(self.clear, 0, memory.data))
            m.d.comb += self.data.eq(held)
        return m
