"""The description of a board is believed only if it makes sense."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from skinny.model.errors import InputError
from skinny.model.link.host import Host
from skinny.model.link.requests import LinkError
from skinny.model.link.wire import BoardInfo, Deframer, frame
from skinny.model.machine.isa import CoreConfig
from skinny.model.rings import FixedPoint

TEXT = BoardInfo(CoreConfig(FixedPoint(16, 8)), "x", 1).text().encode()


class Saying:
    """A board that answers all requests with one payload, in one session."""

    def __init__(self, payload, session=0):
        self.payload, self.session = payload, session
        self.deframer = Deframer()
        self.replies = b""

    def write(self, data):
        for body in list(self.deframer.feed(data)):
            self.replies += frame(bytes([body[0] | 0x80, self.session, body[2], 0, 0, 0, 0]) + self.payload)

    def read(self, seconds):
        found, self.replies = self.replies, b""
        return found


@pytest.mark.parametrize("length", [*range(60), len(TEXT) + 3])
def test_a_description_that_is_cut_short(length):
    with pytest.raises(
        InputError, match=r"^the board (does not speak this protocol|describes itself in words unknown)"
    ):
        Host(Saying((bytes(4) + TEXT)[:length])).status()


@given(st.binary(max_size=240).filter(lambda payload: not payload[4:].startswith(b"skinny 1 ")))
def test_a_description_of_any_bytes_is_refused(payload):
    with pytest.raises(InputError, match=r"^the board does not speak this protocol"):
        Host(Saying(payload)).status()


@given(st.binary(min_size=1, max_size=60))
def test_a_description_with_more_than_is_known_is_refused_in_one_line(more):
    with pytest.raises(InputError, match=r"^[ -~�]*$"):
        Host(Saying(bytes(4) + TEXT + b" " + more + b"=")).status()


def test_a_board_that_opens_no_session():
    with pytest.raises(LinkError, match="the board opens no session: another host may have it"):
        Host(Saying(bytes(4) + TEXT, session=9), attempts=3).open()
