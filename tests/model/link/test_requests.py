"""Requests and replies over a line that loses, garbles and repeats."""

from collections import deque

import pytest
from skinny.model.link.requests import NOISE, ForgottenError, LinkError, Requests
from skinny.model.link.wire import Deframer, Kind, Reason, frame


class Line:
    """A board that answers each request with one entry of ``answers``: a function of the request's body to bytes. An
    empty list means silence."""

    def __init__(self, *answers):
        self.answers = deque(answers)
        self.deframer = Deframer()
        self.written = []
        self.bodies = []
        self.waiting = b""

    def write(self, data):
        self.written.append(data)
        for body in self.deframer.feed(data):
            self.bodies.append(body)
            if body is not None and self.answers:
                self.waiting += self.answers.popleft()(body)

    def read(self, seconds):
        found, self.waiting = self.waiting, b""
        return found


def reply(body, reason=Reason.NONE, session=None, number=None):
    head = [body[0] | 0x80, body[1] if session is None else session, body[2] if number is None else number]
    return frame(bytes([*head, reason, 0, 5, 0]))


def silence(body):
    return b""


def garbled(body):
    return reply(body)[:-2] + b"\0"


def requests_on(line, attempts=3):
    return Requests(line, seconds=0.0, attempts=attempts)


def test_a_request_is_answered():
    found = requests_on(Line(reply)).ask(Kind.STATUS)
    assert (found.kind, found.accepted) == (Kind.STATUS | 0x80, 5)


@pytest.mark.parametrize("loss", [silence, garbled, lambda body: reply(body, number=body[2] ^ 1)])
def test_a_request_is_sent_again_when_its_reply_is_lost(loss):
    line = Line(loss, reply)
    requests = requests_on(line)
    assert requests.ask(Kind.STATUS).accepted == 5
    assert requests.lost == 1
    assert [body[0] for body in line.bodies] == [Kind.STATUS] * 2
    # The second request has another number, so that a late reply to the first is not taken for its own.
    assert line.bodies[0][2] != line.bodies[1][2]


def test_losses_in_a_row_are_borne_up_to_the_attempts():
    line = Line()
    with pytest.raises(LinkError, match=r"^no answer from the board \(3 requests in a row\)$"):
        requests_on(line).ask(Kind.STATUS)
    assert len(line.bodies) == 3


def test_a_line_of_noise_is_given_up():
    class Noisy(Line):
        count = 0

        def read(self, seconds):
            self.count += 256
            return b"\1" * 256

    line = Noisy()
    requests = requests_on(line)
    requests.send(Kind.STATUS, {})
    assert requests.receive(heed=False) is None
    assert line.count == NOISE


def test_requests_are_sent_while_the_board_has_room():
    line = Line(reply, reply, reply)
    requests = requests_on(line)
    assert requests.send(Kind.STATUS, {})
    assert not requests.send(Kind.STATUS, {})
    requests.room = 64
    size = len(line.written[0]) - 1
    sent = 1
    while requests.send(Kind.STATUS, {}):
        sent += 1
    assert sent == (64 - 1) // size
    assert requests.receive() is not None
    assert requests.send(Kind.STATUS, {})


def test_a_zero_ends_a_frame_that_may_have_been_cut_off():
    line = Line(reply, reply, silence, reply)
    requests = requests_on(line)
    for _ in range(3):
        requests.ask(Kind.STATUS)
    assert [data[0] == 0 for data in line.written] == [True, False, False, True]


def test_a_reply_to_a_later_request_means_that_the_earlier_one_was_lost():
    line = Line(silence, reply)
    requests = requests_on(line)
    requests.room = 1000
    assert requests.send(Kind.STATUS, {})
    assert requests.send(Kind.STATUS, {})
    assert requests.receive() is None
    assert requests.lost == 1


def test_a_garbled_frame_is_a_loss_only_where_it_is_heeded():
    for heed in (True, False):
        requests = requests_on(Line(lambda body: garbled(body) + reply(body)))
        requests.send(Kind.STATUS, {})
        assert (requests.receive(heed) is None) == heed


def test_another_session_is_no_answer_but_to_its_opening():
    def other(body):
        return reply(body, session=9)

    assert requests_on(Line(other)).ask(Kind.OPEN).session == 9
    requests = requests_on(Line(other))
    requests.send(Kind.SEAL, {"seal": 1})
    assert requests.receive() is None


def test_a_board_that_was_reset_is_told_apart_from_one_that_refuses():
    requests = requests_on(Line(lambda body: reply(body, Reason.NO_SESSION)))
    with pytest.raises(ForgottenError):
        requests.ask(Kind.SEAL, seal=1)
    requests = requests_on(Line(lambda body: reply(body, Reason.MALFORMED)))
    with pytest.raises(LinkError, match=r"^the board refused a request \(SEAL\) for reason 4$"):
        requests.ask(Kind.SEAL, seal=1)
    busy = requests_on(Line(lambda body: reply(body, Reason.BUSY), reply))
    assert busy.ask(Kind.SEAL, seal=1).reason == Reason.NONE
    assert busy.lost == 1
