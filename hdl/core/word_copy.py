"""The copy of the mover: a second one, whose every word is compared with the first one's. It is part of the guard."""

from amaranth import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from skinny.model.machine.isa import CoreConfig

from .layout import word_layout
from .repeat import Mover, step_layout
from .sequencer import tag_layout

__all__ = ["WordCopy"]


class WordCopy(wiring.Component):
    """A second :class:`~.repeat.Mover`, one cycle behind the first one, and the parity of the words in memory.

    Loops change words after they are read, so that the parity of a word says nothing of what is executed. Because the
    copy is late, and because words are inverted on their way to it, it shares no value with the original, so that
    synthesis does not merge the two. Latency: a wrong word shows at ``mismatch`` two cycles after it is read, in the
    cycle in which it is at ``executed``. No back-pressure.

    Parameters
    ----------
    config : CoreConfig

    Members
    -------
    tag, step, looping : In
        What the copy of the sequencer gives; it is one cycle behind the original.
    stored, parity : In
        The word that is read from memory, and its parity when it was written.
    executed : In(word_layout)
        The word that the mover gave one cycle ago.
    word : Out(word_layout)
        The word that was read one cycle ago, for the copy of the sequencer.
    mismatch : Out(1)
        The word that was read one cycle ago has not the parity that it was written with, or the one that was read two
        cycles ago became another one than the copy says.
    """

    def __init__(self, config: CoreConfig):
        self.config = config
        super().__init__(
            {
                "tag": In(tag_layout(config)),
                "step": In(step_layout(config)),
                "looping": In(1),
                "stored": In(word_layout(config)),
                "parity": In(1),
                "executed": In(word_layout(config)),
                "word": Out(word_layout(config)),
                "mismatch": Out(1),
            }
        )

    def elaborate(self, platform):
        # The tag of the copy is there a cycle before the word that it asks for comes from memory.
        m = Module()
        m.submodules.mover = mover = Mover(self.config)
        inverted = Signal(self.config.word_bits, reset_less=True)
        parity, first = Signal(reset_less=True), Signal(reset_less=True)
        live = Signal(3)
        m.d.sync += [
            inverted.eq(~self.stored.as_value()),
            parity.eq(self.parity),
            first.eq(self.tag.first),
            live.eq(live << 1 | self.tag.live),
        ]
        m.d.comb += [
            self.word.eq(~inverted),
            mover.word.eq(self.word),
            mover.first.eq(first),
            mover.step.eq(self.step),
            mover.looping.eq(self.looping),
            self.mismatch.eq(
                (live[1] & (self.word.as_value().xor() ^ parity))
                | (live[2] & (mover.word_o.as_value() != self.executed.as_value()))
            ),
        ]
        return m
