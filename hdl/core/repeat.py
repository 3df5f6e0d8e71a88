"""The repeat unit: it runs loops, and it moves the indices of program words from round to round."""

from amaranth import Cat, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from skinny.model.machine.isa import ONE, CoreConfig, Op, Sending, index_bits
from skinny.model.machine.repeat import END_BITS, STATE_BITS, payload_at

from .layout import word_layout

__all__ = ["Loops", "Mover", "step_layout"]


def step_layout(config: CoreConfig) -> data.StructLayout:
    """What is added to the fields of a program word that loops move."""
    return data.StructLayout({name: config.fields[name] for name in config.moving})


def following(state):
    """The state of the shift register that counts rounds when a body was begun once more."""
    return Cat(state[10] ^ state[8], state[:-1])


class Loops(wiring.Component):
    """Keeps the loops of all levels: where they begin and end, how many rounds are left, and their steps.

    Latency: ``back`` and ``begin`` hold in the cycle of ``turn``, ``step`` two cycles after it and ``looping`` from
    three cycles after it on. Throughput: a word each ``threads`` cycles. No back-pressure.

    Parameters
    ----------
    config : CoreConfig

    Members
    -------
    turn : In(1)
        The last thread issues the word at ``pc``, which changes after this cycle only.
    over : In(1)
        No loop stays open: a run ends, or there is none.
    pc : In
        The address of the word that is issued.
    word : In(word_layout)
        In the cycle of ``turn`` and in the one after it, the word whose turn it is.
    back, begin : Out
        In the cycle of ``turn``: a body is begun once more; the address of its first word.
    looping : Out(1)
        A loop has rounds left for the word whose address was ``pc`` two cycles ago.
    step : Out(step_layout)
        What is added to the offsets in this cycle, mostly zero.
    """

    def __init__(self, config: CoreConfig):
        self.config = config
        super().__init__(
            {
                "turn": In(1),
                "over": In(1),
                "pc": In(index_bits(config.depth)),
                "word": In(word_layout(config)),
                "back": Out(1),
                "begin": Out(index_bits(config.depth)),
                "looping": Out(1),
                "step": Out(step_layout(config)),
            }
        )

    def elaborate(self, platform):
        # A word stays for cycles, so that all but the next address is decided in the cycle after `turn`, from
        # registers: by then the word is still there, and `pc` is the address of the next one.
        m = Module()
        config, word = self.config, self.word
        payload = word.as_value()[payload_at(config) :]
        end, state = payload[:END_BITS], payload[END_BITS:][:STATE_BITS]
        which = payload[END_BITS + STATE_BITS] if config.repeat == 2 else 0
        turned, over = Signal(), Signal()
        # `turned`: the word whose turn it was is followed by the next one in memory.
        m.d.sync += [turned.eq(self.turn & ~self.back), over.eq(self.over)]
        makes_loop = Signal(reset_less=True)
        m.d.sync += makes_loop.eq(word.op == Op.NONE)

        hits: list[Signal] = []
        begins, opens, taken = [], [], []
        for level in range(config.repeat):
            opened, hit = Signal(name=f"open{level}"), Signal(name=f"hit{level}")
            begin = Signal.like(self.begin, reset_less=True, name=f"begin{level}")
            last = Signal(END_BITS, reset_less=True, name=f"end{level}")
            rounds = Signal(STATE_BITS, reset_less=True, name=f"rounds{level}")
            step = Signal(step_layout(config), reset_less=True, name=f"step{level}")
            # This comparison is long, too.
            m.d.sync += hit.eq(opened & (self.pc[:END_BITS] == last))
            again = Signal(name=f"again{level}")
            m.d.sync += again.eq(self.turn & hit & ~Cat(hits).any() if hits else self.turn & hit)
            with m.If(again):
                # The last state is the one whose other bits are all zero.
                m.d.sync += [opened.eq(rounds[1:].any()), rounds.eq(following(rounds))]
            with m.If(turned & makes_loop & ~word.neg & word.flag & (which == level)):
                m.d.sync += [opened.eq(1), begin.eq(self.pc), last.eq(end), rounds.eq(state)]
            with m.If(turned & makes_loop & word.neg & (word.flag == level)):
                m.d.sync += [step[name].eq(word[name]) for name in config.moving]
            with m.If(over):
                m.d.sync += [opened.eq(0), step.eq(0)]
            taken.append(Mux(again, step.as_value(), 0))
            hits.append(hit)
            begins.append(begin)
            opens.append(opened)

        added = Signal(step_layout(config), reset_less=True)
        looping = Signal()
        m.d.sync += [added.eq(taken[0] | taken[-1]), looping.eq(Cat(opens).any())]
        m.d.comb += [
            self.back.eq(Cat(hits).any()),
            self.begin.eq(Mux(hits[0], begins[0], begins[-1])),
            self.looping.eq(looping),
            self.step.eq(added),
        ]
        return m


class Mover(wiring.Component):
    """Adds the offsets to the indices of every word.

    Latency: ``word_o`` follows ``word`` by a cycle; ``first`` and ``step`` take effect for the word of the next cycle.
    Throughput: one word a cycle. No back-pressure.

    Parameters
    ----------
    config : CoreConfig

    Members
    -------
    first : In(1)
        The word of the next cycle begins a run: all offsets are zero.
    step : In(step_layout)
        What is added to the offsets.
    looping : In(1)
        A loop has rounds left: if ``word`` is an ``EMIT`` it is not the last one, and it compares if it would decide.
    word, word_o : In(word_layout), Out(word_layout)
        The word in memory, and the word that is executed.
    """

    def __init__(self, config: CoreConfig):
        self.config = config
        super().__init__(
            {
                "first": In(1),
                "step": In(step_layout(config)),
                "looping": In(1),
                "word": In(word_layout(config)),
                "word_o": Out(word_layout(config)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        config, word = self.config, self.word
        offset = Signal(step_layout(config), reset_less=True)
        moved = Signal(word_layout(config))
        held = Signal(word_layout(config), reset_less=True)
        m.d.comb += [moved.eq(word), self.word_o.eq(held)]
        m.d.sync += held.eq(moved)
        for name in config.moving:
            m.d.sync += offset[name].eq(Mux(self.first, 0, offset[name] + self.step[name]))
            onto_sum = (word.dst == ONE) if name == "dst" and config.deep else 0
            m.d.comb += moved[name].eq(word[name] + Mux(onto_sum, 0, offset[name]))
        with m.If(self.looping & (word.op == Op.EMIT)):
            m.d.sync += held.neg.eq(0)
            if config.argmax:
                with m.If(moved.src[:2] == Sending.DECIDE):
                    m.d.sync += held.src[:2].eq(Sending.COMPARE)
        return m
