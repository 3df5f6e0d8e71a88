"""The decoder of a core with registers in memory."""

from amaranth import Cat, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from skinny.model.machine.isa import ONE, CoreConfig, Op, Sending, index_bits

from .decoder import is_loop, past_end
from .layout import word_layout

__all__ = ["DeepDecoder", "deep_control_layout"]


def deep_control_layout(config: CoreConfig) -> data.StructLayout:
    """The decoded word. The product is ``(x | S | w)·(R[src] | one)`` or ``x·w``, of what is used."""
    relu = {"relu": 1} if config.relu else {}  # what is written is zero if it would be below zero
    # With argmax what becomes of the word of an EMIT travels in the place of ``dst``, which is for reports then.
    argmax = {"route": index_bits(config.width)} if config.argmax else {}
    begin = {"begin": 1} if config.state else {}  # it writes only in the first run of a stream
    return data.StructLayout(
        {
            "op": index_bits(len(Op)),
            "dst": index_bits(config.width),
            "use_x": 1,
            "use_w": 1,
            "use_sum": 1,
            "use_src": 1,
            "one": 1,  # the source is register 1
            "attend": 1,  # w[k] takes the place of the register
            "fresh": 1,  # nothing is added to the product
            "onto_sum": 1,  # the destination is S
            "neg": 1,
            "write": 1,
            "emit": 1,
            "check": 1,
            "flag": 1,  # the register must be one, not zero
            "bad": 1,
            **relu,
            **argmax,
            **begin,
        }
    )


class DeepDecoder(wiring.Component):
    """Decodes one program word.

    Latency: none, or one cycle if ``registered``, which then is in the middle: comparing all bits of two registers and
    using the outcome would be too much for one cycle of a fast core. No back-pressure.

    Parameters
    ----------
    config : CoreConfig
    registered : bool

    Members
    -------
    word : In(word_layout)
        The program word.
    control : Out(deep_control_layout)
        The control signals. A word that means nothing has ``bad`` set and adds zero to zero without writing the sum.
    """

    def __init__(self, config: CoreConfig, registered: bool):
        self.config = config
        self.registered = registered
        super().__init__({"word": In(word_layout(config)), "control": Out(deep_control_layout(config))})

    def elaborate(self, platform):
        m = Module()
        config, word = self.config, self.word
        parts = Signal(deep_control_layout(config))
        apply, attend = Signal(), Signal()
        known = Signal()
        with m.Switch(word.op):
            with m.Case(Op.APPLY_X, Op.APPLY_W, *config.begins):
                m.d.comb += [apply.eq(1), known.eq(1)]
            if config.attention:
                with m.Case(Op.APPLY_S):
                    m.d.comb += [apply.eq(1), parts.use_sum.eq(1), known.eq(1)]
                with m.Case(Op.ATTEND):
                    m.d.comb += [attend.eq(1), known.eq(1)]
            with m.Case(Op.EMIT):
                m.d.comb += [parts.emit.eq(1), known.eq(~word.flag)]
            if config.check:
                with m.Case(Op.CHECK):
                    m.d.comb += [parts.check.eq(1), known.eq(1)]
            if config.repeat:
                with m.Case(Op.NONE):
                    m.d.comb += known.eq(is_loop(config, word))
        shown = parts.emit | parts.check
        zero = parts.emit & (word.src[:2] == Sending.ZERO) if config.argmax else 0
        if config.repeat:
            zero = zero | (word.op == Op.NONE)
        takes_weight = (word.op == Op.APPLY_W) | attend
        if config.state:
            m.d.comb += parts.begin.eq(word.op == Op.BEGIN)
            takes_weight = takes_weight | parts.begin
        m.d.comb += [
            parts.op.eq(word.op),
            parts.dst.eq(word.dst),
            parts.use_x.eq((word.op == Op.APPLY_X) | attend),
            parts.use_w.eq(takes_weight),
            parts.one.eq(word.src == ONE),
            parts.use_src.eq(apply),
            parts.attend.eq(attend),
            parts.fresh.eq(((apply | attend) & word.flag) | zero),
            parts.onto_sum.eq(word.dst == ONE),
            parts.neg.eq(word.neg),
            parts.write.eq(apply | attend),
            parts.flag.eq(word.flag),
            # Comparisons with powers of two are always false and vanish.
            parts.bad.eq(
                ~known
                | ((apply | shown) & past_end(word.dst, config.width))
                | (apply & past_end(word.src, config.width))
                | (parts.use_x & past_end(word.u, config.inputs))
                | (parts.use_w & past_end(word.k, config.weights))
            ),
        ]
        if config.relu:
            m.d.comb += parts.relu.eq(word.relu & apply & word.flag)
        if config.argmax:
            m.d.comb += parts.route.eq(Mux(parts.emit, word.src[:2], word.dst))

        # S is no scalar of its own, it is never shown, and attend writes nothing else. An apply to a register does not
        # read that register, unless it assigns.
        never_sum = parts.use_sum | shown if config.attention else apply | shown
        pairs = range(0, len(word.dst), 2)
        found = Cat(
            never_sum, attend, apply & ~word.flag, *(word.dst[at : at + 2] == word.src[at : at + 2] for at in pairs)
        )
        if self.registered:
            held = Signal(deep_control_layout(config), reset_less=True)
            held_found = Signal(len(found), reset_less=True)
            m.d.sync += [held.eq(parts), held_found.eq(found)]
            parts, found = held, held_found
        never_sum, always_sum, differ, same = found[0], found[1], found[2], found[3:]

        control = self.control
        register = Signal()
        m.d.comb += [
            control.eq(parts),
            register.eq(~parts.onto_sum),
            control.bad.eq(
                parts.bad | (never_sum & parts.onto_sum) | (always_sum & register) | (differ & register & same.all())
            ),
        ]
        for name in ("use_x", "use_w", "use_sum", "write"):
            m.d.comb += control[name].eq(parts[name] & ~control.bad)
        m.d.comb += [
            control.use_src.eq(parts.use_src & ~parts.one),
            control.one.eq(parts.use_src & parts.one),
            control.fresh.eq(parts.fresh | control.bad),
        ]
        if config.relu:
            m.d.comb += control.relu.eq(parts.relu & register & ~control.bad)
        return m
