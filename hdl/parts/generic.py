"""Memory and multiplier, the two parts that a device has ready-made, in a form that any synthesis infers."""

from amaranth import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from skinny.model.machine.isa import index_bits

__all__ = ["BlockRAM", "Multiplier"]


class BlockRAM(wiring.Component):
    """A memory of ``depth`` words of ``bits`` bits; one port reads, the other one writes.

    Latency: a word is at ``data`` two cycles after its address, one for the block RAM and one for its output register;
    one cycle without that register.
    Throughput: one word a cycle. No back-pressure. What is written can be read from the next cycle on; **what is read
    in the cycle in which it is written is undefined**, so whoever uses the memory makes sure that it never matters
    (``tests/hdl/core/test_collisions.py`` proves it for the core).

    Parameters
    ----------
    bits, depth : int
    init : list of int
        The initial contents; the rest is zero.
    registered : bool
        There is an output register.

    Members
    -------
    addr : In
        The address that is read.
    fetch : In(1)
        The word at ``addr`` is read; otherwise what was read stays.
    take : In(1)
        What was read goes to ``data``; otherwise ``data`` stays. Only together with ``fetch``. Without an output
        register it means nothing.
    data : Out(bits)
        The word that was read.
    write, write_addr, write_data : In
        ``write_data`` is written at ``write_addr``.
    """

    def __init__(self, bits: int, depth: int, init: list[int], *, registered: bool = True):
        self.bits = bits
        self.depth = depth
        self.init = init
        self.registered = registered
        address = index_bits(depth)
        super().__init__(
            {
                "addr": In(address),
                "fetch": In(1),
                "take": In(1),
                "data": Out(bits),
                "write": In(1),
                "write_addr": In(address),
                "write_data": In(bits),
            }
        )

    def elaborate(self, platform):
        # Small memories would become LUTs on some devices: slower, and more of what is scarce.
        m = Module()
        block = {"ram_style": "block"}
        m.submodules.memory = memory = Memory(shape=self.bits, depth=self.depth, init=self.init, attrs=block)
        read = memory.read_port()
        write = memory.write_port()
        data = Signal(self.bits, reset_less=True)
        m.d.comb += [
            read.addr.eq(self.addr),
            read.en.eq(self.fetch),
            self.data.eq(data if self.registered else read.data),
            write.addr.eq(self.write_addr),
            write.data.eq(self.write_data),
            write.en.eq(self.write),
        ]
        if self.registered:
            with m.If(self.take):
                m.d.sync += data.eq(read.data)
        return m


class Multiplier(wiring.Component):
    """Computes ``product = a·b``; both operands have ``bits`` bits, signed or not.

    Latency: ``operand_registers + product_registers`` cycles. Throughput: one product a cycle. No back-pressure.
    Registers have neither reset nor enable, so that they fit a multiplier block.

    Parameters
    ----------
    bits : int
    signed : bool
    operand_registers, product_registers : int
        The number of registers behind the operands and behind the product, 0 or 1 each.

    Members
    -------
    a, b : In(bits)
    product : Out(2 * bits)
    """

    def __init__(self, bits: int, signed: bool, operand_registers: int, product_registers: int):
        self.bits = bits
        self.signed = signed
        self.operand_registers = operand_registers
        self.product_registers = product_registers
        super().__init__({"a": In(bits), "b": In(bits), "product": Out(2 * bits)})

    def elaborate(self, platform):
        m = Module()
        a, b = self.a, self.b
        if self.operand_registers:
            a, b = (Signal(self.bits, reset_less=True, name=f"operand_{name}") for name in "ab")
            m.d.sync += [a.eq(self.a), b.eq(self.b)]
        product = a.as_signed() * b.as_signed() if self.signed else a * b
        if self.product_registers:
            held = Signal(2 * self.bits, reset_less=True)
            m.d.sync += held.eq(product)
            product = held
        m.d.comb += self.product.eq(product)
        return m
