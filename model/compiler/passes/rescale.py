"""Rescale: the constants of products moved into sums and inputs, as large as the word allows, for fixed point.

Precondition: a polynomial, the box of its variables and the bits of the word. Postcondition: an equal polynomial over
the same table (new atoms are added). A word holds small constants badly: with 11 fraction bits 0.01 is wrong by two
percent. In ``0.01·y·(x + 96)`` the constant becomes ``1/8``, which a word holds exactly, and the sum ``0.08·x + 7.68``,
which is as large as the inputs. Cost: linear in the polynomial and the sums inside it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import product
from math import prod

from skinny.model.compiler.goal import Ends
from skinny.model.compiler.polynomial import Coefficient, Monomial, Polynomial, Table, add_into, magnitude, plain, times

__all__ = ["exponent", "rescale"]

#: A division by a power of two of so few bits costs little precision.
FEW = 3


def exponent(size: Fraction) -> int:
    """The least ``e`` with ``size <= 2^e``; zero for a size of zero."""
    if not size:
        return 0
    e = size.numerator.bit_length() - size.denominator.bit_length()
    return e if size <= Fraction(2) ** e else e + 1


def rescale(table: Table, polynomial: Polynomial, box: Sequence[Ends], bits: int) -> list[Polynomial]:
    """The polynomial with its constants moved, for words of ``bits`` bits: with the powers of two that are left as
    constants of the products, and with them in a variable each, where they stay; and with at least an eighth of each
    product left, because what is divided by more is rounded more."""
    sizes: dict[int, Fraction] = {u: max(-low, high) for u, (low, high) in enumerate(box)}
    inside = sorted(table.atoms_inside(polynomial))
    for atom in inside:
        sizes[atom] = _size(table.sums[atom - len(table.names)], sizes)
    room = exponent(max([Fraction(1), _size(polynomial, sizes), *(sizes[u] for u in range(len(box)))]))
    out = []
    for in_variables, fraction in product((False, True), sorted({bits - 1 - room, min(bits - 1 - room, FEW)})):
        mover = Mover(table, sizes, room, fraction, in_variables)
        for atom in inside:
            mover.moved[atom] = mover.move(table.sums[atom - len(table.names)])
        out.append(mover.move(polynomial))
    return out


def _size(polynomial: Polynomial, sizes: Mapping[int, Fraction]) -> Fraction:
    """A bound of the polynomial, from bounds of its atoms."""
    total = Fraction(0)
    for monomial, coefficient in polynomial.items():
        total += prod([sizes[atom] for atom, e in monomial for _ in range(e)], start=Fraction(magnitude(coefficient)))
    return total


class Mover:
    """Moves constants. ``moved`` are the sums for which that is done; values may be as large as ``2^room``, and
    ``fraction`` fraction bits are left then."""

    def __init__(
        self, table: Table, sizes: Mapping[int, Fraction], room: int, fraction: int, in_variables: bool
    ) -> None:
        self.table, self.sizes = table, sizes
        self.room, self.fraction = room, fraction
        self.in_variables = in_variables
        self.moved: dict[int, Polynomial] = {}

    def move(self, polynomial: Polynomial) -> Polynomial:
        """The polynomial with the constant of each product in its last sum, or in a variable where it has none."""
        out: Polynomial = {}
        for monomial, coefficient in polynomial.items():
            taker = self._taker(monomial, coefficient)
            if taker is None:
                add_into(out, monomial, coefficient)
                continue
            size = magnitude(coefficient) * self.sizes[taker]
            shift = min(self.room - exponent(size), self.fraction) if size else 0
            factor = coefficient * Fraction(2) ** shift
            inner: Polynomial = self.moved.get(taker, {((taker, 1),): 1})
            atom = self.table.atom({m: plain(c * factor) for m, c in inner.items()})
            rest = times(_without(monomial, taker), ((atom, 1),))
            left = plain(Fraction(2) ** -shift)
            variable = next((a for a, _ in _without(monomial, taker) if a < len(self.table.names)), None)
            if self.in_variables and shift and variable is not None:
                scaled = self.table.atom({((variable, 1),): left})
                rest, left = times(_without(rest, variable), ((scaled, 1),)), 1
            add_into(out, rest, left)
        return out

    def _taker(self, monomial: Monomial, coefficient: Coefficient) -> int | None:
        """The factor of the monomial that takes its constant; none where nothing is gained."""
        sums = [atom for atom, e in monomial if e == 1 and atom in self.moved]
        if sums:
            return sums[-1]
        degree = sum(e for _, e in monomial)
        exact = not coefficient.denominator & (coefficient.denominator - 1)
        return None if degree < 2 or exact else monomial[0][0]


def _without(monomial: Monomial, atom: int) -> Monomial:
    """The monomial divided by an atom."""
    return tuple((a, e - (a == atom)) for a, e in monomial if a != atom or e > 1)
