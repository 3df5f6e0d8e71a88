"""Inverses: functions of ``n`` bits that are the inverse in GF(2^n) and then an affine map, as the S-box of AES is.

With a field of half as many bits, ``x = a + b·t`` where ``t^2 + t`` is some ``v`` of the smaller field, the inverse is
``((a + b) + b·t)/N`` with ``N = a·(a + b) + v·b^2``: an inverse of half as many bits, three products there, and sums.
There are many such ``t`` and bases of the smaller field; some are tried, and the cheapest is taken.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import product
from typing import NamedTuple

from skinny.model.limits import check

from .signals import Signals

__all__ = ["Inverse", "find_inverse", "inverse_signals"]

#: Bits of the functions that are looked at.
FEWEST, MOST = 6, 8
#: Choices of ``t`` that are tried.
MOST_ROOTS = 2

#: What makes tables of signals.
Synthesise = Callable[[Signals, Sequence[int], Sequence[int]], list[int]]


class Field(NamedTuple):
    """GF(2^degree): polynomials over GF(2), whose coefficients are the bits of a number, modulo ``modulus``."""

    modulus: int
    degree: int

    def times(self, a: int, b: int) -> int:
        out = 0
        while b:
            out ^= a * (b & 1)
            a <<= 1
            a ^= self.modulus * (a >> self.degree)
            b >>= 1
        return out

    def power(self, a: int, exponent: int) -> int:
        out = 1
        for _ in range(exponent):
            out = self.times(out, a)
        return out

    @property
    def size(self) -> int:
        return 1 << self.degree


class Inverse(NamedTuple):
    """``x -> constant + Σ columns``, over the bits of the inverse of ``x`` in the ``field``."""

    field: Field
    columns: tuple[int, ...]
    constant: int

    def linear(self, x: int) -> int:
        """The affine map without its constant."""
        return _linear(self.columns, x)


def find_inverse(tables: Sequence[int], count: int) -> Inverse | None:
    """The tables, a bit each of ``count``, as an inverse and an affine map, or None."""
    if len(tables) != count or count % 2 or not FEWEST <= count <= MOST:
        return None
    values = [sum((table >> x & 1) << bit for bit, table in enumerate(tables)) for x in range(1 << count)]
    for modulus in _moduli(count):
        check()
        field = Field(modulus, count)
        undone = [values[x] for x in _inverses(field)]
        columns = tuple(undone[1 << bit] ^ undone[0] for bit in range(count))
        if all(value ^ undone[0] == _linear(columns, x) for x, value in enumerate(undone)):
            return Inverse(field, columns, undone[0])
    return None


def inverse_signals(signals: Signals, found: Inverse, inputs: Sequence[int], synthesise: Synthesise) -> list[int]:
    """The function as signals; ``synthesise`` makes the inverse of half as many bits."""
    best: tuple[int, tuple[int, tuple[int, ...]]] | None = None
    for choice in _choices(found.field):
        check()
        trial = Signals()
        leaves = [trial.input(str(place)) for place in range(len(inputs))]
        cycles = trial.cycles(_made(trial, found, leaves, *choice, synthesise))
        if best is None or cycles < best[0]:
            best = cycles, choice
    assert best is not None
    return _made(signals, found, inputs, *best[1], synthesise)


def _made(
    signals: Signals, found: Inverse, inputs: Sequence[int], t: int, basis: tuple[int, ...], synthesise: Synthesise
) -> list[int]:
    field, half = found.field, len(basis)
    whole = (*basis, *(field.times(element, t) for element in basis))
    place = {_linear(whole, bits): bits for bits in range(field.size)}
    a, b = (
        [{inputs[bit] for bit in range(field.degree) if place[1 << bit] >> k & 1} for k in part]
        for part in (range(half), range(half, field.degree))
    )
    low, high, both = _thirds(signals.sums([*a, *b, *(x ^ y for x, y in zip(a, b, strict=True))]))
    v = field.times(t, t) ^ t
    squares = [place[field.times(v, field.times(element, element))] for element in basis]
    rest = [_xor_rows(b, squares, k) for k in range(half)]
    terms = _products(signals, field, basis, place, low, both)
    norm = [signals.xor((*row, *more)) for row, more in zip(terms, rest, strict=True)]
    inverses = _inverses(field)
    tables = [
        sum((place[inverses[_linear(basis, bits)]] >> k & 1) << bits for bits in range(1 << half)) for k in range(half)
    ]
    divisor = synthesise(signals, tables, norm)
    parts = [
        signals.xor(row) for side in (both, high) for row in _products(signals, field, basis, place, side, divisor)
    ]
    images = [found.linear(element) for element in whole]
    rows = [{part for part, image in zip(parts, images, strict=True) if image >> k & 1} for k in range(field.degree)]
    return [signal ^ (found.constant >> k & 1) for k, signal in enumerate(signals.sums(rows))]


def _products(
    signals: Signals,
    field: Field,
    basis: tuple[int, ...],
    place: dict[int, int],
    left: Sequence[int],
    right: Sequence[int],
) -> list[list[int]]:
    """The terms of the product of two elements of the smaller field, for each of its bits."""
    half = range(len(basis))
    table = [[place[field.times(one, other)] for other in basis] for one in basis]
    masks = [[frozenset(right[j] for j in half if table[i][j] >> k & 1) for i in half] for k in half]
    needed = sorted({mask for row in masks for mask in row if mask}, key=sorted)
    made = dict(zip(needed, signals.sums([set(mask) for mask in needed]), strict=True))
    return [[signals.both((left[i], made[row[i]])) for i in half if row[i]] for row in masks]


def _choices(field: Field) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Pairs of a ``t`` and a basis of the smaller field."""
    half = field.degree // 2
    conjugate = 1 << half
    powers = {x: field.power(x, conjugate) for x in range(field.size)}
    smaller = [x for x, y in powers.items() if x == y]
    roots = [x for x, y in powers.items() if x ^ y == 1][:MOST_ROOTS]
    bases: dict[tuple[int, ...], None] = {}
    for g in smaller:
        polynomial = tuple(field.power(g, n) for n in range(half))
        normal = tuple(field.power(g, 1 << n) for n in range(half))
        for basis in (polynomial, normal):
            if len({_linear(basis, bits) for bits in range(conjugate)}) == conjugate:
                bases[basis] = None
    return product(roots, bases)


@cache
def _moduli(degree: int) -> tuple[int, ...]:
    """The polynomials that have no divisors."""
    odd = range((1 << degree) + 1, 2 << degree, 2)
    return tuple(p for p in odd if all(_remainder(p, q) for q in range(2, 2 << degree // 2)))


def _remainder(p: int, q: int) -> int:
    while p.bit_length() >= q.bit_length():
        p ^= q << (p.bit_length() - q.bit_length())
    return p


@cache
def _inverses(field: Field) -> tuple[int, ...]:
    """The inverse of each element; that of zero is zero."""
    out = [0] * field.size
    for x in range(1, field.size):
        if not out[x]:
            y = field.power(x, field.size - 2)
            out[x], out[y] = y, x
    return tuple(out)


def _linear(columns: Sequence[int], x: int) -> int:
    out = 0
    for bit, column in enumerate(columns):
        out ^= column * (x >> bit & 1)
    return out


def _xor_rows(rows: Sequence[set[int]], masks: Sequence[int], k: int) -> set[int]:
    """The exclusive or of the rows whose mask has bit ``k``."""
    out: set[int] = set()
    for row, mask in zip(rows, masks, strict=True):
        out ^= row if mask >> k & 1 else set()
    return out


def _thirds(signals: list[int]) -> tuple[list[int], list[int], list[int]]:
    third = len(signals) // 3
    return signals[:third], signals[third : 2 * third], signals[2 * third :]
