"""Chain: Horner's rule in place, by rows whose dirt is known.

Precondition: an in-place program is asked for and the polynomial is a chain ``Σ c_t·A_t`` with ``A_t = x_1·…·x_t``,
variables ``x`` (equal ones too) and ``c_t`` in {-1, 0, 1}. Postcondition: instructions that add it times register 1 to
register 0 and restore register 2. Length for ``n`` levels of ones: about ``n^1.7``, 24 % below rebalancing at ``n =
64``, 23 % at 256. Cost: all patterns of up to :data:`SEARCHED` coefficients that occur, then windows of cuts; about a
second for ``n = 64``, two for 256, five for 1024; five for 130 random coefficients.

``R_j`` is the target, ``R_k`` the third register, ``R_i`` the source. A *row* adds ``α·R_k + β·R_i`` to ``R_j`` and
changes nothing else, so rows commute; a step ``R_k += g·R_i``
between two of them turns ``α`` into ``α·g``. A program is rows whose ``α`` add up to zero, at different shifts of
``R_k``: only the sums of their ``α`` and ``β`` have to be right. For a product ``A_a``, cut at ``q < t < a``:

=======  ===================================================================  =====================  ==================
exact    a product by its own word                                            ``α = A_a``            ``β = 0``
shallow  ``i += (x_(t+1)…x_a)·k``; ``j += A_t·i``; undo                       ``α = A_a``            ``β = ±A_t``
deep     the same with ``k += (x_(q+1)…x_t)·i``; ``j += A_q·k``; undo inside  ``α = A_a ± A_q``      ``β = ±A_t``
=======  ===================================================================  =====================  ==================
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from skinny.model.compiler.chain_plan import (
    LONGEST,
    SEARCHED,
    Plan,
    below,
    forced_cut,
    loose_cut,
    pattern_of,
    plan_loose,
    plan_pair,
    plan_pair_loose,
    plan_row,
    plan_row_loose,
    plan_strict,
    strict_cut,
)
from skinny.model.compiler.code import ONE, Affine, Code, Instruction, Row
from skinny.model.compiler.polynomial import Polynomial, Table

from .rebalance import Level, find_chain

__all__ = ["chain"]

#: Chains without a regular pattern are left to rebalancing from here on: their length times the number of different
#: pieces of it.
MOST_PIECES = 1 << 14


class Place(NamedTuple):
    """Where a piece of a chain is written: its registers, and how many variables of the chain stand before it."""

    target: int
    third: int
    source: int
    first: int

    def after(self, count: int) -> Place:
        """The place of what begins ``count`` variables later."""
        return self._replace(first=self.first + count)

    def to_third(self) -> Place:
        """From the source to the third register, with the help of the target."""
        return Place(self.third, self.target, self.source, self.first)

    def from_third(self) -> Place:
        """From the third register to the target, with the help of the source."""
        return Place(self.target, self.source, self.third, self.first)

    def third_to_source(self) -> Place:
        """From the third register to the source, with the help of the target."""
        return Place(self.source, self.target, self.third, self.first)


class DirtyRow(NamedTuple):
    """``target += (sign·A_factors + third_sign·A_third_dirt)·third + source_sign·A_source_dirt·source``.

    The row is exact without ``source_dirt``, shallow without ``third_dirt``, else deep.
    """

    factors: int
    sign: int
    source_dirt: int = 0
    source_sign: int = 0
    third_dirt: int = 0
    third_sign: int = 0


def chain(table: Table, polynomial: Polynomial, start: tuple[int, ...]) -> Code | None:
    """The code on registers 0, 1, 2, or none when the polynomial is no chain."""
    found = _coefficients(table, polynomial)
    if found is None:
        return None
    variables, coefficients = found
    pattern = pattern_of(coefficients)
    pieces = {below(pattern >> t, SEARCHED) for t in range(max(1, len(coefficients) - SEARCHED))}
    if len(pieces) * len(variables) > MOST_PIECES:
        return None
    rows = _Writer().strict(Place(target=0, third=2, source=1, first=0), coefficients)
    assert len(rows) == plan_strict(pattern).cost, "the predicted length is exact"
    scalars = [ONE, *(Affine(((variable, 1),)) for variable in variables)]
    return Code.of((Instruction(dst, src, sign, scalars[number]) for dst, src, sign, number in rows), start)


def _coefficients(table: Table, polynomial: Polynomial) -> tuple[list[int], list[int]] | None:
    """``(x_1 … x_n, c_0 … c_n)`` when the polynomial is a chain with at least two terms, else none."""
    levels, end = find_chain(table, polynomial)
    variables: list[int] = []
    coefficients: list[int] = []
    sign = 1
    if len(end) == 1 and () not in end:
        ((variable, scale),) = end.items()
        levels, end = [*levels, Level({}, variable, scale)], {(): 1}
    for rest, multiplier, scale in levels:
        constant = rest.get((), 0)
        if len(rest) > (constant != 0) or constant not in (-1, 0, 1) or scale not in (-1, 1):
            return None
        if any(atom >= len(table.names) for atom, _ in multiplier):
            return None
        factors = [atom for atom, exponent in multiplier for _ in range(min(exponent, LONGEST + 1))]
        variables += factors
        coefficients += [sign * int(constant)] + [0] * (len(factors) - 1)
        sign *= int(scale)
        if len(variables) > LONGEST:
            return None
    if len(end) != 1 or end.get(()) not in (-1, 1):
        return None
    coefficients.append(sign * int(end[()]))
    return (variables, coefficients) if sum(map(abs, coefficients)) > 1 else None


def _inverse(rows: list[Row]) -> list[Row]:
    return [(dst, src, -sign, number) for dst, src, sign, number in reversed(rows)]


def _transposed(rows: list[Row], place: Place) -> list[Row]:
    """The transposed matrix with the names of target and source exchanged: turns dirt in the target to dirt in the
    third register."""
    exchanged = {place.target: place.source, place.source: place.target}
    return [(exchanged.get(src, src), exchanged.get(dst, dst), sign, x) for dst, src, sign, x in reversed(rows)]


def _trimmed(coefficients: Sequence[int]) -> list[int]:
    out = list(coefficients)
    while out and not out[-1]:
        out.pop()
    return out


def _taken(coefficients: Sequence[int], t: int) -> tuple[list[int], int]:
    """The coefficients that remain when dirt ``±A_t`` is subtracted, and the sign of the dirt, which is chosen so
    that 0 remains if that is possible."""
    out = [*coefficients, *[0] * (t + 1 - len(coefficients))]
    sign = out[t] or 1
    out[t] -= sign
    return _trimmed(out), sign


class _Writer:
    """Code that follows the plans: instructions with the number of a variable, from 1, or 0 for the constant one.

    ``A_n`` is the product of the first ``n`` variables of a place, ``c`` and ``head`` are coefficients over them.
    """

    def product_strict(self, place: Place, count: int, sign: int) -> list[Row]:
        """``target += sign·A_count·source``."""
        if count <= 1:
            return [(place.target, place.source, sign, place.first + 1 if count else 0)]
        cut = strict_cut(count)
        outer = self.product_dirty_target(place.from_third(), cut, 1)
        inner = self.product_loose(place.to_third().after(cut), count - cut, sign)
        return _inverse(outer) + inner + outer + _inverse(inner)

    def product_dirty_target(self, place: Place, count: int, sign: int) -> list[Row]:
        """``target += sign·A_count·source``, with some ``σ·third`` more in the target."""
        if count <= 1:
            return self.product_strict(place, count, sign)
        cut = loose_cut(count)
        inner = self.product_loose(place.to_third().after(cut), count - cut, sign)
        return inner + self.product_strict(place.from_third(), cut, 1) + _inverse(inner)

    def product_loose(self, place: Place, count: int, sign: int) -> list[Row]:
        """``target += sign·A_count·source``, with some ``σ·source`` more in the third register."""
        return _transposed(self.product_dirty_target(place, count, sign), place)

    def dirty_row(self, place: Place, row: DirtyRow) -> list[Row]:
        """The instructions of one row."""
        count, sign, t, source_sign, q, third_sign = row
        if not t:
            return self.product_strict(place.from_third(), count, sign)
        outer = self.product_loose(place.third_to_source().after(t), count - t, sign * source_sign)
        if not q:
            inner = self.product_strict(place, t, source_sign)
        elif q == t:
            outer = [*outer, (place.source, place.third, source_sign * third_sign, 0)]
            inner = self.product_strict(place, t, source_sign)
        else:
            shift = self.product_loose(place.to_third().after(q), t - q, source_sign * third_sign)
            inner = shift + self.product_strict(place.from_third(), q, third_sign) + _inverse(shift)
        return outer + inner + _inverse(outer)

    def head(self, place: Place, head: Sequence[int], q: int, at: int = 0) -> list[Row]:
        """``target += A_q·third + head·source``."""
        shift = self.loose(place.to_third().after(q), head[q:], at)
        return shift + self.row(place, q, head[:q], 1) + _inverse(shift)

    def plain_row(
        self, place: Place, count: int, head: list[int], sign: int, plan: Plan, write: Callable[..., list[Row]]
    ) -> list[Row]:
        """The exact or shallow row of ``plan``; ``write`` makes what it leaves of the head."""
        if plan.way == "exact":
            return write(place, head) + self.dirty_row(place, DirtyRow(count, sign))
        (t,) = plan.cuts
        rest, source_sign = _taken(head, t)
        row = self.dirty_row(place, DirtyRow(count, sign, t, source_sign))
        return write(place, rest, forced_cut(pattern_of(head), t)) + row

    def row(self, place: Place, count: int, head: Sequence[int], sign: int) -> list[Row]:
        """``target += sign·A_count·third + head·source``."""
        head = _trimmed(head)
        pattern = pattern_of(head)
        plan = plan_row(count, pattern)
        if plan.way != "deep":
            return self.plain_row(place, count, head, sign, plan, self.strict)
        t, q = plan.cuts
        rest, source_sign = _taken(head, t)
        row = DirtyRow(count, sign, t, source_sign, q, -1)
        return self.head(place, rest, q, forced_cut(pattern >> q, t - q)) + self.dirty_row(place, row)

    def row_loose(self, place: Place, count: int, head: Sequence[int], sign: int) -> list[Row]:
        """``target += sign·A_count·third + head·source``; the third register may be given some ``σ·source`` before."""
        head = _trimmed(head)
        pattern = pattern_of(head)
        plan = plan_row_loose(count, pattern)
        if plan.way == "row":
            return self.row(place, count, head, sign)
        if plan.way != "deep":
            return self.plain_row(place, count, head, sign, plan, self.loose)
        t, q = plan.cuts
        rest, source_sign = _taken(head, t)
        return (
            self.row_loose(place, q, rest[:q], -1)
            + self.strict(place.to_third().after(q), rest[q:], forced_cut(pattern >> q, t - q))
            + self.dirty_row(place, DirtyRow(count, sign, t, source_sign, q, 1))
        )

    def pair(self, place: Place, count: int, head: Sequence[int]) -> tuple[list[Row], list[Row]]:
        """Two rows: before the shift of the third register (with ``-A_count``) and after it (with ``A_count``)."""
        head = _trimmed(head)
        _, way, cuts = plan_pair(count, pattern_of(head))
        if way == "apart":
            t = loose_cut(count)
            before = self.strict(place, head) + self.dirty_row(place, DirtyRow(count, -1, t, -1))
            return before, self.dirty_row(place, DirtyRow(count, 1, t, 1))
        if way == "shallow":
            t, other = cuts
            head, source_sign = _taken(head, t)
            head, opposite = _taken(head, other)
            before = self.strict(place, head) + self.dirty_row(place, DirtyRow(count, -1, t, source_sign))
            return before, self.dirty_row(place, DirtyRow(count, 1, other, opposite))
        if way == "deep":
            t, q, other = cuts
            head, source_sign, opposite = _taken_twice(head, t, other)
            row = DirtyRow(count, -1, t, source_sign, q, -1)
            before = self.head(place, head, q) + self.dirty_row(place, row)
            return before, self.dirty_row(place, DirtyRow(count, 1, other, opposite))
        q1, q2, t, inner = cuts
        lower, source_sign, at = _trimmed(head[:q2]), 0, 0
        if inner:
            at = forced_cut(pattern_of(lower) >> q1, inner - q1)
            lower, source_sign = _taken(lower, inner)
        before = self.head(place, lower, q1, at) + self.dirty_row(place, DirtyRow(count, -1, t, -1, q1, -1))
        shift = self.loose(place.to_third().after(q2), [-c for c in head[q2:]])
        middle = self.dirty_row(place, DirtyRow(q2, -1, inner, source_sign))
        after = self.dirty_row(place, DirtyRow(count, 1, t, 1, q2, 1)) + shift + middle + _inverse(shift)
        return before, after

    def strict(self, place: Place, c: Sequence[int], at: int = 0) -> list[Row]:
        """``target += c·source``."""
        c = _trimmed(c)
        if not c:
            return []
        _, way, cuts = plan_strict(pattern_of(c), at)
        if way == "product":
            return self.product_strict(place, len(c) - 1, c[-1])
        (cut,) = cuts
        if way == "term":
            return self.strict(place, [*c[:cut], 0, *c[cut + 1 :]]) + self.product_strict(place, cut, c[cut])
        before, after = self.pair(place, cut, c[:cut])
        shift = self.loose(place.to_third().after(cut), c[cut:])
        return before + shift + after + _inverse(shift)

    def loose(self, place: Place, c: Sequence[int], at: int = 0) -> list[Row]:
        """``target += c·source``, with some ``σ·source`` more in the third register."""
        c = _trimmed(c)
        if not c:
            return []
        _, way, (*cuts,) = plan_loose(pattern_of(c), at)
        if way == "product":
            return self.product_loose(place, len(c) - 1, c[-1])
        (cut,) = cuts
        if way == "term":
            return self.loose(place, c[:cut]) + self.product_loose(place, cut, c[cut])
        upper = place.to_third().after(cut)
        if way == "row":
            shift = self.loose(upper, c[cut:])
            return _transposed(shift + self.row(place, cut, c[:cut], 1) + _inverse(shift), place)
        shift = self.strict(upper, c[cut:])
        if way == "pair":
            before, after = self.pair(place, cut, c[:cut])
            return before + shift + after
        if way == "apart":
            row = self.dirty_row(place, DirtyRow(cut, 1, loose_cut(cut), 1))
            return self.loose(place, c[:cut]) + _inverse(row) + shift + row
        t, q, other = plan_pair_loose(cut, pattern_of(c[:cut])).cuts
        head, source_sign, opposite = _taken_twice(_trimmed(c[:cut]), t, other)
        return (
            self.row_loose(place, q, head[:q], -1)
            + self.strict(place.to_third().after(q), head[q:])
            + self.dirty_row(place, DirtyRow(cut, -1, t, source_sign, q, 1))
            + shift
            + self.dirty_row(place, DirtyRow(cut, 1, other, opposite))
        )


def _taken_twice(head: list[int], t: int, other: int) -> tuple[list[int], int, int]:
    """Dirt of two rows taken from ``head``, and its signs; at the same place it cancels."""
    if t == other:
        return head, -1, 1
    head, source_sign = _taken(head, t)
    head, opposite = _taken(head, other)
    return head, source_sign, opposite
