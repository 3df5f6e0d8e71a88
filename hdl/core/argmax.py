"""Argmax: of the words that a run compares it finds the largest, and sends the number of that one."""

from amaranth import Cat, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from skinny.hdl.parts.target import TARGETS, Target
from skinny.model.machine.isa import CoreConfig, Sending, index_bits

from .layout import result_layout

__all__ = ["Argmax", "sender_layout"]

#: The instruction that retires: it belongs to a batch; it is an ``EMIT``, and the last of the program; if it is one,
#: what becomes of its word (:class:`Sending`).
sender_layout = data.StructLayout({"live": 1, "emit": 1, "last": 1, "sending": 2})


def is_larger(word, best):
    """A value that is true when ``word`` takes the place of ``best``: of equal words the first stays."""
    return word > best


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
    sender : In(sender_layout)
        The instruction that retires, whether or not its thread has a vector.
    push, word : In
        It sends a word, or compares one; the word.
    push_o, word_o : Out
        The word for the result FIFO.
    """

    def __init__(self, config: CoreConfig, target: Target = TARGETS["generic"]):
        self.config = config
        self.target = target
        super().__init__(
            {
                "sender": In(sender_layout),
                "push": In(1),
                "word": In(result_layout(config)),
                "push_o": Out(1),
                "word_o": Out(result_layout(config)),
            }
        )

    def elaborate(self, platform):
        # Each thread has two places in the memory: one holds its largest word so far, the other one takes the word that
        # comes in; when that is larger, the two change their parts. The largest word is read two cycles before a word
        # comes in, and a cycle after it the places are known: the thread is back for its next word after `threads`
        # cycles, at least four.
        m = Module()
        config, sender = self.config, self.sender
        bits, size, threads = config.bits, index_bits(config.argmax), config.threads
        m.submodules.best = memory = self.target.memory(bits + size, 2 * threads, [])
        best, best_number = memory.data[:bits], memory.data[bits:]
        compare = Signal()
        m.d.comb += compare.eq(sender.emit & (sender.sending != Sending.SEND))

        # A batch has no gap from its first thread on, so that threads are counted, and the one two cycles later is
        # known in time for every word but the first, which is compared with nothing.
        thread, early = Signal(range(threads)), Signal(range(threads))
        m.d.sync += thread.eq(Mux(sender.live & (thread != threads - 1), thread + 1, 0))
        m.d.comb += early.eq(Mux(thread >= threads - 2, thread - (threads - 2), thread + 2))

        # All threads run the same words, so that one number serves all: it moves on with the last thread.
        number, sent_number = Signal(size), Signal(size, reset_less=True)
        with m.If(sender.live & sender.emit & (thread == threads - 1)):
            m.d.sync += number.eq(Mux(sender.last, 0, number + compare))

        # The place of the largest word of the thread that comes in two cycles later, in one, now, a cycle ago; then of
        # those that wait for their turn.
        places = [Signal(reset_less=True, name=f"place{stage}") for stage in range(threads)]
        taken = Signal()
        turns = [*places[:3], places[3] ^ taken, *places[4:]]
        m.d.sync += [place.eq(before) for place, before in zip(places, [turns[-1], *turns[:-1]], strict=True)]

        # What is written to the other place is lost if the word is not the largest, so that it need not be told apart.
        # The two threads are never the same, hence no word is read while it is written.
        word, sent = self.word.data, Signal(bits, reset_less=True)
        m.d.comb += [
            memory.addr.eq(Cat(places[0], early)),
            memory.fetch.eq(1),
            memory.take.eq(1),
            memory.write.eq(1),
            memory.write_addr.eq(Cat(~places[2], thread)),
            memory.write_data.eq(Cat(word, number)),
        ]
        best_sent, decided = Signal(size, reset_less=True), Signal()
        # The halves of the words are compared apart and joined in the next cycle: the way from the memory is long.
        half = bits // 2
        compared, is_first, larger, same, larger_below = (
            Signal(reset_less=True, name=name) for name in ("compared", "is_first", "larger", "same", "larger_below")
        )
        m.d.sync += [
            compared.eq(compare),
            is_first.eq(number == 0),
            larger.eq(is_larger(word[half:].as_signed(), best[half:].as_signed())),
            same.eq(word[half:] == best[half:]),
            larger_below.eq(is_larger(word[:half], best[:half])),
            sent_number.eq(number),
            best_sent.eq(best_number),
            sent.eq(Mux(compare, 0, word)),
            decided.eq(sender.sending == Sending.DECIDE),
            self.push_o.eq(self.push & (~compare | (sender.sending == Sending.DECIDE))),
            self.word_o.last.eq(self.word.last),
            self.word_o.fault.eq(self.word.fault),
        ]
        m.d.comb += taken.eq(compared & (is_first | larger | (same & larger_below)))
        largest = Mux(taken, sent_number, best_sent)
        m.d.comb += self.word_o.data.eq(sent | Mux(decided, largest, 0))
        return m
