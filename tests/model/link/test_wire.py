"""No damage of a frame goes unnoticed, and the description of a board can be read back."""

import zlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from skinny.model.compiler.pipeline import compile_formula
from skinny.model.errors import InputError
from skinny.model.formula.formula import variables
from skinny.model.link.wire import (
    LEAST,
    MOST,
    BoardInfo,
    Deframer,
    Flag,
    Kind,
    Reply,
    frame,
    most_loads,
    most_results,
    most_words,
    pack_words,
    request,
    seal,
    unpack_words,
)
from skinny.model.machine.assemble import assemble
from skinny.model.machine.image import Write
from skinny.model.machine.isa import CoreConfig, Space
from skinny.model.program.text import loads
from skinny.model.rings import Boolean, FixedPoint, Modular, PrimeField

BODIES = st.binary(min_size=3, max_size=250) | st.lists(st.sampled_from([0, 1, 255]), min_size=3, max_size=250).map(
    bytes
)
RINGS = [Modular(5), FixedPoint(16, 8), PrimeField((1 << 31) - 1), Boolean()]


def received(wire):
    return list(Deframer().feed(wire))


def test_a_frame_byte_for_byte():
    # 06 01 02 | 03 00 04, then the check sum, whose bytes are not zero: codes 5 and 6 stand for zeros to come.
    body = bytes([6, 1, 2, 3, 0, 4])
    check = zlib.crc32(body).to_bytes(4, "little")
    assert 0 not in check
    assert frame(body) == bytes([5, 6, 1, 2, 3, 6, 4]) + check + b"\0"


@given(BODIES)
def test_frames_come_back(body):
    wire = frame(body)
    assert wire.index(0) == len(wire) - 1 == len(body) + 5
    assert received(wire) == [body]
    assert received(wire[3:] + wire) == [None, body]


@settings(max_examples=300)
# After four bytes of ones the check sum no longer counts zeros. No body begins so: its first byte is a kind.
@given(BODIES.filter(lambda body: body[0] != 0xFF), st.data())
def test_damage_is_noticed(body, data):
    wire = bytearray(frame(body))
    at = data.draw(st.integers(0, len(wire) - 1))
    match data.draw(st.sampled_from(["flip", "drop", "insert", "double"])):
        case "flip":
            wire[at] ^= data.draw(st.integers(1, 255))
        case "drop":
            del wire[at]
        case "insert":
            wire.insert(at, data.draw(st.integers(0, 255)))
        case "double":
            wire.insert(at, wire[at])
    wire = bytes(wire) + b"\0"
    # A zero put before the frame or after its end is no damage.
    assert [body for body in received(wire) if body is not None] == [body] * (frame(body)[:-1] in wire.split(b"\0"))


@given(st.binary(max_size=600))
def test_noise_is_no_frame(noise):
    assert all(body is None or frame(body) in noise for body in received(noise))


@pytest.mark.parametrize("length", [LEAST - 5, MOST - 3])
def test_lengths_that_no_frame_has(length):
    with pytest.raises(ValueError, match=f"a frame must have {LEAST} to {MOST} bytes, not {length + 4}"):
        frame(bytes(length))


def test_requests_and_replies_byte_for_byte():
    fields = {"session": 9, "number": 7, "position": 0x1234, "taken": 2, "start": 0x103, "count": 5}
    expected = bytes([5, 9, 7, 0x34, 0x12, 2, 0, 3, 1, 5]) + b"xy"
    assert request(Kind.EXCHANGE, b"xy", **fields) == expected
    reply = Reply.parse(bytes([0x85, 9, 7, 4, 3, 0x34, 0x12]) + b"xy")
    assert reply == Reply(0x85, 9, 7, 4, Flag.FAULTY | Flag.FAULT, 0x1234, b"xy")
    assert Reply.parse(expected) is None
    assert Reply.parse(bytes([0x85, 9, 7, 4, 3, 0x34])) is None


@pytest.mark.parametrize("ring", RINGS, ids=repr)
def test_a_board_describes_itself(ring):
    device = BoardInfo(CoreConfig(ring, width=4, threads=2, attention=False, slices=64), "ulx3s-85f", 100_000_000, 256)
    assert BoardInfo.parse(device.text()) == device


def test_units_that_few_cores_have_are_told_only_where_they_are():
    plain = BoardInfo(CoreConfig(Modular(8)), "x", 1)
    assert not {"repeat", "state", "window", "argmax"} & {word.split("=")[0] for word in plain.text().split()}
    looping = BoardInfo(CoreConfig(Modular(8), repeat=2), "x", 1)
    assert " repeat=2" in looping.text()
    assert BoardInfo.parse(looping.text()) == looping


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("hello", r"the board does not speak this protocol \(version 1\): it says 'hello'"),
        ("skinny 2 board=x", "does not speak this protocol"),
        ("skinny 1 board=x", "describes itself in words unknown here"),
        (
            BoardInfo(CoreConfig(Modular(8)), "x", 1).text() + " colour=red",
            "describes itself in words unknown here",
        ),
        (
            BoardInfo(CoreConfig(Modular(8)), "x", 1).text() + " garbage",
            "describes itself in words unknown here",
        ),
        (
            BoardInfo(CoreConfig(Modular(8)), "x", 1).text().replace("results=512", "results=0"),
            "a power of two, not 0",
        ),
        (
            BoardInfo(CoreConfig(Modular(8)), "x", 1).text().replace("buffer=1024", "buffer=-4"),
            "a power of two, not -4",
        ),
    ],
)
def test_descriptions_that_mean_nothing(text, message):
    with pytest.raises(InputError, match=message):
        BoardInfo.parse(text)


def test_a_description_that_is_too_long():
    with pytest.raises(InputError, match="the description of the board is too long for a frame: skinny 1 board=xxx"):
        BoardInfo(CoreConfig(Modular(8)), "x" * 200, 1).text()


@pytest.mark.parametrize("size", [1, 2, 3, 4, 8])
def test_words_as_bytes(size):
    words = np.random.default_rng(size).integers(0, 1 << 8 * size, 9, dtype=np.uint64, endpoint=False)
    payload = b"".join(int(word).to_bytes(size, "little") for word in words)
    assert pack_words(words, size) == payload
    assert np.array_equal(unpack_words(payload, size), words)


def test_the_largest_frames_carry_payload_mostly():
    config = CoreConfig(FixedPoint(16, 8))
    assert (most_words(config), most_results(config), most_loads(config)) == (120, 121, 80)
    assert 2 * most_words(config) / (MOST + 2) > 0.93


def test_the_seal_changes_with_anything_that_is_loaded():
    x, y = variables("x y")
    config = CoreConfig(FixedPoint(16, 8))
    images = [
        assemble(compile_formula({"z": formula}).program, config)
        for formula in (x * y, x * y + 2, x * y + 3, x * y * y, x * x)
    ]
    assert len({seal(image) for image in images}) == len(images)
    assert seal(images[0]) == seal(assemble(images[0].program, config))


def test_the_seal_leaves_named_weights_out():
    text = "skinny 1\nwidth 3\nnamed k = 1 in 0:2\nweight w[0] = k\nweight w[1] = 1\nR0 += w[0]*R1\nemit y = R0\nend\n"
    config = CoreConfig(FixedPoint(16, 8), depth=8, inputs=2, weights=2)
    image, tuned, other = (
        assemble(program, config)
        for program in (loads(text), loads(text).with_weights(k=2), loads(text.replace("w[1] = 1", "w[1] = 2")))
    )
    assert seal(image) == seal(tuned) != seal(other)
    assert list(tuned.settable_weights()) == [Write(Space.WEIGHTS, 0, 2 << 8)]


def test_units_that_few_cores_have_are_described_where_they_are_there():
    plain, other = (
        BoardInfo(CoreConfig(Modular(16), **units), "upduino3", 12_000_000)
        for units in ({}, {"assign": True, "sums": True, "relu": True, "argmax": 16})
    )
    assert "argmax" not in plain.text()
    assert "assign=1 sums=1 relu=1 argmax=16" in other.text()
    deep = BoardInfo(CoreConfig(Modular(16), 1024, 8, registers="memory", pipeline=9), "upduino3", 12_000_000)
    assert "registers" not in plain.text()
    assert "registers=memory pipeline=9" in deep.text()
    assert [BoardInfo.parse(board.text()) for board in (plain, other, deep)] == [plain, other, deep]


def test_the_seal_leaves_all_weights_of_a_settable_program_out():
    """Also the zero that an assign of the empty form takes: it is none of those that may be set."""
    text = (
        "skinny 1\nwidth 3\nsettable\ninputs a\nweight w[0] = 0\nweight w[1] = 3\nform f[0] = 0\n"
        "R0 += w[0]*R1\nR2 = f[0]*R1\nR0 += w[1]*R2\nemit y = R0\nend\n"
    )
    config = CoreConfig(FixedPoint(16, 8), depth=8, inputs=2, weights=4, assign=True)
    image, again, other = (
        assemble(loads(given), config)
        for given in (text, text.replace("w[0] = 0", "w[0] = 2"), text.replace("R0 += w[1]", "R0 -= w[1]"))
    )
    assert seal(image) == seal(again) != seal(other)
    assert list(again.settable_weights()) == [Write(Space.WEIGHTS, 0, 2 << 8), Write(Space.WEIGHTS, 1, 3 << 8)]
    assert again.weights.tolist() == [2 << 8, 3 << 8, 0]
