"""The numbering: every word of the result FIFO carries its number and a parity bit."""

from amaranth import Cat, Module, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from skinny.model.machine.isa import CoreConfig, index_bits

from .layout import result_layout

__all__ = ["Numbering"]


class Numbering(wiring.Component):
    """Numbers and seals the words of the result FIFO: a lost, doubled, old or changed word is a mismatch.

    A word of the memory that was never written is a mismatch, too. The numbers count to twice the depth of the FIFO, so
    that the word that was at the same place before has another number. Latency: ``seal`` and ``mismatch`` are
    combinational. No back-pressure.

    Parameters
    ----------
    config : CoreConfig

    Members
    -------
    push, word, seal : In, In, Out
        A word is stored, and what is to be stored with it.
    pop, valid, stored, stored_seal : In
        The word at the output is taken; there is one; the word and its seal.
    mismatch : Out(1)
        The word at the output is not the one that is due there.
    """

    def __init__(self, config: CoreConfig):
        number = index_bits(2 * config.fifo)
        layout = data.StructLayout({"number": number, "parity": 1})
        super().__init__(
            {
                "push": In(1),
                "word": In(result_layout(config)),
                "seal": Out(layout),
                "pop": In(1),
                "valid": In(1),
                "stored": In(result_layout(config)),
                "stored_seal": In(layout),
                "mismatch": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        pushed, popped = Signal.like(self.seal.number), Signal.like(self.seal.number)
        m.d.sync += [pushed.eq(pushed + self.push), popped.eq(popped + self.pop)]
        m.d.comb += [
            self.seal.number.eq(pushed),
            self.seal.parity.eq(~(Value.cast(self.word).xor() ^ pushed.xor())),
            self.mismatch.eq(
                self.valid
                & (
                    (self.stored_seal.number != popped)
                    | ~Cat(self.stored.as_value(), self.stored_seal.as_value()).xor()
                )
            ),
        ]
        return m
