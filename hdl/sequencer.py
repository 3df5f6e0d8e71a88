"""The sequencer: which instruction of which thread is issued in each cycle."""

from amaranth import Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from skinny.model.isa import CoreConfig, index_bits

__all__ = ["Sequencer", "tag_layout"]


def tag_layout(config: CoreConfig) -> data.StructLayout:
    """What accompanies an instruction on its way. ``live``: it is part of a running batch; ``valid``: and its thread
    has a vector; ``first``: it begins a run; ``final``: its thread is the last with a vector."""
    return data.StructLayout(
        {
            "live": 1,
            "valid": 1,
            "first": 1,
            "final": 1,
            "bank": 1,
            "thread": index_bits(config.threads),
            "pc": index_bits(config.depth),
        }
    )


class Sequencer(wiring.Component):
    """Issues word ``p`` of thread ``t`` in cycle ``t0 + p·T + t``, batch after batch.

    A batch begins the cycle after ``start``; when the next one may start in the last cycle of a batch there is no gap.
    No back-pressure once a batch runs.

    Members
    -------
    full, count : In
        The next input bank holds a batch; its last thread.
    room : In(1)
        The results of one more batch have room.
    hold : In(1)
        No batch may start.
    last_word : In
        Address of the program's last word.
    start : Out(1)
        A batch begins in the next cycle.
    done : Out(1)
        The last instruction of a batch is issued.
    tag : Out(tag_layout)
        The instruction that is issued.
    """

    def __init__(self, config: CoreConfig):
        self.config = config
        super().__init__(
            {
                "full": In(1),
                "count": In(index_bits(config.threads)),
                "room": In(1),
                "hold": In(1),
                "last_word": In(index_bits(config.depth)),
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
        # Between batches these run on; only `live` says whether they mean anything.
        first = Signal(reset_less=True)
        bank = Signal(init=1)
        count = Signal.like(self.count, reset_less=True)
        thread = Signal.like(tag.thread, reset_less=True)
        pc = Signal.like(tag.pc, reset_less=True)
        final = Signal()
        turn = Signal()
        # The comparison is long. With more than one thread a word stays for cycles, so it can be made a cycle before.
        at_last = Signal(reset_less=True)
        m.d["comb" if self.config.threads == 1 else "sync"] += at_last.eq(pc == self.last_word)
        m.d.comb += [
            turn.eq(thread == self.config.threads - 1),
            final.eq(thread == count),
            self.done.eq(live & turn & at_last),
            self.start.eq(self.full & self.room & ~self.hold & (~live | self.done)),
        ]

        m.d.sync += [live.eq(self.start | (live & ~self.done)), thread.eq(Mux(turn | self.start, 0, thread + 1))]
        m.d.sync += valid.eq(self.start | (live & ~self.done & (turn | (valid & ~final))))
        with m.If(self.start):
            m.d.sync += [pc.eq(0), first.eq(1), bank.eq(~bank), count.eq(self.count)]
        with m.Elif(turn):
            m.d.sync += [pc.eq(pc + 1), first.eq(0)]

        for name, signal in {
            "live": live,
            "valid": valid,
            "first": first & live,
            "final": final,
            "bank": bank,
            "thread": thread,
            "pc": pc,
        }.items():
            m.d.comb += tag[name].eq(signal)
        return m
