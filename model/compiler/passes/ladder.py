"""Ladder: registers that gather partial sums, one above the other.

Precondition: a clean program is asked for; the polynomial is nested at most ``width - 1`` products deep, each product
a variable times a sum. Postcondition: instructions that leave it in register 0. Register 0 collects the whole; the
register below it holds the sum that the next term needs and moves from one such sum to the next by their difference,
which needs the register below that, and so on down to the register that holds one. Elementary symmetric polynomials
``e_k(n)`` on ``k + 1`` registers take ``k·(n - k + 1)`` instructions this way. Cost: quadratic in the terms of a sum.
"""

from __future__ import annotations

from skinny.model.compiler.code import Affine, Code, Instruction, affine_scalar, is_simple
from skinny.model.compiler.polynomial import Coefficient, Monomial, Polynomial, Table, add_into, magnitude
from skinny.model.limits import check

__all__ = ["ladder"]

#: A sum with more terms is not worth a quadratic search.
MOST_TERMS = 400


class _Ladder:
    def __init__(self, table: Table, width: int, attention: bool) -> None:
        self.table = table
        self.attention = attention
        self.rungs = [0, *range(2, width)]
        self.held: list[Polynomial] = [{} for _ in self.rungs]
        self.code: list[Instruction] = []

    def fill(self, rung: int, wanted: Polynomial) -> bool:
        """Make a rung hold ``wanted``; false when that needs a register too many."""
        held = self.held[rung]
        change: Polynomial = dict(wanted)
        for monomial, coefficient in held.items():
            add_into(change, monomial, -coefficient)
        if len(change) > MOST_TERMS:
            return False
        for monomial in [m for m in change if self._direct(m, change[m]) is not None]:
            self._step(rung, 1, self._direct(monomial, change.pop(monomial)))
        while change:
            check()
            if rung + 1 == len(self.rungs):
                return False
            choices = [option for m, c in change.items() for option in self._options(m, c)]
            if not choices:
                return False
            below = self.held[rung + 1]
            monomial, reader, inner = min(choices, key=lambda option: _distance(below, option[2]))
            if not self.fill(rung + 1, inner):
                return False
            self._step(rung, self.rungs[rung + 1], reader)
            del change[monomial]
        self.held[rung] = dict(wanted)
        return True

    def _direct(self, monomial: Monomial, coefficient: Coefficient) -> Affine | None:
        """The scalar that adds a constant or linear term straight from one."""
        if not monomial:
            return Affine((), coefficient)
        if len(monomial) == 1 and monomial[0][1] == 1 and monomial[0][0] < len(self.table.names):
            form = Affine(((monomial[0][0], coefficient),))
            return form if self.attention or is_simple(form) else None
        return None

    def _options(self, monomial: Monomial, coefficient: Coefficient) -> list[tuple[Monomial, Affine, Polynomial]]:
        """Ways to read a term as ``scalar · sum``: ``(monomial, scalar, sum)``."""
        out = []
        for atom, _ in monomial:
            if atom >= len(self.table.names):
                continue
            rest = tuple((a, e - (a == atom)) for a, e in monomial if a != atom or e > 1)
            inner: Polynomial = {rest: 1}
            if len(rest) == 1 and rest[0][1] == 1:
                inner = dict(self.table.sum_of(rest[0][0]) or inner)
            scale = coefficient
            if abs(scale) != 1 and not self.attention:
                inner = {m: c * magnitude(scale) for m, c in inner.items()}
                scale = 1 if scale > 0 else -1
            out.append((monomial, Affine(((atom, scale),)), inner))
        return out

    def _step(self, rung: int, source: int, form: Affine | None) -> None:
        assert form is not None
        sign, scalar = affine_scalar(form)
        self.code.append(Instruction(self.rungs[rung], source, sign, scalar))


def _distance(held: Polynomial, wanted: Polynomial) -> int:
    return sum(held.get(m) != wanted.get(m) for m in held.keys() | wanted.keys())


def ladder(table: Table, polynomial: Polynomial, attention: bool, start: tuple[int, ...]) -> Code | None:
    """The code from ``start``, which is (0, 1, 0, …), or none when the ladder is too short."""
    built = _Ladder(table, len(start), attention)
    return Code.of(built.code, start) if built.fill(0, polynomial) else None
