"""The datapath of a core with registers in memory: one pipeline from the register memory and back to it."""

from itertools import pairwise

from amaranth import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from skinny.hdl.parts.arithmetic import Arithmetic
from skinny.hdl.parts.target import TARGETS, Target
from skinny.model.machine.isa import CoreConfig

from .argmax import sender_layout
from .deep_decoder import DeepDecoder, deep_control_layout
from .layout import RetireSignature, result_layout, word_layout
from .register_guard import RegisterGuard
from .register_memory import RegisterMemory, operand_latency, summand_latency
from .sequencer import tag_layout

__all__ = ["DeepDatapath"]


def may_write(tag, control):
    """A value that is true when an instruction of a core with state may write: its thread has a vector or, where a
    stream begins, this is its first run."""
    return Mux(control.begin, tag.live & ~tag.goes_on, tag.valid)


def forgets(tag):
    """A value that is true when the thread of an instruction forgets that it met a fault."""
    return tag.first & ~tag.goes_on


#: What an instruction does outside its pipeline; a reset takes that back. It writes its result; it sends it; that is
#: the last word of the batch; a check is made; it means nothing. A thread without a vector only writes; with state it
#: only begins its stream.
effect_layout = data.StructLayout({"write": 1, "push": 1, "last": 1, "check": 1, "bad": 1})
#: The stage in which a word is there and addresses its operands: the word was issued in stage 0.
FETCHED = 2


class DeepDatapath(wiring.Component):
    """Executes one instruction in every cycle.

    Latency: an instruction retires ``pipeline - 2`` cycles after it entered, and writes its result in that cycle. The
    next instruction of the same thread enters ``threads`` cycles after it and reads the result then, so there must be
    ``pipeline - 1`` threads at least. Throughput: one instruction a cycle. No back-pressure.

    Parameters
    ----------
    config : CoreConfig
    target : Target

    Members
    -------
    tag, word : In
        The instruction that enters.
    x, weight : In
        Its operands, :func:`~.register_memory.operand_latency` cycles later.
    x_clear, weight_clear : Out(1)
        The operand that comes in the next cycle shall be zero.
    retire, push, result, sender, live
        See :class:`~.datapath.Datapath`.
    decoded : Out(deep_control_layout)
        The instruction that entered one cycle ago, decoded.
    fault : Out(1)
        The instruction that retires is faulty, and its thread has a vector.
    parity : In(1)
        With the guard: the parity of the tag's thread.
    mismatch : Out(1)
        The guard found a register that was upset; always low without the guard.
    """

    def __init__(self, config: CoreConfig, target: Target = TARGETS["generic"]):
        self.config = config
        self.target = target
        super().__init__(
            {
                "tag": In(tag_layout(config)),
                "word": In(word_layout(config)),
                "x": In(config.bits),
                "x_clear": Out(1),
                "weight": In(config.bits),
                "weight_clear": Out(1),
                "retire": Out(RetireSignature(config)),
                "push": Out(1),
                "result": Out(result_layout(config)),
                "live": Out(1),
                "fault": Out(1),
                "parity": In(1),
                "mismatch": Out(1),
                "decoded": Out(deep_control_layout(config)),
                **({"sender": Out(sender_layout)} if config.argmax else {}),
            }
        )

    def elaborate(self, platform):
        # The stages are numbered by the cycles since the word was issued. Operands are zero unless they are used, so
        # that OR joins them: one LUT a bit for each factor.
        m = Module()
        config = self.config
        latency = operand_latency(config)
        factors, end = FETCHED + latency, config.pipeline
        decoded = FETCHED + (latency > 1)
        m.submodules.decoder = decoder = DeepDecoder(config, registered=decoded > FETCHED)
        m.submodules.registers = registers = RegisterMemory(config, self.target)
        m.submodules.arithmetic = unit = Arithmetic(
            config.ring, config.bits, end - factors, self.target.multiplier, late=True
        )
        summand = factors + unit.acc_delay
        tags, controls = {FETCHED: self.tag}, {decoded: decoder.control}
        effects = {decoded: Signal(effect_layout)}
        for stage in range(FETCHED + 1, end + 1):
            tags[stage] = Signal(tag_layout(config), name=f"t{stage}_tag")
            m.d.sync += tags[stage].eq(tags[stage - 1])
        for stage in range(decoded + 1, end + 1):
            controls[stage] = Signal(deep_control_layout(config), name=f"t{stage}_control", reset_less=True)
            effects[stage] = Signal(effect_layout, name=f"t{stage}_effect")
            m.d.sync += [controls[stage].eq(controls[stage - 1]), effects[stage].eq(effects[stage - 1])]

        # What the tag says of an instruction counts here, so that single bits of it travel on.
        tag, control, effect = tags[decoded], decoder.control, effects[decoded]
        m.d.comb += [
            effect.write.eq((may_write(tag, control) if config.state else tag.live) & control.write),
            effect.push.eq(tag.valid & control.emit),
            effect.last.eq(tag.final & control.neg),
            effect.check.eq(tag.valid & control.check),
            effect.bad.eq(tag.valid & control.bad),
        ]

        cleared, chosen, addressed = controls[factors - 1], controls[factors], summand - summand_latency(config)
        m.d.comb += [
            self.live.eq(Cat(tags[stage].live for stage in range(FETCHED + 1, end)).any()),
            decoder.word.eq(self.word),
            self.decoded.eq(controls[FETCHED + 1]),
            registers.thread.eq(self.tag.thread),
            registers.src.eq(self.word.src),
            self.x_clear.eq(~cleared.use_x),
            self.weight_clear.eq(~cleared.use_w),
            registers.src_clear.eq(~cleared.use_src),
            registers.sum_clear.eq(~cleared.use_sum),
            registers.dst_thread.eq(tags[addressed].thread),
            registers.dst.eq(controls[addressed].dst),
            registers.dst_clear.eq(controls[summand - 1].fresh),
            unit.a.eq(self.x | registers.sum_word | Mux(chosen.attend, 0, self.weight)),
            unit.b.eq(registers.src_word | Mux(chosen.attend, self.weight, 0) | Mux(chosen.one, config.one, 0)),
            unit.neg.eq(chosen.neg),
            unit.acc.eq(registers.dst_word),
        ]

        tag, control, effect = tags[end], controls[end], effects[end]
        result = Mux(control.relu & unit.o[-1], 0, unit.o) if config.relu else unit.o
        m.d.comb += [
            registers.write.eq(effect.write),
            registers.write_thread.eq(tag.thread),
            registers.write_dst.eq(control.route if config.argmax else control.dst),
            registers.write_word.eq(result),
        ]
        self._report(m, result, tag, control, effect)
        self._stain(m)
        if config.argmax:
            m.d.comb += [
                self.sender.live.eq(tag.live),
                self.sender.emit.eq(control.emit),
                self.sender.last.eq(control.neg),
                self.sender.sending.eq(control.route),
            ]
        if config.guard:
            m.submodules.guard = guard = RegisterGuard(config, factors, summand)
            m.d.comb += [
                guard.parity.eq(self.parity),
                guard.word.eq(self.word),
                guard.valid_factors.eq(tags[factors].valid),
                guard.factors.eq(chosen),
                guard.valid_summand.eq(tags[summand].valid),
                guard.summand.eq(controls[summand]),
                guard.src_odd.eq(registers.src_odd),
                guard.sum_odd.eq(registers.sum_odd),
                guard.dst_odd.eq(registers.dst_odd),
                guard.dst_word.eq(registers.dst_word),
                guard.push.eq(self.push),
                guard.result.eq(unit.o),
                registers.write_parity.eq(guard.write_parity),
                self.mismatch.eq(guard.mismatch),
            ]
        return m

    def _report(self, m: Module, result: Value, tag, control, effect) -> None:
        differs = (result != Mux(control.flag, self.config.one, 0)) if self.config.check else 0
        m.d.comb += [
            self.fault.eq(effect.bad | (effect.check & differs)),
            self.retire.valid.eq(tag.valid),
            self.retire.thread.eq(tag.thread),
            self.retire.pc.eq(tag.pc),
            self.retire.op.eq(control.op),
            self.retire.dst.eq(control.dst),
            self.retire.value.eq(result),
            self.retire.fault.eq(self.fault),
            self.push.eq(effect.push),
            self.result.data.eq(result),
            self.result.last.eq(effect.last),
        ]

    def _stain(self, m: Module) -> None:
        # Whether a run met a fault comes round again with the next instruction of the thread. The first one forgets it,
        # as soon as it enters: by then what the one before left is on its way.
        threads = self.config.threads
        stains = [Signal(reset_less=True, name=f"stain{place}") for place in range(threads)]
        m.d.comb += self.result.fault.eq(stains[-1] | self.fault)
        m.d.sync += stains[0].eq(self.result.fault)
        for place, (before, after) in enumerate(pairwise(stains)):
            entering = place == threads - 1 - (self.config.pipeline - FETCHED)
            forgotten = forgets(self.tag) if self.config.state else self.tag.first
            m.d.sync += after.eq(before & ~forgotten if entering else before)
