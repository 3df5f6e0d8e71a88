"""A serial port at a pseudo-terminal: bytes go both ways, and what is wrong with it is said in one line."""

import os
import tty

import pytest
from skinny.model.errors import InputError
from skinny.model.link.requests import LinkError
from skinny.sim.link.port import SerialPort


@pytest.fixture
def terminal():
    """Both ends of a terminal; the far end is a file descriptor, the near end a name."""
    far, near = os.openpty()
    tty.setraw(near)
    yield far, os.ttyname(near)
    os.close(far)
    os.close(near)


def test_bytes_both_ways(terminal):
    far, name = terminal
    with SerialPort(name, 1_000_000) as port:
        port.write(b"\x00\xffhello")
        assert os.read(far, 100) == b"\x00\xffhello"
        os.write(far, b"\x11\x13\r\n")
        found = b""
        while len(found) < 4:
            part = port.read(5)
            assert part
            found += part
        assert found == b"\x11\x13\r\n"
        assert port.read(0) == b""


def test_bytes_of_another_conversation_are_dropped(terminal):
    far, name = terminal
    os.write(far, b"old")
    with SerialPort(name, 1_000_000) as port:
        assert port.read(0) == b""


def test_a_port_is_for_one(terminal):
    _, name = terminal
    with SerialPort(name, 1_000_000), pytest.raises(InputError, match=rf"^the port {name} cannot be opened \("):
        SerialPort(name, 1_000_000)


@pytest.mark.parametrize("name", ["/dev/no-such-port", "/dev/null"])
def test_no_port(name):
    with pytest.raises(InputError, match=rf"^the port {name} cannot be opened \(.+\)$"):
        SerialPort(name, 1_000_000)


def test_a_port_that_is_gone():
    far, near = os.openpty()
    tty.setraw(near)
    name = os.ttyname(near)
    os.close(near)
    with SerialPort(name, 1_000_000) as port:
        os.close(far)
        with pytest.raises(LinkError, match=rf"^the port {name} is gone \("):
            port.read(1)
        with pytest.raises(LinkError, match=rf"^the port {name} is gone \("):
            port.write(b"x")
