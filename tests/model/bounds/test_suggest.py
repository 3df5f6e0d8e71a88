"""Suggested formats against a search through all formats."""

import random
from fractions import Fraction

import pytest
from skinny.model.bounds.bounds import bound
from skinny.model.bounds.suggest import suggest
from skinny.model.errors import InputError
from skinny.model.program.program import Input, Weight
from skinny.model.rings import FixedPoint


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("error", [Fraction(1, 50), 1e-4, None])
def test_suggests_the_smallest_format(reference, seed, error):
    rng = random.Random(seed)
    program = reference.polynomial_program(rng, 3, inputs=2, weights=reference.THIRDS if seed % 2 else ())
    box = [(-1, Fraction(3, 2))] * 2
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
    wanted = min(safe.values()) if error is None else error
    assert suggest(program, box, error) == FixedPoint(*min(key for key, reached in safe.items() if reached <= wanted))


def test_suggests_few_bits_when_nothing_is_rounded(reference):
    constant = reference.program_of(
        [(0, 1, 1, 0), (0, 1, 1, 1)], "", [Fraction(5, 2), Fraction(1, 4)], [Weight(0), Weight(1)]
    )
    assert suggest(constant, []) == FixedPoint(5, 2)


@pytest.mark.parametrize(
    ("weight", "error", "message"),
    [
        (1, 1e-12, r"no format up to 32 bits has an error of at most 1e-12: the least is .*e-.*"),
        (2**40, None, r"no format up to 32 bits holds what is given: weight w\[0\]: 1099511627776 does not fit .*"),
        (2**30, None, "no format up to 32 bits is proven safe on this box"),
        (1, float("nan"), "no format up to 32 bits has an error of at most nan: .*"),
    ],
)
def test_refuses_what_no_format_reaches(reference, weight, error, message):
    code = [(2, 1, 1, 0), (0, 2, 1, 0), (2, 0, 1, 1), (0, 2, 1, 0)]
    with pytest.raises(InputError, match=f"^{message}$"):
        suggest(reference.program_of(code, "x", [Fraction(weight)], [Input(0), Weight(0)]), [(-3, 3)], error)
