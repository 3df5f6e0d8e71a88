"""The sequencer: it decides which instruction of which thread is issued in each cycle."""

from amaranth import Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from skinny.model.machine.isa import CoreConfig, index_bits

from .layout import word_layout
from .repeat import Loops, step_layout

__all__ = ["Sequencer", "tag_layout"]


def tag_layout(config: CoreConfig) -> data.StructLayout:
    """The tag that accompanies an instruction through the pipeline. ``live``: the instruction belongs to a batch;
    ``valid``: its thread also has a vector; ``first``: it begins a run; ``final``: its thread is the last of
    these; ``goes_on``, only in a core with state: not the first run of its stream."""
    return data.StructLayout(
        {
            "live": 1,
            "valid": 1,
            "first": 1,
            "final": 1,
            "bank": 1,
            "thread": index_bits(config.threads),
            "pc": index_bits(config.depth),
            **({"goes_on": 1} if config.state else {}),
        }
    )


class Sequencer(wiring.Component):
    """Issues step ``p`` of thread ``t`` in cycle ``t0 + p·T + t``, batch after batch. Without loops that is word ``p``.

    Latency: a batch begins one cycle after ``start``. Throughput: one instruction a cycle; there is no gap when the
    next batch may start in the last cycle of a batch. Back-pressure: ``room`` and ``hold`` delay the start of a batch;
    a batch that runs is never stopped.

    Parameters
    ----------
    config : CoreConfig

    Members
    -------
    full, count : In
        There is a batch that was not begun yet; the last thread of that batch.
    bank : In(1)
        The input bank of the batch that was begun last.
    room : In(1)
        The results of one more batch have room.
    hold : In(1)
        No batch may start.
    last_word : In
        The address of the last word of the program.
    renew : In(1)
        Only with state: all streams begin anew with the next batch.
    word : In(word_layout)
        Only in a core that repeats: the word whose address was in ``tag`` two cycles ago.
    step, looping : Out(step_layout), Out(1)
        Only in a core that repeats: what is added to the offsets in this cycle, so that the ``word`` of the next one is
        moved by it; a loop has rounds left for ``word``.
    start : Out(1)
        A batch begins in the next cycle. With state it begins a multiple of ``threads`` cycles after the batch before,
        unless streams begin anew: the registers of a thread are at their place only then.
    done : Out(1)
        The last instruction of a batch is issued.
    tag : Out(tag_layout)
        The tag of the instruction that is issued.
    """

    def __init__(self, config: CoreConfig):
        self.config = config
        super().__init__(
            {
                "full": In(1),
                "count": In(index_bits(config.threads)),
                "bank": In(1),
                "room": In(1),
                "hold": In(1),
                "last_word": In(index_bits(config.depth)),
                **({"renew": In(1)} if config.state else {}),
                **(
                    {"word": In(word_layout(config)), "step": Out(step_layout(config)), "looping": Out(1)}
                    if config.repeat
                    else {}
                ),
                "start": Out(1),
                "done": Out(1),
                "tag": Out(tag_layout(config)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        tag = self.tag
        live = Signal()
        valid = Signal()
        final = Signal()
        turn = Signal()
        over = Signal()
        # Only `live` says whether these mean anything. They are ready for a batch before it is known that one begins,
        # because that is known late in a cycle.
        first = Signal(reset_less=True)
        count = Signal.like(self.count, reset_less=True)
        thread = Signal.like(tag.thread, reset_less=True)
        pc = Signal.like(tag.pc, reset_less=True)
        # The comparison is long. With more than one thread a word stays for cycles, so it can be made a cycle before.
        at_last = Signal(reset_less=True)
        m.d["comb" if self.config.threads == 1 else "sync"] += at_last.eq(pc == self.last_word)
        ends, following = live & turn & at_last, pc + 1
        if self.config.repeat:
            m.submodules.loops = loops = Loops(self.config)
            m.d.comb += [
                loops.turn.eq(turn),
                loops.over.eq(over),
                loops.pc.eq(pc),
                loops.word.eq(self.word),
                self.step.eq(loops.step),
                self.looping.eq(loops.looping),
            ]
            # What comes after a word is decided a cycle before it is needed, and waits in registers: whether the next
            # batch may start is known late in that cycle.
            last_turn, back = Signal(reset_less=True), Signal(reset_less=True)
            next_pc = Signal.like(pc, reset_less=True)
            m.d.sync += [
                last_turn.eq((thread == self.config.threads - 2) & at_last & ~loops.back),
                back.eq(loops.back),
                next_pc.eq(pc + 1),
            ]
            ends, following = live & last_turn, Mux(back, loops.begin, next_pc)
        m.d.comb += [
            turn.eq(thread == self.config.threads - 1),
            final.eq(thread == count),
            self.done.eq(ends),
            *([] if self.config.state else [over.eq(~live | self.done)]),
            self.start.eq(over & self.full & self.room & ~self.hold),
        ]

        m.d.sync += [
            live.eq(self.start | (live & ~over if self.config.state else ~over)),
            valid.eq(self.start | (~over & (turn | (valid & ~final)))),
        ]
        if self.config.state:
            # Streams that go on keep their turns while nothing runs.
            goes_on = Signal()
            went_on = Signal(reset_less=True)
            m.d.comb += [over.eq(Mux(live, self.done, ~goes_on | turn)), tag.goes_on.eq(went_on)]
            m.d.sync += [
                goes_on.eq(~self.renew & (goes_on | self.start)),
                thread.eq(Mux(turn | ~(live | goes_on), 0, thread + 1)),
            ]
            with m.If(over):
                m.d.sync += went_on.eq(goes_on)
        else:
            m.d.sync += thread.eq(Mux(live & ~turn, thread + 1, 0))
        with m.If(over):
            m.d.sync += [pc.eq(0), first.eq(1), count.eq(self.count)]
        with m.Elif(turn):
            m.d.sync += [pc.eq(following), first.eq(0)]

        for name, signal in {
            "live": live,
            "valid": valid,
            "first": first & live,
            "final": final,
            "bank": self.bank,
            "thread": thread,
            "pc": pc,
        }.items():
            m.d.comb += tag[name].eq(signal)
        return m
