"""The guard of the register memory: parity that covers addresses, and an echo of what is sent."""

from amaranth import Cat, Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from skinny.model.machine.isa import CoreConfig, Op, Sending

from .deep_decoder import deep_control_layout
from .layout import word_layout

__all__ = ["RegisterGuard"]


class RegisterGuard(wiring.Component):
    """Judges the words that instructions read from the register memory, and what an ``EMIT`` sends.

    A word is stored with the parity of itself and of its address. The parity of an address is made where the word of
    the program is fetched, and then has a way of its own through the pipeline: an upset of the address on its way
    shows, when it is read as well as when it is written.

    Latency: ``mismatch`` follows the words by one cycle. The guard judges in every cycle; no back-pressure.

    Parameters
    ----------
    config : CoreConfig
    factors, summand : int
        The stages in which factors and summand come from the memory.

    Members
    -------
    parity, word : In
        The parity of the thread, and the program word, in the stage that fetched it.
    valid_factors, factors, src_odd, sum_odd : In
        The instruction in the stage of its factors, whether its thread has a vector, and the parities of what was read.
    valid_summand, summand, dst_odd, dst_word : In
        The same for the summand, and the summand.
    push, result : In
        The result of the instruction that retires, and whether it is sent.
    write_parity : Out(1)
        The parity of the address to which the instruction that retires writes.
    mismatch : Out(1)
        A word that was read, or sent, one cycle ago is not what it was.
    """

    def __init__(self, config: CoreConfig, factors: int, summand: int):
        self.config = config
        self._factors = factors
        self._summand = summand
        super().__init__(
            {
                "parity": In(1),
                "word": In(word_layout(config)),
                "valid_factors": In(1),
                "factors": In(deep_control_layout(config)),
                "src_odd": In(1),
                "sum_odd": In(1),
                "valid_summand": In(1),
                "summand": In(deep_control_layout(config)),
                "dst_odd": In(1),
                "dst_word": In(config.bits),
                "push": In(1),
                "result": In(config.bits),
                "write_parity": Out(1),
                "mismatch": Out(1),
            }
        )

    def elaborate(self, platform):
        # The accumulator is register 1 of its thread; words that are not used are zero, and nobody judges them.
        m = Module()
        config = self.config
        fetched = 2
        src = _later(m, "src_parity", self.parity ^ self.word.src.xor(), self._factors - fetched)
        own = _later(m, "sum_parity", ~self.parity, self._factors - fetched)
        dst = _later(m, "dst_parity", self.parity ^ self.word.dst.xor(), self._summand - fetched)
        m.d.comb += self.write_parity.eq(_later(m, "write_parity", dst, config.pipeline - self._summand))
        # A register that is sent must not be cleared on its way; nothing else would tell.
        sends = self.word.op == Op.EMIT
        if config.argmax:
            sends = sends & (self.word.src[:2] != Sending.ZERO)
        hidden = _later(m, "hidden", ~sends, self._summand - fetched)
        read = _later(m, "dst_held", self.dst_word, config.pipeline - self._summand)

        different = self.result ^ read
        pairs = Signal((config.bits + 1) // 2, reset_less=True)
        sent, odd = Signal(), Signal()
        m.d.sync += [
            pairs.eq(Cat(different[at : at + 2].any() for at in range(0, config.bits, 2))),
            sent.eq(self.push),
            odd.eq(
                (self.valid_factors & self.factors.use_src & ~self.factors.bad & (self.src_odd ^ src))
                | (self.valid_factors & self.factors.use_sum & (self.sum_odd ^ own))
                | (self.valid_summand & ~self.summand.fresh & (self.dst_odd ^ dst))
                | (self.valid_summand & self.summand.fresh & ~hidden & ~self.summand.bad)
            ),
        ]
        m.d.comb += self.mismatch.eq(odd | (sent & pairs.any()))
        return m


def _later(m: Module, name: str, value: Value, cycles: int) -> Value:
    """The value ``cycles`` later."""
    for cycle in range(cycles):
        held = Signal(len(value), reset_less=True, name=f"{name}{cycle}")
        m.d.sync += held.eq(value)
        value = held
    return value
