"""Choose: the shortest option that is proven precise enough, with estimates and proofs made up here."""

from math import inf

import pytest
from skinny.model.compiler.choose import Judge, Option, Proof, Task
from skinny.model.compiler.code import Affine, Code, Instruction
from skinny.model.compiler.drafts import Draft


class Guess:
    """An estimate of ``error`` steps of the format, and of so many whole bits, the sign included."""

    def __init__(self, error, whole):
        self._error, self._whole = error, whole

    def error(self, frac):
        return self._error * 2.0**-frac

    def bits(self, frac):
        return self._whole + frac

    def slope(self):
        return 0.0


def option(words, error, whole=2):
    steps = [Instruction(0, 1, 1, Affine((), 1))] * words
    return Option(Draft("made up", words), Code.of(steps, (0, 1, 0)), Guess(error, whole))


def honest(name, option, frac):
    """A proof of what was guessed."""
    return Proof(option.estimate.bits(frac), option.estimate.error(frac))


def judge(options, prove=honest, bits=10, fracs=(8,), limit=None, longest=None):
    limits = None if limit is None else {"y": limit}
    most = {} if longest is None else {"y": longest}
    return Judge({"y": options}, Task(bits, list(fracs), limits, {"y": 1.0}, most), prove)


def words(choice):
    return len(choice.options["y"].code)


@pytest.mark.parametrize(("errors", "wanted"), [((8, 2, 1), 5), ((2, 1.5, 1), 4), ((8, 2.1, 1), 6), ((1, 5, 9), 4)])
def test_the_shortest_within_twice_the_least_error(errors, wanted):
    options = [option(n, error) for n, error in zip((4, 5, 6), errors, strict=True)]
    assert words(judge(options).choose()) == wanted


@pytest.mark.parametrize(("limit", "wanted"), [(8, 4), (7.9, 5), (2, 5), (1.5, 6)])
def test_an_asked_error_is_respected(limit, wanted):
    options = [option(4, 8), option(5, 2), option(6, 1)]
    choice = judge(options, limit=limit * 2.0**-8).choose()
    assert words(choice) == wanted
    assert choice.proofs["y"].error <= limit * 2.0**-8


@pytest.mark.parametrize(
    ("errors", "wanted"),
    [
        ((90, 50, 20, 1), 6),  # too long are 7 words; of the others the most precise
        ((30, 20, 20, 1), 5),  # of equal ones the shorter
        ((20, 2, 1, 1), 5),  # within twice the least
        ((20, 2.1, 2, 1), 6),
        ((1, 1, 1, 0.1), 4),
    ],
)
def test_long_options_do_not_count_but_tell_what_is_precise(errors, wanted):
    options = [option(n, error) for n, error in zip((4, 5, 6, 7), errors, strict=True)]
    assert words(judge(options, longest=6).choose()) == wanted
    assert words(judge(options, longest=6, limit=2.0**-8).choose()) == 4 + sum(error > 1 for error in errors)


def test_long_options_are_taken_when_no_short_one_is_safe():
    options = [option(4, 1, whole=5), option(7, 1)]
    assert words(judge(options, longest=6).choose()) == 7
    # A short one that is not proven safe is not safe.
    options = [option(4, 1), option(7, 1)]
    proofs = {4: Proof(11, 2.0**-8), 7: Proof(10, 2.0**-8)}
    assert words(judge(options, lambda name, option, frac: proofs[len(option.code)], longest=6).choose()) == 7


def test_the_most_precise_options_first():
    rough, fine, finer, unfit = option(4, 3), option(9, 2), option(8, 2), option(5, 1, whole=12)
    assert judge([rough, fine, unfit, finer], fracs=range(9, -1, -1)).precise("y") == [finer, fine, rough]


def test_few_proofs_of_long_options_tell_the_least_error():
    asked = []

    def prove(name, option, frac):
        asked.append(len(option.code))
        return honest(name, option, frac)

    assert judge([option(n, 1) for n in (501, 502)], prove).least("y", [8]) == inf
    assert asked == []
    assert judge([option(n, 1) for n in (300, 200, 300, 201)], prove).least("y", [8]) == 2.0**-8
    assert asked == [200, 201]
    assert words(judge([option(501, 1), option(502, 1)], prove).choose()) == 501


def test_nothing_fits():
    options = [option(4, 8), option(6, 1)]
    assert judge(options, limit=0.9 * 2.0**-8).choose() is None
    assert judge(options, bits=9).choose() is None
    assert not judge(options, bits=9).promising()
    assert judge(options).promising()


def test_the_finest_format_that_fits():
    short = option(4, 1)
    found = judge([short], fracs=range(9, -1, -1))
    assert found.finest(short) == 8
    assert found.choose().frac == 8


@pytest.mark.parametrize("refused", [Proof(11, 0.0), Proof(10, 1.0), Proof(999, inf)])
def test_what_is_not_proven_is_not_taken(refused):
    options = [option(4, 1), option(5, 1), option(6, 1)]

    def prove(name, option, frac):
        return refused if len(option.code) == 4 else honest(name, option, frac)

    assert words(judge(options, prove).choose()) == 5
    assert judge(options, lambda *_: refused, limit=2.0**-7).choose() is None


def test_proofs_are_made_once():
    asked = []

    def prove(name, option, frac):
        asked.append((len(option.code), frac))
        return honest(name, option, frac)

    found = judge([option(4, 1), option(5, 1)], prove)
    assert words(found.choose()) == words(found.choose()) == 4
    assert len(asked) == len(set(asked))
    wider = found.with_task(Task(12, [8], None, {"y": 1.0}))
    before = len(asked)
    assert words(wider.choose()) == 4
    assert len(asked) == before


def test_all_outputs_share_the_fraction_bits():
    options = {"y": [option(4, 1, whole=2)], "z": [option(7, 1, whole=5)]}
    choice = Judge(options, Task(10, range(9, -1, -1), None, {"y": 1.0, "z": 1.0}), honest).choose()
    assert choice.frac == 5
    assert {name: len(chosen.code) for name, chosen in choice.options.items()} == {"y": 4, "z": 7}


def test_errors_count_in_the_units_of_the_output():
    short, units = option(4, 1), {"y": 16.0}
    found = Judge({"y": [short]}, Task(10, [8], None, units), honest)
    assert found.error("y", short, 8) == 1 / 16
