"""Univariate: a polynomial in one form by a three-term recurrence.

Precondition: a clean program is asked for and the polynomial has one variable, or one linear form in its place.
Postcondition: instructions that leave it in the returned register. Registers A (one at the start) and B (zero) play
ping-pong, ``B += x·A``, ``A -= x·B``, …: what they hold is monic of degree 1, 2, 3, … up to sign, whatever the signs,
so the polynomial has integer coordinates in that basis; the output register collects them. At most ``2d + 1``
instructions for degree ``d``; the sign pattern with the fewest coordinates is taken.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import product

from skinny.model.compiler.code import Affine, Code, Instruction, affine_scalar
from skinny.model.compiler.polynomial import Coefficient, Polynomial, plain
from skinny.model.limits import check

__all__ = ["coordinates", "in_one_form", "recurrence"]

#: Beyond this degree the coordinates cost too much to find; the polynomial is then treated like any other.
HIGHEST_DEGREE = 512
#: All sign patterns are tried up to this degree, then only periodic ones.
SEARCHED_DEGREE = 9

Coefficients = list[Coefficient]


def in_one_form(polynomial: Polynomial, sums: list[Polynomial], variables: int) -> tuple[Affine, Coefficients] | None:
    """``(form, coefficients)`` when the polynomial is ``Σ c_n·form^n`` with degree at least 2."""
    powers = [(m, c) for m, c in polynomial.items() if m and (len(m) > 1 or m[0][0] >= variables or m[0][1] > 1)]
    atoms = {atom for monomial, _ in powers for atom, _ in monomial}
    if len(atoms) != 1 or not 2 <= max(m[0][1] for m, _ in powers) <= HIGHEST_DEGREE:
        return None
    (atom,) = atoms
    linear = {m[0][0]: c for m, c in polynomial.items() if m and m[0][0] < variables and m[0][1] == 1 and len(m) == 1}
    inner: Polynomial = {((atom, 1),): 1} if atom < variables else sums[atom - variables]
    if any(m and (len(m) > 1 or m[0][1] > 1 or m[0][0] >= variables) for m in inner):
        return None
    terms = {m[0][0]: c for m, c in inner.items() if m}
    bias = inner.get((), 0)
    ratio: Coefficient = 0
    if linear:
        first = min(terms)
        ratio = plain(linear.get(first, 0) * (1 / _fraction(terms[first])))
        if set(linear) != set(terms) or any(linear[u] != ratio * c for u, c in terms.items()):
            return None
        if _fraction(ratio).denominator != 1 and all(_fraction(c).denominator == 1 for c in polynomial.values()):
            return None
    degree = max(m[0][1] for m, _ in powers)
    out: Coefficients = [0] * (degree + 1)
    for monomial, c in powers:
        out[monomial[0][1]] += c
    out[1] += ratio
    out[0] += polynomial.get((), 0) - ratio * bias
    return Affine(tuple(sorted(terms.items())), bias), out


def _fraction(value: Coefficient) -> Fraction:
    return Fraction(value)


def coordinates(coefficients: Coefficients, signs: tuple[int, ...], unit_top: bool) -> Coefficients:
    """The polynomial in the basis ``p_0 = 1, p_1 = ±x, p_(n+1) = p_(n-1) ± x·p_n``.

    With ``unit_top`` the last element is ``±x·p_(d-1)`` alone: it goes straight to the output register.
    """
    degree = len(coefficients) - 1
    basis: list[Coefficients] = [[1]]
    previous: Coefficients = []
    for n, sign in enumerate(signs, 1):
        shifted = [0, *(sign * c for c in basis[-1])]
        if not (unit_top and n == degree):
            for power, c in enumerate(previous):
                shifted[power] += c
        previous = basis[-1]
        basis.append(shifted)
    rest = list(coefficients)
    out: Coefficients = [0] * (degree + 1)
    for n in range(degree, -1, -1):
        check()
        if rest[n]:
            out[n] = plain(rest[n] * basis[n][n])
            for power, c in enumerate(basis[n]):
                rest[power] -= out[n] * c
    return out


def _patterns(degree: int) -> list[tuple[int, ...]]:
    if degree <= SEARCHED_DEGREE:
        return list(product((1, -1), repeat=degree))
    periods = [(1,), (1, -1), (1, -1, -1), (1, -1, -1, 1), (1, 1, -1, -1)]
    return [tuple(period[n % len(period)] for n in range(degree)) for period in periods]


def recurrence(form: Affine, coefficients: Coefficients, start: tuple[int, ...]) -> Code:
    """The code on registers 0, 1, 2; ``start`` is (0, 1, 0, …)."""
    degree = len(coefficients) - 1
    best: tuple[int, Coefficients, tuple[int, ...], str] | None = None
    for signs in _patterns(degree):
        for unit_top in (False, True):
            weights = coordinates(coefficients, signs, unit_top)
            count = sum(c != 0 for c in weights)
            if unit_top and abs(weights[degree]) == 1:
                found = (degree + count - 1, weights, signs, "top")
            elif unit_top:
                continue
            elif count == 1 and weights[degree] == 1:
                found = (degree, weights, signs, "direct")
            else:
                found = (degree + count, weights, signs, "collected")
            if best is None or found[0] < best[0]:
                best = found
    assert best is not None
    _, weights, signs, ending = best
    lead, scalar = affine_scalar(form)
    out: list[Instruction] = []
    for n in range(degree + 1):
        holder = 1 if n % 2 == 0 else 2
        if n == degree and ending == "top":
            out.append(Instruction(0, 3 - holder, lead * signs[n - 1] * int(weights[n]), scalar))
            break
        if n:
            out.append(Instruction(holder, 3 - holder, lead * signs[n - 1], scalar))
        if weights[n] and ending != "direct":
            sign, weight = affine_scalar(Affine((), weights[n]))
            out.append(Instruction(0, holder, sign, weight))
    return Code.of(out, start, 0 if ending != "direct" else 1 if degree % 2 == 0 else 2)
