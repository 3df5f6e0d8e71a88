"""The compiler's view of a formula: sums of monomials over atoms.

An *atom* is a variable or a sum that stays unexpanded inside a product (an index from ``len(names)`` on). Variables are
the inputs, then the named weights, then products of a named weight and an input, which the accumulator makes in one
step, so that the compiler may take them for inputs of their own. A *polynomial* maps monomials to coefficients; a
monomial is a sorted tuple of ``(atom, exponent)``; the empty monomial carries the constant. Equal sums are one atom, so
a formula is a graph here, and an atom's parts always have smaller numbers than itself: bottom-up loops need no
recursion.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from math import gcd

from skinny.model.limits import MOST_BITS, MOST_DIGITS, DigitsError, check_digits
from skinny.model.named_weight import NamedWeight

__all__ = [
    "Coefficient",
    "Fused",
    "Monomial",
    "Polynomial",
    "Table",
    "add_into",
    "magnitude",
    "plain",
    "raised",
    "times",
]

Coefficient = int | Fraction
Monomial = tuple[tuple[int, int], ...]
Polynomial = dict[Monomial, Coefficient]


class Fused(int):
    """The number of an atom that is a named weight times an input: unlike an input, it needs the accumulator."""


def plain(value: Coefficient) -> Coefficient:
    """``value``, if it is not too long, as an ``int`` when it is whole: integer arithmetic is ten times faster."""
    check_digits(value)
    return value.numerator if value.denominator == 1 else value


def raised(value: Coefficient, exponent: int) -> Coefficient:
    """``value ^ exponent``, refused before it is computed when it gets too long."""
    bits = max(value.numerator.bit_length(), value.denominator.bit_length()) - 1
    if bits * exponent > MOST_BITS:
        raise DigitsError(f"a number of the formula gets more than {MOST_DIGITS:,} digits")
    return plain(Fraction(value) ** exponent)


def magnitude(value: Coefficient) -> Coefficient:
    """``abs`` with the type that goes in."""
    return value if value >= 0 else -value


def add_into(target: Polynomial, monomial: Monomial, coefficient: Coefficient) -> None:
    """``target += coefficient·monomial``, without leaving zeros behind."""
    total = target.get(monomial, 0) + coefficient
    if total:
        target[monomial] = plain(total)
    else:
        target.pop(monomial, None)


def times(a: Monomial, b: Monomial) -> Monomial:
    if not a or not b:
        return a or b
    powers = dict(a)
    for atom, exponent in b:
        powers[atom] = powers.get(atom, 0) + exponent
    return tuple(sorted(powers.items()))


class Table:
    """Atoms: ``names`` are the variables, ``sums`` the unexpanded polynomials.

    ``denominator`` is the product of the denominators the formula was written with: constants that the compiler makes
    may divide by its prime factors and by nothing else, so that a formula over the integers stays one. Those that would
    make it too long are left out.

    The first ``inputs`` of the names are inputs, then come the ``weights``, then ``fused``, pairs of a named weight and
    an input, both by number.
    """

    def __init__(
        self,
        names: Iterable[str],
        denominator: int = 1,
        weights: Sequence[NamedWeight] = (),
        fused: Sequence[tuple[int, int]] = (),
    ) -> None:
        own = list(names)
        self.inputs = len(own)
        self.weights = list(weights)
        self.names = own + [weight.name for weight in weights]
        self.names += [f"{self.names[weight]}*{self.names[u]}" for weight, u in fused]
        first = len(own) + len(weights)
        #: The atom of each pair; pairs that are wanted but have none yet go to ``missing``.
        self.fused = {pair: Fused(first + number) for number, pair in enumerate(fused)}
        self.missing: dict[tuple[int, int], None] = {}
        self.sums: list[Polynomial] = []
        self.denominator = denominator
        self._known: dict[frozenset[tuple[Monomial, Coefficient]], int] = {}

    def atom(self, polynomial: Polynomial) -> int:
        """The number of the atom that stands for ``polynomial``."""
        key = frozenset(polynomial.items())
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = len(self.names) + len(self.sums)
            self.sums.append(polynomial)
        return found

    @property
    def variables(self) -> list[int]:
        """The atoms of the names."""
        return [*range(len(self.names) - len(self.fused)), *self.fused.values()]

    def is_input(self, atom: int) -> bool:
        return atom < self.inputs

    def is_weight(self, atom: int) -> bool:
        return self.inputs <= atom < self.inputs + len(self.weights)

    def fuse(self, weight: int, u: int) -> int | None:
        """The atom of a named weight times an input, or None where there is none; then it is wanted for next time."""
        found = self.fused.get((weight, u))
        if found is None:
            self.missing[weight, u] = None
        return found

    def atoms_inside(self, polynomial: Polynomial) -> set[int]:
        """The sums that the polynomial is made of, directly or through others."""
        found: set[int] = set()
        stack = [polynomial]
        while stack:
            for monomial in stack.pop():
                for atom, _ in monomial:
                    if atom >= len(self.names) and atom not in found:
                        found.add(atom)
                        stack.append(self.sums[atom - len(self.names)])
        return found

    def sum_of(self, atom: int) -> Polynomial | None:
        """The polynomial behind ``atom``; none for a variable."""
        return self.sums[atom - len(self.names)] if atom >= len(self.names) else None

    def may_divide_by(self, number: Coefficient) -> bool:
        """Whether ``1/number`` uses only primes of the formula's own denominators."""
        rest = abs(number.numerator)
        while rest > 1:
            shared = gcd(rest, self.denominator)
            if shared == 1:
                return False
            rest //= shared
        return True

    def reduced(self, polynomial: Polynomial) -> tuple[Coefficient, Polynomial]:
        """``(scale, q)`` with ``polynomial = scale·q`` and as many unit coefficients in ``q`` as possible."""
        counts: dict[Coefficient, int] = {}
        for monomial, coefficient in polynomial.items():
            if monomial:
                size = magnitude(coefficient)
                counts[size] = counts.get(size, 0) + 1
        scale: Coefficient = 1
        for size, _ in sorted(counts.items(), key=lambda item: (-item[1], item[0] != 1)):
            if self.may_divide_by(size) or all(not (c % size) for c in polynomial.values()):
                scale = size
                break
        first: Monomial = min((m for m in polynomial if m), default=())
        if polynomial.get(first, 1) < 0:
            scale = -scale
        if scale == 1:
            return 1, polynomial
        return scale, {m: plain(Fraction(c) / scale) for m, c in polynomial.items()}
