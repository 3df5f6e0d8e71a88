"""Suggested formats against a search through all formats."""

import random
from fractions import Fraction

import pytest
from skinny.model.bounds import suggest as suggest_module
from skinny.model.bounds.analysis import MOST_SECONDS, Analysis
from skinny.model.bounds.bounds import bound
from skinny.model.bounds.suggest import suggest
from skinny.model.errors import InputError
from skinny.model.program.forms import Input, Weight
from skinny.model.rings import FixedPoint


def all_safe_formats(program, box):
    """The error of every safe format in which nothing that is given is lost, with all its bits."""
    safe = {}
    for frac in range(32):
        for bits in range(max(2, frac + 1), 33):
            try:
                found = bound(program, FixedPoint(bits, frac), box)
            except InputError:
                continue
            if found.safe:
                safe[bits, frac] = max(found.errors["y"], 0.5 / 2**frac)
                break
    return safe


@pytest.mark.parametrize("seed", range(2))
def test_suggests_the_smallest_format(reference, seed):
    rng = random.Random(seed)
    program = reference.polynomial_program(rng, 3, inputs=2, weights=reference.THIRDS if seed % 2 else ())
    box = [(-1, Fraction(3, 2))] * 2
    safe = all_safe_formats(program, box)
    for error in (Fraction(1, 50), 1e-4):
        assert suggest(program, box, error) == [FixedPoint(*min(key for key, got in safe.items() if got <= error))]
    # 1/3 is the least weight: with one fraction bit it becomes 1/2, with none it is lost.
    kept = [key for key in safe if key[1] >= seed]
    fewest = min(bits for bits, _ in kept)
    smallest = FixedPoint(fewest, max(frac for bits, frac in kept if bits <= fewest))
    assert suggest(program, box) == [smallest]
    assert suggest(program, box, bits=20) == [FixedPoint(20, max(frac for bits, frac in kept if bits <= 20)), smallest]


def test_nothing_that_is_given_is_lost(reference):
    """0.001 takes nine fraction bits to be more than zero, an end of the box at 1/100 six, and one two bits more."""
    scaled = reference.program_of([(2, 1, 1, 0), (0, 2, 1, 1)], "x", [Fraction(1, 1000)], [Input(0), Weight(0)])
    assert suggest(scaled, [(-1, 1)]) == [FixedPoint(11, 9)]
    alone = reference.program_of([(0, 1, 1, 0)], "x", [], [Input(0)])
    assert suggest(alone, [(0, Fraction(1, 100))]) == [FixedPoint(8, 6)]


def test_suggests_few_bits_when_nothing_is_rounded(reference):
    constant = reference.program_of(
        [(0, 1, 1, 0), (0, 1, 1, 1)], "", [Fraction(5, 2), Fraction(1, 4)], [Weight(0), Weight(1)]
    )
    assert suggest(constant, [], 1e-9) == [FixedPoint(5, 2)]


@pytest.mark.parametrize(
    ("weight", "error", "message"),
    [
        (1, 1e-12, r"no format up to 32 bits is proven to have an error of at most 1e-12: the least is .*e-.*"),
        (2**40, None, r"no format up to 32 bits holds what is given: weight w\[0\]: 1099511627776 does not fit .*"),
        (2**30, None, "no format up to 32 bits is proven safe on this box"),
        (1, float("nan"), "no format up to 32 bits is proven to have an error of at most nan: .*"),
    ],
)
def test_refuses_what_no_format_reaches(reference, weight, error, message):
    code = [(2, 1, 1, 0), (0, 2, 1, 0), (2, 0, 1, 1), (0, 2, 1, 0)]
    with pytest.raises(InputError, match=f"^{message}$"):
        suggest(reference.program_of(code, "x", [Fraction(weight)], [Input(0), Weight(0)]), [(-3, 3)], error)


@pytest.mark.parametrize(("before", "each", "most"), [(0.0, 0.15, 6), (0.0, 0.21, 1), (0.17, 0.0, 0)])
def test_all_analyses_share_one_limit_of_work(reference, monkeypatch, before, each, most):
    """``before`` and ``each`` are parts of the limit, as analyses count it: none is begun that might end after it, and
    none of a search that needs five when those five might."""
    made = []

    class Slow(Analysis):
        def __init__(self, *given):
            super().__init__(*given)
            self.spent = each * MOST_SECONDS
            made.append(self)

    monkeypatch.setattr(suggest_module, "Analysis", Slow)
    program = reference.program_of([(2, 1, 1, 0), (0, 2, 1, 0)], "x", [], [Input(0)])
    with pytest.raises(InputError, match=r"^no format is suggested: an analysis takes about \d+ s, and "):
        suggest(program, [(-3, 3)], 1e-3, seconds=before * MOST_SECONDS)
    assert len(made) == most
