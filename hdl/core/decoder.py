"""The decoder: it turns a program word into control signals and finds words that mean nothing."""

from amaranth import Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from skinny.model.machine.isa import CoreConfig, Op, Sending, index_bits
from skinny.model.rings import FixedPoint

from .layout import word_layout

__all__ = ["Decoder", "control_layout", "is_loop", "past_end"]


def control_layout(config: CoreConfig) -> data.StructLayout:
    """The decoded word. Index ``width`` stands for the accumulator in ``target``."""
    relu = {"relu": 1} if config.relu else {}  # what is written is zero if it would be below zero
    # With argmax what becomes of the word of an EMIT travels in the place of ``target``, which is for reports then.
    argmax = {"route": index_bits(config.width + 1)} if config.argmax else {}
    return data.StructLayout(
        {
            "op": index_bits(len(Op)),
            "zero": 1,  # the scalar is zero,
            "one": 1,  # or one,
            "weight": 1,  # or w[k], otherwise x[u],
            "sum": 1,  # but S where this is set
            "source": config.width,  # the other factor: a register, one bit each, or w[k] where none is set
            "onto": config.width + 1,  # what the product is added to, one bit each; zero where none is set
            "target": index_bits(config.width + 1),  # what the sum is written to, if
            "neg": 1,
            "write": 1,
            "restart": 1,
            "emit": 1,
            "last": 1,
            "check": 1,
            "bad": 1,
            **relu,
            **argmax,
        }
    )


class Decoder(wiring.Component):
    """Decodes one program word. Latency: none, it is combinational. No back-pressure.

    Members
    -------
    word : In(word_layout)
        The program word.
    control : Out(control_layout)
        The control signals. A word that means nothing has ``bad`` set and adds zero to zero without writing the sum.
    """

    def __init__(self, config: CoreConfig):
        self.config = config
        super().__init__({"word": In(word_layout(config)), "control": Out(control_layout(config))})

    def elaborate(self, platform):
        m = Module()
        config = self.config
        word, control = self.word, self.control
        apply, apply_sum, attend = Signal(), Signal(), Signal()
        known = Signal()
        with m.Switch(word.op):
            with m.Case(Op.APPLY_X, Op.APPLY_W):
                m.d.comb += [apply.eq(1), known.eq(1)]
            if config.attention:
                with m.Case(Op.APPLY_S):
                    m.d.comb += [apply.eq(1), apply_sum.eq(1), known.eq(1)]
                with m.Case(Op.ATTEND, Op.BIAS):
                    m.d.comb += [attend.eq(1), known.eq(1)]
            with m.Case(Op.EMIT):
                m.d.comb += [control.emit.eq(1), known.eq(1)]
            if config.check:
                with m.Case(Op.CHECK):
                    m.d.comb += [control.check.eq(1), known.eq(1)]
            if config.repeat:
                with m.Case(Op.NONE):
                    m.d.comb += known.eq(is_loop(config, word))

        # Comparisons with powers of two are always false and vanish.
        takes_input = (word.op == Op.APPLY_X) | (word.op == Op.ATTEND)
        takes_weight = (word.op == Op.APPLY_W) | attend
        same = word.dst == word.src
        past = past_end(word.dst, config.width)
        # An assign does not add the old value to the product, nor does a sum of registers that starts afresh.
        afresh = attend
        if config.assign:
            same = same & ~word.flag
            afresh = apply | attend
        if config.sums:
            onto_sum = Signal()
            m.d.comb += onto_sum.eq(apply & ~apply_sum & (word.dst == config.width))
            past = past & ~onto_sum
            if not config.assign:
                afresh = onto_sum | attend
        m.d.comb += control.bad.eq(
            ~known
            | (apply & same)
            | ((apply | control.emit) & past)
            | (apply & past_end(word.src, config.width))
            | (takes_input & past_end(word.u, config.inputs))
            | (takes_weight & past_end(word.k, config.weights))
        )

        # A fixed-point format of numbers below one has minus one instead.
        minus_one = isinstance(config.ring, FixedPoint) and config.ring.frac == config.bits - 1
        fresh = (afresh & word.flag) | control.check | control.bad
        if config.argmax:
            fresh = fresh | (control.emit & (word.src[:2] == Sending.ZERO))
        if config.repeat:
            fresh = fresh | (word.op == Op.NONE)
        empty = 0 if config.assign else apply_sum & word.flag
        if config.repeat:
            empty = empty | (word.op == Op.NONE)
        held = apply_sum if config.assign else apply_sum & ~word.flag
        m.d.comb += [
            control.op.eq(word.op),
            control.zero.eq(control.bad | empty | control.emit | control.check),
            control.one.eq(word.op == Op.BIAS),
            control.weight.eq(word.op == Op.APPLY_W),
            control.sum.eq(held & ~control.bad),
            control.source.eq(Mux(attend, 0, 1 << word.src)),
            control.target.eq(Mux(attend, config.width, word.dst)),
            control.onto.eq(Mux(fresh, 0, 1 << control.target)),
            control.neg.eq(word.neg ^ (control.one & minus_one)),
            control.write.eq((apply | attend) & ~control.bad),
            control.restart.eq(control.emit & word.flag & ~control.bad),
            control.last.eq(word.neg),
        ]
        if config.relu:
            assigns = apply & ~onto_sum if config.sums else apply
            m.d.comb += control.relu.eq(word.relu & assigns & word.flag & ~control.bad)
        if config.argmax:
            m.d.comb += control.route.eq(Mux(control.emit, word.src[:2], control.target))
        return m


def is_loop(config: CoreConfig, word):
    """A value that is true when ``word``, whose operation is zero, makes a loop."""
    return word.neg ^ word.flag if config.repeat == 1 else word.neg | word.flag


def past_end(index, count: int):
    """A value that is true when ``index`` is past the end of ``count`` entries; constant when that cannot be."""
    return index >= count if count < 1 << len(index) else 0
