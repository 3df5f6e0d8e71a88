"""Frames on a line of bytes: frames come in only if their check sum is right, and frames that go out have one.

The format is that of :func:`skinny.model.link.wire.frame`.
"""

from amaranth import Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.crc.catalog import CRC32_ISO_HDLC
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from skinny.model.link.wire import CHECK, LEAST, MOST

__all__ = ["FrameReceiver", "FrameTransmitter"]

#: The name by which the catalogue knows the check sum of zlib.
CRC = CRC32_ISO_HDLC(data_width=8)


class FrameReceiver(wiring.Component):
    """Turns the bytes of the line into the bytes of whole and right frames.

    A frame is kept in memory and shown at ``o`` only after its check sum was found right; its check sum is not shown.
    Latency: the first byte is at ``o`` four cycles after the end of its frame. Throughput: bytes of the line must come
    at least 4 cycles apart; ``o`` offers a byte every two cycles. Back-pressure: frames wait in ``buffer`` bytes, one
    byte more for each frame; a frame that finds no room is garbled.

    Parameters
    ----------
    buffer : int
        The number of bytes of the memory, a power of two.

    Members
    -------
    data, valid, error : In
        A byte of the line, as from :class:`skinny.hdl.link.uart.UartReceiver`.
    o : Out(stream of a byte and ``last``)
        The bytes of right frames.
    garbled : Out(1)
        High for a cycle: bytes between two delimiters were no frame.
    """

    def __init__(self, buffer: int):
        if buffer < 2 * MOST or buffer & (buffer - 1):
            raise ValueError(f"the buffer must be a power of two of at least {2 * MOST} bytes, not {buffer!r}")
        self.buffer = buffer
        layout = data.StructLayout({"data": 8, "last": 1})
        super().__init__(
            {
                "data": In(8),
                "valid": In(1),
                "error": In(1),
                "o": Out(stream.Signature(layout)),
                "garbled": Out(1),
            }
        )

    def elaborate(self, platform):
        # The byte at `head` is kept for the length of the frame that is coming in, whose next byte goes to `place`. The
        # length is written, and `head` moves on, when the frame is right; else the next frame is written over this one.
        m = Module()
        m.submodules.memory = memory = Memory(shape=8, depth=self.buffer, init=[])
        m.submodules.crc = crc = CRC.create()
        write = memory.write_port()
        read = memory.read_port()
        head, tail = Signal(range(2 * self.buffer)), Signal(range(2 * self.buffer))
        place = Signal(range(2 * self.buffer), init=1)
        length = Signal(8)
        run = Signal(8)
        some, bad, full = Signal(), Signal(), Signal()
        code, end, right, byte = Signal(), Signal(), Signal(), Signal()
        m.d.comb += [
            code.eq(run == 0),
            end.eq(self.valid & ~self.error & (self.data == 0)),
            right.eq(end & crc.match_detected & code & ~bad & (length >= LEAST)),
            # Every code but the first stands for the zero in its place.
            byte.eq(self.valid & ~self.error & ~end & (some | ~code)),
            crc.valid.eq(byte),
            crc.data.eq(Mux(code, 0, self.data)),
            crc.start.eq(end),
            write.addr.eq(Mux(end, head, place)),
            write.data.eq(Mux(end, length - CHECK, crc.data)),
            write.en.eq(right | byte),
            self.garbled.eq(end & (some | bad) & ~right),
        ]
        # One byte is left free, so that what is still written when all others are taken harms nobody.
        m.d.sync += full.eq((length == MOST) | ((place - tail)[: len(tail)] == self.buffer - 1))
        with m.If(end):
            m.d.sync += [length.eq(0), run.eq(0), some.eq(0), bad.eq(0), place.eq(head + 1)]
            with m.If(right):
                m.d.sync += [head.eq(place - CHECK), place.eq(place - CHECK + 1)]
        with m.Elif(self.valid & self.error):
            m.d.sync += bad.eq(1)
        with m.Elif(self.valid):
            m.d.sync += [some.eq(1), run.eq(Mux(code, self.data, run) - 1)]
            with m.If(byte & full):
                m.d.sync += bad.eq(1)
            with m.Elif(byte):
                m.d.sync += [length.eq(length + 1), place.eq(place + 1)]

        left = Signal(8)
        m.d.comb += [
            read.addr.eq(tail),
            read.en.eq(1),
            self.o.payload.data.eq(read.data),
            self.o.payload.last.eq(left == 1),
        ]
        with m.FSM():
            with m.State("Wait"), m.If(head != tail):
                m.next = "Length"
            with m.State("Length"):
                m.d.sync += [left.eq(read.data), tail.eq(tail + 1)]
                m.next = "Fetch"
            with m.State("Fetch"):
                m.next = "Byte"
            with m.State("Byte"):
                m.d.comb += self.o.valid.eq(1)
                with m.If(self.o.ready):
                    m.d.sync += [left.eq(left - 1), tail.eq(tail + 1)]
                    m.next = "Fetch"
                    with m.If(self.o.payload.last):
                        m.next = "Wait"
        return m


class FrameTransmitter(wiring.Component):
    """Makes a frame with its check sum of the bytes that it is given, and sends the frame when it is complete.

    Throughput: one byte a cycle is taken until ``finish``. Back-pressure: then ``i`` is not ready until the frame is
    sent. A frame must have at least ``LEAST - CHECK`` and at most ``MOST - CHECK`` bytes.

    Members
    -------
    i : In(stream of 8 bits)
        The bytes of a frame.
    finish : In(1)
        The frame is complete; it counts while ``i`` is ready and not valid.
    o : Out(stream of 8 bits)
        The bytes for the line.
    """

    def __init__(self):
        byte = stream.Signature(8)
        super().__init__({"i": In(byte), "finish": In(1), "o": Out(byte)})

    def elaborate(self, platform):
        # `code` is the place of the last code, `place` that of the next byte. A zero is not written in its place, which
        # becomes that of the next code; instead its distance goes to the code before: one write a byte.
        m = Module()
        m.submodules.memory = memory = Memory(shape=8, depth=256, init=[])
        m.submodules.crc = crc = CRC.create()
        write = memory.write_port()
        read = memory.read_port()
        code, place, sent = (Signal(8, name=name) for name in ("code", "place", "sent"))
        check = Signal(range(CHECK))
        byte = Signal(8)
        put = Signal()
        close = Signal()
        m.d.comb += [
            close.eq(byte == 0),
            write.addr.eq(Mux(close, code, place)),
            write.data.eq(Mux(close, place - code, byte)),
            read.addr.eq(sent),
            read.en.eq(1),
            crc.valid.eq(self.i.valid & self.i.ready),
            crc.data.eq(self.i.payload),
        ]
        with m.If(put):
            m.d.comb += write.en.eq(1)
            m.d.sync += place.eq(place + 1)
            with m.If(close):
                m.d.sync += code.eq(place)
        with m.FSM():
            with m.State("Begin"):
                m.d.sync += [code.eq(0), place.eq(1), sent.eq(0), check.eq(0)]
                m.d.comb += crc.start.eq(1)
                m.next = "Fill"
            with m.State("Fill"):
                m.d.comb += [self.i.ready.eq(1), byte.eq(self.i.payload), put.eq(self.i.valid)]
                with m.If(self.finish & ~self.i.valid):
                    m.next = "Check"
            with m.State("Check"):
                m.d.comb += [byte.eq(crc.crc.word_select(check, 8)), put.eq(1)]
                m.d.sync += check.eq(check + 1)
                with m.If(check == CHECK - 1):
                    m.next = "Close"
            with m.State("Close"):
                m.d.comb += [byte.eq(0), write.en.eq(1)]
                m.next = "Fetch"
            with m.State("Fetch"):
                m.next = "Send"
            with m.State("Send"):
                m.d.comb += [self.o.valid.eq(1), self.o.payload.eq(read.data)]
                with m.If(self.o.ready):
                    m.d.sync += sent.eq(sent + 1)
                    m.next = "Fetch"
                    with m.If(sent + 1 == place):
                        m.next = "End"
            with m.State("End"):
                m.d.comb += [self.o.valid.eq(1), self.o.payload.eq(0)]
                with m.If(self.o.ready):
                    m.next = "Begin"
        return m
