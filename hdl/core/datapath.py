"""The datapath: the registers of all threads travel round a ring of pipeline stages."""

from functools import reduce
from itertools import pairwise
from operator import or_

from amaranth import Cat, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from skinny.hdl.parts.arithmetic import Arithmetic
from skinny.hdl.parts.target import TARGETS, Target
from skinny.model.machine.isa import CoreConfig, Sending
from skinny.model.parallel.segments import Lane

from .argmax import sender_layout
from .decoder import control_layout
from .echo import Echo
from .layout import RetireSignature, result_layout
from .sequencer import tag_layout

__all__ = ["Datapath"]


def may_write(tag):
    """A value that is true when an instruction of a core with state may write: its thread has a vector."""
    return tag.valid


class Datapath(wiring.Component):
    """Executes one instruction in every cycle.

    Latency: an instruction retires ``threads + 1`` cycles after it entered. The next instruction of the same thread
    enters ``threads`` cycles after it and finds its result. Throughput: one instruction a cycle. No back-pressure.

    In stage 0 operands are read; in stage 1 they are at ``x`` and ``weight``; in stage 2 the scalar is chosen, unless
    it is ``S``. Here the ring of ``threads`` stages begins: the other operands are selected, multiplied and added. In
    the last stage, ``threads + 1``, the result takes its place, and the thread is back at stage 2 together with its
    next instruction.

    Parameters
    ----------
    config : CoreConfig
    target : Target
    lane : Lane or None
        A lane whose vectors have several threads begins a run with their unit vectors; restarts take the start vector.

    Members
    -------
    tag, control : In
        The instruction that enters.
    x, weight : In
        The operands of the instruction, one cycle later.
    start : In(array of width words)
        The start vector.
    kept : In(width)
        Only with state: the registers that keep their contents from one run of a thread to the next, a bit each.
    retire : Out(RetireSignature)
        The instruction that retires.
    push, result : Out
        The word that an ``EMIT`` sends, in the cycle in which it retires.
    sender : Out(sender_layout)
        What argmax must know of the instruction that retires; only with argmax.
    live : Out(1)
        Some instruction of a batch is inside the datapath and will still be there in the next cycle.
    mismatch : Out(1)
        A word that was sent one cycle ago is not its register; always low without the guard.
    """

    def __init__(self, config: CoreConfig, target: Target = TARGETS["generic"], lane: Lane | None = None):
        self.config = config
        self.target = target
        self.units = lane is not None and lane.spread > 1
        super().__init__(
            {
                "tag": In(tag_layout(config)),
                "control": In(control_layout(config)),
                "x": In(config.bits),
                "weight": In(config.bits),
                "start": In(data.ArrayLayout(config.bits, config.width)),
                "retire": Out(RetireSignature(config)),
                "push": Out(1),
                "result": Out(result_layout(config)),
                "live": Out(1),
                "mismatch": Out(1),
                **({"kept": In(config.width)} if config.state else {}),
                **({"sender": Out(sender_layout)} if config.argmax else {}),
            }
        )

    def elaborate(self, platform):
        m = Module()
        config = self.config
        end = config.threads + 1
        tags, controls = [self.tag], [self.control]
        for stage in range(1, end + 1):
            tags.append(Signal(tag_layout(config), name=f"t{stage}_tag"))
            controls.append(Signal(control_layout(config), name=f"t{stage}_control", reset_less=True))
            m.d.sync += [tags[-1].eq(tags[-2]), controls[-1].eq(controls[-2])]
        if config.state:  # only a thread that has a vector writes
            m.d.sync += controls[1].write.eq(self.control.write & may_write(self.tag))
        m.d.comb += self.live.eq(Cat(tag.live for tag in tags[:-1]).any())

        # The state of the thread at stage 2, then of the one at stage 3, and so on; the accumulator comes last.
        state = [
            [Signal(config.bits, reset_less=True, name=f"r{index}_{place}") for place in range(config.threads)]
            for index in range(config.width + config.attention)
        ]
        here = [places[0] for places in state]

        scalar, w2, s2 = (Signal(config.bits, reset_less=True, name=name) for name in ("scalar", "w2", "s2"))
        chosen = Mux(controls[1].one, config.one, Mux(controls[1].weight, self.weight, self.x))
        m.d.sync += scalar.eq(Mux(controls[1].zero, 0, chosen))
        if config.attention:
            m.d.sync += w2.eq(Mux(controls[1].source.any(), 0, self.weight))

        # Registers are gated by their select bits and joined by OR with the weight or the accumulator, gated a
        # stage earlier: two LUTs a bit for three registers.
        stages = config.threads - 1
        m.submodules.arithmetic = unit = Arithmetic(config.ring, config.bits, stages, self.target.multiplier)
        m.d.comb += [
            unit.a.eq(Mux(controls[2].sum, here[-1], scalar) if config.attention else scalar),
            unit.b.eq(_gated(here, controls[2].source) | w2),
            unit.acc.eq(_gated(here, controls[2].onto[: config.width]) | s2),
            unit.neg.eq(controls[2].neg),
        ]

        self._write_back(m, state, s2, unit.o, tags, controls)
        self._report(m, unit.o, self._differs(m, here), tags, controls)
        if config.guard:
            m.submodules.echo = echo = Echo(config)
            m.d.sync += echo.cleared.eq(tags[0].first | controls[end - 1].restart)
            push = self.push
            if config.argmax:  # a zero that is compared comes from no register
                push = push & (controls[-1].route != Sending.ZERO)
            m.d.comb += [
                echo.push.eq(push),
                echo.control.eq(controls[-1]),
                echo.result.eq(unit.o),
                Cat(echo.registers).eq(Cat(places[-1] for places in state[: config.width])),
                self.mismatch.eq(echo.mismatch),
            ]
        return m

    def _write_back(self, m, state, s2, result, tags, controls):
        # A register takes the result, keeps its value or, at the start of a run, takes the start vector. So that one
        # LUT a bit is enough, the old value is cleared a stage earlier (the register's own reset), the start vector is
        # gated a stage earlier (likewise), and both are joined by OR. A single thread has no stage earlier; but there
        # the register's own enable and, if the start vector is constant, its reset do everything.
        end = self.config.threads + 1
        restart = tags[0].first | controls[end - 1].restart
        for index, places in enumerate(state):
            is_sum = index == self.config.width
            begin = tags[0].first if is_sum else restart
            write = Signal(reset_less=True, name=f"write{index}")
            target = controls[end - 1].route if self.config.argmax else controls[end - 1].target
            matches = target == index
            relu = controls[end - 1].relu if self.config.relu else 0
            if self.config.state:
                # The last word of a run writes in time for the next one.
                if not is_sum:
                    begin = (tags[0].first & ~tags[0].goes_on) | (restart & ~self.kept[index])
                relu = relu & may_write(tags[end - 1])
                m.d.sync += write.eq(controls[end - 1].write & matches & ~begin)
            else:
                m.d.sync += write.eq(controls[end - 1].write & matches & ~tags[0].first)
            m.d.sync += [place.eq(before) for before, place in pairwise(places)]
            old = places[-1]
            cleared, value = begin, result
            if self.config.relu and not is_sum:
                # A relu does not write what is below zero; the old value is gone by then, as at the start of a run. A
                # single thread has no stage in which it could go.
                below = controls[end].relu & result[-1]
                if self.config.threads == 1:
                    value = Mux(below, 0, result)
                else:
                    write = write & ~below
                    cleared = begin | (relu & matches)
            new = Mux(write, value, old)
            if self.config.threads == 1:
                clear = Signal(reset_less=True, name=f"clear{index}")
                m.d.sync += clear.eq(begin)
                new = Mux(clear, 0 if is_sum else self.start[index], new)
            else:
                with m.If(cleared):
                    m.d.sync += old.eq(0)
                if not is_sum:
                    start = Signal(self.config.bits, reset_less=True, name=f"start{index}")
                    first = Mux(begin, self.start[index], 0)
                    if self.units:
                        threads = range(index, self.config.threads, self.config.width)
                        mine = Cat(tags[0].thread == thread for thread in threads).any()
                        first = Mux(tags[0].first, Mux(mine, self.config.one, 0), first)
                    m.d.sync += start.eq(first)
                    new = new | start
            m.d.sync += places[0].eq(new)
            if is_sum:
                m.d.sync += s2.eq(Mux(controls[1].onto[index], new, 0))

    def _differs(self, m, here):
        """A value that is true when the registers of the thread at the last stage differ from the start vector."""
        if not self.config.check:
            return 0
        pairs = range(0, self.config.bits, 2)
        different = [here[index] ^ self.start[index] for index in range(self.config.width)]
        wires = Cat(bits[at : at + 2].any() for bits in different for at in pairs)
        for stage in range(1, self.config.threads):
            held = Signal(len(wires), reset_less=True, name=f"t{stage + 2}_differs")
            m.d.sync += held.eq(wires)
            wires = held.any()
        return wires.any()

    def _report(self, m, result, differs, tags, controls):
        tag, control = tags[-1], controls[-1]
        fault = Signal()
        m.d.comb += fault.eq(control.bad | (control.check & differs))

        # Whether a run met a fault travels with its registers.
        stains = [Signal(reset_less=True, name=f"stain{place}") for place in range(self.config.threads)]
        m.d.sync += [place.eq(before) for before, place in pairwise(stains)]
        if self.config.state:  # a stream stays stained until it begins anew
            kept = tags[1].goes_on | ~tags[1].first
            m.d.sync += stains[0].eq(kept & (stains[-1] | (fault & tag.valid)))
        else:
            m.d.sync += stains[0].eq(~tags[1].first & (stains[-1] | fault))

        m.d.comb += [
            self.retire.valid.eq(tag.valid),
            self.retire.thread.eq(tag.thread),
            self.retire.pc.eq(tag.pc),
            self.retire.op.eq(control.op),
            self.retire.dst.eq(control.target),
            self.retire.value.eq(Mux(control.relu & result[-1], 0, result) if self.config.relu else result),
            self.retire.fault.eq(fault),
            self.push.eq(tag.valid & control.emit),
            self.result.data.eq(result),
            self.result.last.eq(control.last & tag.final),
            self.result.fault.eq(stains[-1] | fault),
        ]
        if self.config.argmax:
            m.d.comb += [
                self.sender.live.eq(tag.live),
                self.sender.emit.eq(control.emit),
                self.sender.last.eq(control.last),
                self.sender.sending.eq(control.route),
            ]


def _gated(values, bits):
    """The OR of the values whose bit is set."""
    return reduce(or_, (value & bit.replicate(len(value)) for value, bit in zip(values, bits, strict=False)))
