"""Argmax: of the words that a run compares it finds the largest, and sends the number of that one."""

from amaranth import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from skinny.hdl.parts.target import TARGETS, Target
from skinny.model.machine.isa import CoreConfig, index_bits

from .layout import result_layout
from .sequencer import tag_layout

__all__ = ["Argmax", "argmax_ports"]


def argmax_ports(config: CoreConfig):
    """The ports of a datapath for argmax: the members of the same names below."""
    return {
        "early": Out(index_bits(config.threads)),
        "sender": Out(tag_layout(config)),
        "compare": Out(1),
        "decide": Out(1),
    }


class Argmax(wiring.Component):
    """Stands between the datapath and the result FIFO.

    The words that a run compares are numbered from 0. The largest signed word of each thread and its number are in a
    memory, so that they need no flip-flops. Latency: one cycle, for all words. Throughput: one word a cycle. No
    back-pressure.

    Parameters
    ----------
    config : CoreConfig
    target : Target

    Members
    -------
    early : In
        The thread whose instruction retires two cycles later.
    sender, push, word, compare, decide : In
        The tag of the instruction that retires; whether it sends a word; the word; whether the word is compared;
        whether the number of the largest goes in its place. A word that is compared is not sent unless ``decide`` is
        set.
    push_o, word_o : Out
        The word for the result FIFO.
    """

    def __init__(self, config: CoreConfig, target: Target = TARGETS["generic"]):
        self.config = config
        self.target = target
        super().__init__(
            {
                "early": In(index_bits(config.threads)),
                "sender": In(tag_layout(config)),
                "push": In(1),
                "word": In(result_layout(config)),
                "compare": In(1),
                "decide": In(1),
                "push_o": Out(1),
                "word_o": Out(result_layout(config)),
            }
        )

    def elaborate(self, platform):
        # The largest word so far is read two cycles before a word comes in, compared with it, and replaced a cycle
        # later: the next word of the thread comes in after `threads` cycles, at least four.
        m = Module()
        config = self.config
        bits, size = config.bits, index_bits(config.argmax)
        m.submodules.best = memory = self.target.memory(bits + size, config.threads, [])
        best, best_number = memory.data[:bits], memory.data[bits:]

        # All threads run the same words, so that one count serves all: it moves on with the last thread.
        count, number = Signal(size, reset_less=True), Signal(size)
        m.d.comb += number.eq(Mux(self.sender.first, 0, count))
        with m.If(self.sender.live & (self.sender.thread == config.threads - 1)):
            m.d.sync += count.eq(number + self.compare)

        # Of a single word the number is whether it is above zero; of several the first is the largest so far.
        data, sent = self.word.data, Signal(bits, reset_less=True)
        taken, is_first, above = (Signal(reset_less=True, name=name) for name in ("taken", "is_first", "above"))
        held, held_number, largest = (
            Signal(count, reset_less=True, name=name)
            for name, count in (("held", bits), ("held_number", size), ("largest", size))
        )
        compared = Signal()
        m.d.sync += [
            held.eq(data),
            held_number.eq(number),
            largest.eq(best_number),
            taken.eq(data.as_signed() > best.as_signed()),
            is_first.eq(number == 0),
            above.eq(~data[-1] & data.any()),
            compared.eq(self.push & self.compare),
            sent.eq(Mux(self.compare, 0, data)),
            self.push_o.eq(self.push & (~self.compare | self.decide)),
            self.word_o.last.eq(self.word.last),
            self.word_o.fault.eq(self.word.fault),
        ]
        thread = Signal.like(self.sender.thread, reset_less=True)
        m.d.sync += thread.eq(self.sender.thread)
        m.d.comb += [
            memory.addr.eq(self.early),
            memory.fetch.eq(1),
            memory.take.eq(1),
            memory.write.eq(compared & (is_first | taken)),
            memory.write_addr.eq(thread),
            memory.write_data.eq(held | held_number << bits),
        ]
        chosen = Mux(is_first, above, Mux(taken, held_number, largest))
        m.d.comb += self.word_o.data.eq(sent | Mux(compared, chosen, 0))
        return m
