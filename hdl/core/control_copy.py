"""The copy of the control: a second sequencer whose every step is compared with the first one's."""

from amaranth import Cat, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from skinny.model.machine.isa import CoreConfig, index_bits

from .inputs import InputBuffer
from .layout import word_layout
from .repeat import step_layout
from .sequencer import Sequencer, tag_layout
from .window_buffer import WindowBuffer

__all__ = ["ControlCopy"]


class ControlCopy(wiring.Component):
    """A second sequencer and a second control of the input buffer, one cycle behind the first ones.

    The copy compares its state with the original's in every cycle; every difference is a mismatch. Because the copy is
    late it shares no value with the original, so that synthesis does not merge the two. Latency: a difference shows at
    ``mismatch`` one cycle after it arises. No back-pressure.

    Parameters
    ----------
    config : CoreConfig

    Members
    -------
    accept, last, ready : In(1)
        The stream of inputs: the core takes a word in this cycle; the word has ``last`` set; the core is ready.
    room, hold, last_word, last_input, renew, size : In
        The values that the sequencer and the input buffer get in this cycle.
    pointers : In
        The port of the same name of the input buffer.
    tag, done : In
        What the sequencer gave one cycle ago, from the registers that follow it.
    word, tag_o, step, looping : In(word_layout), Out(tag_layout), Out(step_layout), Out(1)
        Only in a core that repeats: the word that was read one cycle ago, and what the copy of the sequencer gives.
    mismatch : Out(1)
        Original and copy differ.
    """

    def __init__(self, config: CoreConfig):
        self.config = config
        self._inputs = (WindowBuffer if config.window else InputBuffer)(config, memory=False)
        super().__init__(
            {
                "accept": In(1),
                "last": In(1),
                "ready": In(1),
                "room": In(1),
                "hold": In(1),
                "last_word": In(index_bits(config.depth)),
                "last_input": In(index_bits(config.inputs)),
                **({"renew": In(1)} if config.streams else {}),
                **({"size": In(config.window_bits)} if config.window else {}),
                "pointers": In(len(self._inputs.pointers)),
                "tag": In(tag_layout(config)),
                "done": In(1),
                **(
                    {
                        "word": In(word_layout(config)),
                        "tag_o": Out(tag_layout(config)),
                        "step": Out(step_layout(config)),
                        "looping": Out(1),
                    }
                    if config.repeat
                    else {}
                ),
                "mismatch": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.sequencer = sequencer = Sequencer(self.config)
        m.submodules.inputs = inputs = self._inputs
        for port, value in (
            (inputs.i.valid, self.accept),
            (inputs.i.p.last, self.last),
            (sequencer.room, self.room),
            (sequencer.hold, self.hold),
            *([(sequencer.renew, self.renew)] if self.config.state else []),
            *([(inputs.renew, self.renew)] if self.config.window else []),
        ):
            late = Signal()
            m.d.sync += late.eq(value)
            m.d.comb += port.eq(late)
        ready = Signal(init=1)
        # The input buffer hears of the end of a batch two cycles after its last instruction is issued; three, where
        # loops move indices meanwhile.
        done = Signal(2 + bool(self.config.repeat))
        pointers = Signal.like(self.pointers)
        m.d.sync += [
            ready.eq(self.ready),
            pointers.eq(self.pointers),
            done.eq(Cat(sequencer.done, done[:-1])),
        ]
        m.d.comb += [
            sequencer.full.eq(inputs.full),
            sequencer.count.eq(inputs.count),
            sequencer.bank.eq(inputs.begun),
            sequencer.last_word.eq(self.last_word),
            inputs.last_input.eq(self.last_input),
            inputs.begin.eq(sequencer.start),
            inputs.release.eq(done[-1]),
        ]
        if self.config.window:
            m.d.comb += inputs.size.eq(self.size)
        if self.config.repeat:
            m.d.comb += [
                sequencer.word.eq(self.word),
                self.tag_o.eq(sequencer.tag),
                self.step.eq(sequencer.step),
                self.looping.eq(sequencer.looping),
            ]
        mine, other = sequencer.tag, self.tag
        m.d.comb += self.mismatch.eq(
            (mine.live != other.live)
            | (mine.live & (mine.as_value() != other.as_value()))
            | (sequencer.done != self.done)
            | (inputs.i.ready != ready)
            | (inputs.pointers != pointers)
        )
        return m
