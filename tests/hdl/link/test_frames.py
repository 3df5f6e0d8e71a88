"""What goes out is a frame of the model, what comes in is one or nothing."""

import gc
import zlib

import numpy as np
import pytest
from amaranth.sim import Simulator
from skinny.hdl.link.frames import FrameReceiver, FrameTransmitter
from skinny.model.link.wire import LEAST, MOST, frame

RNG = np.random.default_rng(1)
BODIES = [
    bytes(3),
    bytes(MOST - 4),
    bytes(range(1, MOST - 3)),
    *(RNG.integers(0, top, size, dtype=np.uint8).tobytes() for top in (2, 256) for size in (3, 4, 17, 60)),
]


def rtl_transmit(bodies):
    transmitter = FrameTransmitter()
    wire = bytearray()

    async def send(ctx):
        for body in bodies:
            for byte in body:
                ctx.set(transmitter.i.payload, byte)
                ctx.set(transmitter.i.valid, 1)
                await ctx.tick().until(transmitter.i.ready)
            ctx.set(transmitter.i.valid, 0)
            ctx.set(transmitter.finish, 1)
            await ctx.tick().until(transmitter.i.ready)
            ctx.set(transmitter.finish, 0)

    async def take(ctx):
        while wire.count(0) < len(bodies):
            ctx.set(transmitter.o.ready, 1)
            (byte,) = await ctx.tick().sample(transmitter.o.payload).until(transmitter.o.valid)
            wire.append(byte)
            ctx.set(transmitter.o.ready, 0)
            await ctx.tick()

    simulator = Simulator(transmitter)
    simulator.add_clock(1e-6)
    simulator.add_testbench(send)
    simulator.add_testbench(take)
    simulator.run()
    return bytes(wire)


def rtl_receive(wire, taken=True, buffer=1024):
    """Bodies and the number of garbled frames. ``wire`` holds bytes and None for one with an error; unless ``taken``
    the bodies are taken only when all bytes have come."""
    receiver = FrameReceiver(buffer)
    bodies, body = [], bytearray()
    garbled = 0

    async def send(ctx):
        nonlocal garbled
        for byte in wire:
            ctx.set(receiver.data, byte or 0)
            ctx.set(receiver.error, byte is None)
            ctx.set(receiver.valid, 1)
            garbled += ctx.get(receiver.garbled)
            await ctx.tick()
            ctx.set(receiver.valid, 0)
            await ctx.tick().repeat(3)
        ctx.set(receiver.o.ready, 1)
        await ctx.tick().repeat(3 * buffer)

    async def take(ctx):
        nonlocal body
        ctx.set(receiver.o.ready, taken)
        while True:
            _, _, valid, ready, byte, last = await ctx.tick().sample(
                receiver.o.valid, receiver.o.ready, receiver.o.payload.data, receiver.o.payload.last
            )
            if valid and ready:
                body.append(byte)
                if last:
                    bodies.append(bytes(body))
                    body = bytearray()

    simulator = Simulator(receiver)
    simulator.add_clock(1e-6)
    simulator.add_testbench(send)
    simulator.add_testbench(take, background=True)
    simulator.run()
    return bodies, garbled


def test_frames_sent():
    assert rtl_transmit(BODIES) == b"".join(map(frame, BODIES))


def test_frames_received():
    assert rtl_receive(b"\0\0" + b"".join(map(frame, BODIES))) == (BODIES, 0)


def test_damaged_frames_are_dropped():
    good = frame(b"good")
    wire, expected = b"", []
    for _ in range(60):
        spoiled = bytearray(frame(RNG.integers(0, 3, 9, dtype=np.uint8).tobytes()))
        match RNG.integers(3):
            case 0:
                spoiled[RNG.integers(len(spoiled) - 1)] ^= 1 << RNG.integers(8)
            case 1:
                del spoiled[RNG.integers(len(spoiled) - 1)]
            case 2:
                spoiled.insert(1, RNG.integers(1, 256))
        wire += bytes(spoiled) + good
        expected.append(b"good")
    bodies, garbled = rtl_receive(wire)
    assert bodies == expected
    assert garbled >= 60


def test_a_byte_with_an_error_spoils_its_frame():
    wire = frame(b"some")
    assert rtl_receive([*wire[:4], None, *wire[4:], *wire]) == ([b"some"], 1)


def test_frames_of_impossible_lengths_are_dropped():
    # The model refuses to make them: stuffed by hand, with a check sum that is right.
    wire = b""
    for length in (LEAST - 5, MOST - 3, 270):
        body = bytes([1, 0] * 200)[:length]
        plain = body + zlib.crc32(body).to_bytes(4, "little")
        wire += b"".join(bytes([len(run) + 1]) + run for run in plain.split(b"\0")) + b"\0" + frame(b"good")
    assert rtl_receive(wire) == ([b"good"] * 3, 3)


def test_what_finds_no_room_is_garbled_and_harms_nothing():
    bodies = [bytes([n] * 80) for n in range(1, 12)]
    found, garbled = rtl_receive(b"".join(map(frame, bodies)), taken=False, buffer=512)
    # 81 bytes each, and the check sum must fit as well: six have room.
    assert (found, garbled) == (bodies[:6], 5)


@pytest.mark.filterwarnings("ignore::amaranth.hdl.UnusedElaboratable")
def test_bad_arguments():
    for buffer in (256, 1000):
        with pytest.raises(ValueError, match=f"a power of two of at least 508 bytes, not {buffer}"):
            FrameReceiver(buffer)
    gc.collect()
