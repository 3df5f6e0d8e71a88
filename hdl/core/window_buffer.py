"""The input buffer of a core with a window: each thread reads the last words that came in for it."""

from amaranth import Cat, Const, Module, Mux, Signal
from amaranth.lib.wiring import In, Out
from skinny.model.machine.isa import index_bits

from .inputs import Banks, InputBuffer
from .windows import Windows

__all__ = ["WindowBuffer"]


def place_of(newest, u):
    """The place of the input with the field ``u`` in a window whose newest word is at ``newest``: the field is the
    complement of the number, so that the sum goes back by the number, with a carry in and half of a ring more."""
    return (Cat(Const(1, 1), newest) + Cat(Const(1, 1), u, Const(1, 1)))[1:]


class WindowBuffer(InputBuffer):
    """An input buffer whose two banks are one ring of words for each thread (:class:`~.windows.Windows`).

    A vector adds words to the ring, and ``u`` counts from the newest one of the vector that runs. A batch of which no
    vector finds its window full is dropped. Otherwise as :class:`~.inputs.InputBuffer`, but ``full`` rises a cycle
    later, after a batch ``i`` is not ready for a cycle for each thread that got no vector, at least for one, and when
    streams begin anew it is not until all batches that came in before are released.

    Members
    -------
    size, renew : In
        For :class:`~.windows.Windows`.
    coming_bank, coming_thread : In
        The bank and the thread of the input that is read two cycles later.
    astray : Out(1)
        With the guard: where the window of the input that is read ends is not what was written.
    """

    def _members(self):
        config = self.config
        members = super()._members()
        return members | {
            "size": In(config.window_bits),
            "renew": In(1),
            "coming_bank": In(1),
            "coming_thread": In(index_bits(config.threads)),
            "astray": Out(1),
            "pointers": Out(members["pointers"].shape + config.window_bits + 2 + self._vector_bits),
        }

    def elaborate(self, platform):
        m = Module()
        config = self.config
        m.submodules.windows = windows = Windows(config)
        thread = Signal(self._vector_bits)
        u = Signal.like(self.u)
        accept = Signal()
        vector_end = Signal()
        batch_end = Signal()
        # The same a cycle later, when it is known whether the window is full; the thread of the vector that ended.
        vector_ended = Signal()
        batch_ended = Signal()
        ended = Signal.like(thread)
        # A thread without a vector passes by; some vector of the batch that comes in found its window full.
        passing = Signal()
        some = Signal()
        at_last = thread == config.threads - 1
        found = Signal()
        complete = Signal()
        banks = Banks(m, self)
        banks.use(m, complete)
        m.d.comb += [
            self.i.ready.eq(~(banks.both | passing | batch_ended | windows.waits)),
            accept.eq(self.i.valid & self.i.ready),
            vector_end.eq(accept & (u == self.last_input)),
            batch_end.eq(vector_end & (self.i.p.last | at_last)),
            found.eq(vector_ended & windows.full),
            complete.eq(batch_ended & (some | windows.full)),
            self.pointers.eq(Cat(u, thread, banks.filled, banks.taken, windows.front, vector_ended, ended)),
            windows.accept.eq(accept),
            windows.vector_end.eq(vector_end),
            windows.batch_ended.eq(batch_ended),
            windows.u.eq(u),
            windows.passing.eq(passing),
            windows.size.eq(self.size),
            windows.renew.eq(self.renew),
            windows.used.eq(banks.one),
        ]
        m.d.sync += [
            vector_ended.eq(vector_end),
            batch_ended.eq(batch_end),
            ended.eq(thread),
            passing.eq((passing | batch_end) & ~at_last),
            some.eq((some | found) & ~batch_ended),
        ]
        with m.If(vector_end):
            m.d.sync += u.eq(0)
        with m.Elif(accept):
            m.d.sync += u.eq(u + 1)
        with m.If(vector_end | passing):
            m.d.sync += thread.eq(Mux(at_last, 0, thread + 1))
        with m.If(complete):
            m.d.sync += banks.filled.eq(banks.filled + 1)
        banks.count(m, found, ended)
        if self.memory:
            # Where the newest word of each vector is.
            bits = config.window_bits + config.guard
            m.submodules.ends = newest = self.target.memory(bits, 2 << len(thread), [])
            newest_place = newest.data[: config.window_bits]
            m.d.comb += [
                newest.addr.eq(Cat(self.coming_thread, self.coming_bank)),
                newest.fetch.eq(1),
                newest.take.eq(1),
                newest.write.eq(vector_ended),
                newest.write_addr.eq(Cat(ended, banks.filled[0])),
                newest.write_data.eq(Cat(windows.newest, windows.newest.xor())),
            ]
            if config.guard:
                m.d.comb += self.astray.eq(newest.data.xor())
            place = Signal(config.window_bits)
            m.d.comb += place.eq(place_of(newest_place, self.u))
            self._add_memory(m, Cat(place, self.thread), accept, Cat(windows.place, thread))
        return m
