"""The register memory: the registers of all threads in block RAM, and the accumulator."""

from amaranth import Cat, Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from skinny.hdl.parts.cleared import ClearedRAM
from skinny.hdl.parts.target import TARGETS, Target
from skinny.model.machine.isa import ONE, CoreConfig, index_bits

__all__ = ["RegisterMemory", "operand_latency", "summand_latency"]


def operand_latency(config: CoreConfig) -> int:
    """The cycles from the address of an operand to the operand. The first stages that a pipeline gets more than six are
    the register behind the block RAM and, from nine on, the output register of the block RAM before that one."""
    return 1 if config.pipeline == 6 else 2 if config.pipeline < 9 else 3


def summand_latency(config: CoreConfig) -> int:
    """The cycles from the address of the summand to the summand: a register is always between the block RAM and the
    carry chain of the adder."""
    return max(2, operand_latency(config))


class RegisterMemory(wiring.Component):
    """Gives an instruction its register, its accumulator, and what it adds to, and takes its result.

    Registers are there twice, because an instruction reads two of them. Nobody reads or writes register 1 here, because
    it is one, so the accumulator ``S`` has its place; as a factor it is in a small memory of its own.
    Latency: :func:`operand_latency` and :func:`summand_latency`; what is written can be read from the next cycle on.
    Throughput: one instruction a cycle. No back-pressure. Reset keeps everything. **What is read in the cycle in which
    it is written is undefined**, and so is what was never written.

    Parameters
    ----------
    config : CoreConfig
    target : Target

    Members
    -------
    thread, src : In
        The thread and the register whose word is read as a factor, with the thread's ``S``.
    src_clear, sum_clear : In(1)
        In the next cycle ``src_word``, ``sum_word`` is zero.
    src_word, sum_word : Out
        The factors.
    dst_thread, dst, dst_clear, dst_word : In, In, In, Out
        The same for the summand; register 1 stands for ``S``.
    write, write_thread, write_dst, write_word : In
        A result, and where it is written; register 1 stands for ``S``.
    write_parity : In(1)
        With the guard: the parity of the address that is meant.
    src_odd, sum_odd, dst_odd : Out(1)
        With the guard: the parity of a word, of the address that was meant when it was written, and of its parity bit.
        It is that of the address that it is read from, unless something was upset.
    """

    def __init__(self, config: CoreConfig, target: Target = TARGETS["generic"]):
        self.config = config
        self.target = target
        thread, register, word = index_bits(config.threads), index_bits(config.width), config.bits
        super().__init__(
            {
                "thread": In(thread),
                "src": In(register),
                "src_clear": In(1),
                "src_word": Out(word),
                "sum_clear": In(1),
                "sum_word": Out(word),
                "dst_thread": In(thread),
                "dst": In(register),
                "dst_clear": In(1),
                "dst_word": Out(word),
                "write": In(1),
                "write_thread": In(thread),
                "write_dst": In(register),
                "write_word": In(word),
                "write_parity": In(1),
                "src_odd": Out(1),
                "sum_odd": Out(1),
                "dst_odd": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        config = self.config
        latency = operand_latency(config)
        # All copies are written alike, so that an upset of the destination cannot make them differ.
        place = Cat(self.write_thread, self.write_dst)
        for name, cycles, addr, write_addr, write in (
            ("src", latency, Cat(self.thread, self.src), place, self.write),
            ("sum", latency, self.thread, self.write_thread, self.write & (self.write_dst == ONE)),
            ("dst", summand_latency(config), Cat(self.dst_thread, self.dst), place, self.write),
        ):
            if name == "sum" and not config.attention:
                continue
            bits, words = config.bits + config.guard, 1 << len(addr)
            # Also what was never written has the parity of its address: an upset may lead there.
            own = ONE if name == "sum" else 0
            init = [(own ^ at.bit_count() & 1) << config.bits for at in range(words)] if config.guard else []
            m.submodules[f"{name}_copy"] = memory = ClearedRAM(bits, words, cycles, init, self.target)
            m.d.comb += [
                memory.addr.eq(addr),
                memory.clear.eq(getattr(self, f"{name}_clear")),
                getattr(self, f"{name}_word").eq(memory.data),
                memory.write.eq(write),
                memory.write_addr.eq(write_addr),
                memory.write_data.eq(Cat(self.write_word, self.write_word.xor() ^ self.write_parity)),
            ]
            if config.guard:
                m.d.comb += getattr(self, f"{name}_odd").eq(memory.data.xor())
        return m
