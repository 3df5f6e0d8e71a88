"""The copy of argmax: a second unit whose every word is compared with the first one's. It is part of the guard."""

from amaranth import Cat, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from skinny.hdl.parts.target import TARGETS, Target
from skinny.model.machine.cycles import retire_delay
from skinny.model.machine.isa import CoreConfig, Sending

from .argmax import Argmax, sender_layout
from .layout import result_layout

__all__ = ["ArgmaxCopy"]


class ArgmaxCopy(wiring.Component):
    """A second :class:`~.argmax.Argmax`, one cycle behind the first one.

    Because the copy is late it shares no value with the original, so that synthesis does not merge the two. What the
    copy must know of an instruction takes a way of its own through the pipeline, with other bits for the same reason.
    Latency: a wrong word shows at ``mismatch`` one cycle after it goes to the result FIFO. No back-pressure.

    Parameters
    ----------
    config : CoreConfig
    target : Target

    Members
    -------
    live : In(1)
        The instruction that was issued a cycle ago belongs to a batch. :class:`~.control_copy.ControlCopy` vouches for
        it; the tags that travel with it may be upset on the way, for both units alike.
    sender : In(sender_layout)
        The instruction that was issued three cycles ago, four in a core that repeats; its ``live`` is not read.
    push, word : In
        What the original gets in this cycle.
    push_o, word_o : In
        What the original gives in this cycle.
    mismatch : Out(1)
        Original and copy differ.
    """

    def __init__(self, config: CoreConfig, target: Target = TARGETS["generic"]):
        self.config = config
        self.target = target
        super().__init__(
            {
                "live": In(1),
                "sender": In(sender_layout),
                "push": In(1),
                "word": In(result_layout(config)),
                "push_o": In(1),
                "word_o": In(result_layout(config)),
                "mismatch": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.argmax = copy = Argmax(self.config, self.target)
        # As long as an instruction takes to retire, and a cycle more; all bits are inverted on the way.
        cycles = 2 + bool(self.config.repeat)
        live = Signal(cycles, init=-1)
        m.d.sync += live.eq(Cat(~self.live, live[:-1]))
        entering = Signal(sender_layout)
        m.d.comb += [entering.eq(self.sender), entering.live.eq(~live[-1])]
        way = ~entering.as_value()
        for stage in range(retire_delay(self.config) - cycles):
            held = Signal(sender_layout.size, init=(1 << sender_layout.size) - 1, name=f"way{stage}")
            m.d.sync += held.eq(way)
            way = held
        m.d.comb += copy.sender.eq(~way)
        for port, value in ((copy.push, self.push), (copy.word.as_value(), self.word.as_value())):
            late = Signal.like(value)
            m.d.sync += late.eq(value)
            m.d.comb += port.eq(late)
        push, word = Signal(), Signal(result_layout(self.config).size, reset_less=True)
        m.d.sync += [push.eq(self.push_o), word.eq(self.word_o)]
        differs = (copy.push_o != push) | (push & (copy.word_o.as_value() != word))
        # A zero that is compared comes from no register, so that nothing else tells whether it is one.
        zero = copy.push & (copy.sender.sending == Sending.ZERO)
        m.d.comb += self.mismatch.eq(differs | (zero & copy.word.data.any()))
        return m
