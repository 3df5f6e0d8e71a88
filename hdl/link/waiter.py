"""The waiter: a request is answered when its results are there, or when waiting is of no use."""

from amaranth import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from skinny.model.link.wire import REPLY, REQUEST, Flag, Kind

from .retain import POSITION

__all__ = ["Waiter"]


class Waiter(wiring.Component):
    """Waits until ``wanted`` results from position ``start`` on are kept, and decides how many the reply has.

    A request that asks for no results, that was refused, or whose results were already given up is answered at once,
    without results. Where waiting is of no use, or took too long, the reply has the results that are there.

    Latency: one cycle when nothing is to be waited for; ``start`` must be valid a cycle before ``wait``. No
    back-pressure.

    Members
    -------
    wait, done : In(1), Out(1)
        ``wait`` is high until ``done``, which is high for one cycle.
    results : In(1)
        The request asks for results and was not refused.
    start, wanted : In
        The position of the first result, and how many results are asked for.
    first, end : In
        Positions of the results that are kept, as from :class:`skinny.hdl.link.retain.RetainedResults`.
    astray, worn : In(1)
        No more results will come; they had their time.
    fault, busy : In(1)
        The state of the core.
    next : In(1)
        The request was answered.
    count, flags : Out
        How many results the reply has, and the flags of its head.
    """

    def __init__(self):
        size = REQUEST[Kind.EXCHANGE]
        super().__init__(
            {
                "wait": In(1),
                "done": Out(1),
                "results": In(1),
                "start": In(POSITION),
                "wanted": In(8 * size["count"]),
                "first": In(POSITION),
                "end": In(POSITION),
                "astray": In(1),
                "worn": In(1),
                "fault": In(1),
                "busy": In(1),
                "next": In(1),
                "count": Out(8 * size["count"]),
                "flags": Out(8 * REPLY["flags"]),
            }
        )

    def elaborate(self, platform):
        # `ahead` results are there from `start` on, unless that or `behind` is negative, as the top bit says.
        m = Module()
        ahead, behind = Signal(POSITION), Signal(POSITION)
        m.d.sync += [ahead.eq(self.end - self.start), behind.eq(self.start - self.first)]
        with m.If(self.next):
            m.d.sync += self.count.eq(0)
        with m.If(self.wait):
            m.d.sync += self.flags.eq(Mux(self.fault, Flag.FAULT, 0) | Mux(self.busy, Flag.BUSY, 0))
            with m.If(~self.results | behind[-1]):
                m.d.comb += self.done.eq(1)
            with m.Elif(~ahead[-1] & (ahead >= self.wanted)):
                m.d.comb += self.done.eq(1)
                m.d.sync += self.count.eq(self.wanted)
            with m.Elif(self.worn | self.astray):
                m.d.comb += self.done.eq(1)
                m.d.sync += self.count.eq(Mux(ahead[-1], 0, ahead))
        return m
