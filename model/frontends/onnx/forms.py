"""Forms: tensors whose elements are affine forms of values computed earlier.

What a network computes is a row of steps that are affine, with a few in between that are not. Affine steps are
gathered here as numbers, so that a scale or a normalisation behind a layer costs nothing; whatever is not affine, and
what is better computed once, becomes a *held* value: a formula that later forms refer to.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from skinny.model.errors import InputError
from skinny.model.formula.formula import Formula, constant, product, total
from skinny.model.limits import check, checked, current

from ..imported import Layer

__all__ = ["NOTHING", "Forms", "Held", "claim", "joined"]

Whole = NDArray[np.int64]
Floats = NDArray[np.float64]
#: A column of :meth:`Held.combined` or an element of :meth:`Forms.taken` that is not there: zero.
NOTHING = -1
#: Bytes of memory at most for each entry of a form while it is made.
ENTRY = 128
#: Two affine steps are multiplied out only when that takes fewer products than this.
MOST_PRODUCTS = 10_000_000


def claim(entries: int) -> None:
    """Refuse tensors and forms of so many entries when they do not fit the memory that is allowed."""
    check()
    if entries > (most := current().memory // ENTRY):
        raise InputError(f"{entries:,} entries are more than the limit, {most:,}: --limit memory=SIZE raises it")


@dataclass(frozen=True, eq=False)
class Forms:
    """A tensor of the given ``shape``. Element ``e``, in the order of memory, is ``offsets[e]`` and the sum of
    ``factors[i]`` times the held value ``values[i]`` for ``i`` from ``starts[e]`` to ``starts[e + 1]``; the held values
    of an element rise, and no factor is zero."""

    shape: tuple[int, ...]
    starts: Whole
    values: Whole
    factors: Floats
    offsets: Floats

    @classmethod
    def of_numbers(cls, numbers: NDArray[Any]) -> Forms:
        """Constants as forms."""
        claim(numbers.size)
        none = np.zeros(0, np.int64)
        offsets = numbers.astype(np.float64).ravel()
        return cls(numbers.shape, np.zeros(numbers.size + 1, np.int64), none, none.astype(np.float64), offsets)

    @property
    def size(self) -> int:
        return len(self.offsets)

    @property
    def lengths(self) -> Whole:
        """The number of held values in each element."""
        return np.diff(self.starts)

    @property
    def constant(self) -> bool:
        """Whether no element depends on an input."""
        return len(self.values) == 0

    @property
    def numbers(self) -> Floats:
        """The elements of a constant tensor."""
        return self.offsets.reshape(self.shape)

    @property
    def trivial(self) -> NDArray[np.bool_]:
        """Which elements are a number or a held value itself."""
        single = self.lengths == 1
        single[single] = (self.factors[self.starts[:-1][single]] == 1) & (self.offsets[single] == 0)
        return single | (self.lengths == 0)

    @property
    def places(self) -> Whole:
        """The number of every element, in the shape of the tensor."""
        return np.arange(self.size).reshape(self.shape)

    def reshape(self, shape: Sequence[int]) -> Forms:
        """The same elements in another shape."""
        return Forms(tuple(shape), self.starts, self.values, self.factors, self.offsets)

    def taken(self, elements: Whole) -> Forms:
        """The tensor of the shape of ``elements`` that has these elements of this one, :data:`NOTHING` for zero."""
        chosen = elements.ravel()
        there = chosen != NOTHING
        lengths = np.where(there, self.lengths[chosen] if self.size else 0, 0)
        places, starts = _runs(self.starts[:-1][chosen] if self.size else chosen, lengths)
        offsets = np.where(there, self.offsets[chosen] if self.size else 0.0, 0.0)
        return Forms(elements.shape, starts, self.values[places], self.factors[places], offsets)

    def scaled(self, factors: Floats | float, offsets: Floats | float = 0.0) -> Forms:
        """Every element times its own factor, with an offset; both in the shape of this tensor or single numbers."""
        each = np.broadcast_to(factors, self.shape).ravel()
        rows = np.repeat(np.arange(self.size), self.lengths)
        offset = self.offsets * each + np.broadcast_to(offsets, self.shape).ravel()
        return _collected(self.shape, rows, self.values, self.factors * each[rows], offset)

    def plus(self, other: Forms) -> Forms:
        """The sum with a tensor of the same shape."""
        rows = np.concatenate([np.repeat(np.arange(self.size), forms.lengths) for forms in (self, other)])
        values = np.concatenate([self.values, other.values])
        factors = np.concatenate([self.factors, other.factors])
        return _collected(self.shape, rows, values, factors, self.offsets + other.offsets)


def _runs(begins: Whole, lengths: Whole) -> tuple[Whole, Whole]:
    """The places ``begin, begin + 1, …`` of all runs one after the other, and where each run starts among them."""
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    claim(int(starts[-1]) + len(lengths))
    return np.repeat(begins - starts[:-1], lengths) + np.arange(starts[-1]), starts


def _collected(shape: tuple[int, ...], rows: Whole, values: Whole, factors: Floats, offsets: Floats) -> Forms:
    """The forms with these entries in any order: equal ones of a row are added, those that vanish left out."""
    order = np.lexsort((values, rows))
    rows, values, factors = rows[order], values[order], factors[order]
    if len(rows):
        first = np.concatenate([[True], (rows[1:] != rows[:-1]) | (values[1:] != values[:-1])])
        begins = np.flatnonzero(first)
        rows, values, factors = rows[begins], values[begins], np.add.reduceat(factors, begins)
        kept = factors != 0
        rows, values, factors = rows[kept], values[kept], factors[kept]
    starts = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=len(offsets)))]).astype(np.int64)
    return Forms(shape, starts, values, factors, offsets)


class Held:
    """The held values of a network: its inputs first, then one after the other what is computed. ``layers`` are those
    that came to be, in order."""

    def __init__(self) -> None:
        self.formulas: list[Formula] = []
        self.layers: list[Layer] = []
        self._positive: list[bool] = []
        self._numbers: dict[float, Formula] = {}
        self._known: dict[int, tuple[Forms, Forms]] = {}  # tensors that were held, by identity

    def added(self, formulas: Sequence[Formula], shape: Sequence[int], positive: bool = False) -> Forms:
        """The tensor of new held values; ``positive`` says that they are never below zero."""
        claim(len(formulas))
        count = len(formulas)
        values = np.arange(len(self.formulas), len(self.formulas) + count)
        self.formulas += formulas
        self._positive += [positive] * count
        return Forms(tuple(shape), np.arange(count + 1), values, np.ones(count), np.zeros(count))

    def written(self, forms: Forms) -> list[Formula]:
        """Every element as a formula: the products in the order of the held values, then the offset."""
        out: list[Formula] = []
        starts, values = forms.starts.tolist(), forms.values.tolist()
        factors, offsets = forms.factors.tolist(), forms.offsets.tolist()
        for element in checked(range(forms.size)):
            terms = [
                self.formulas[value] if factor == 1 else product((self._number(factor), self.formulas[value]))
                for value, factor in zip(
                    values[starts[element] : starts[element + 1]],
                    factors[starts[element] : starts[element + 1]],
                    strict=True,
                )
            ]
            if offsets[element] or not terms:
                terms.append(self._number(offsets[element]))
            out.append(terms[0] if len(terms) == 1 else total(terms))
        return out

    def _number(self, value: float) -> Formula:
        if value not in self._numbers:
            if not np.isfinite(value):
                raise InputError(f"a number of the network is {value}: only finite numbers can be computed with")
            self._numbers[value] = constant(value)
        return self._numbers[value]

    def held(self, forms: Forms, name: str) -> Forms:
        """The same tensor, with every element that is more than a number or a held value as a held value of its own.
        The same tensor is held once."""
        wide = ~forms.trivial
        if id(forms) not in self._known:
            self._known[id(forms)] = forms, self.replaced(forms, wide, self.written, name) if wide.any() else forms
        return self._known[id(forms)][1]

    def applied(self, forms: Forms, function: Callable[[Formula], Formula], name: str, positive: bool = False) -> Forms:
        """``function``, which is not affine, of every element, as new held values."""
        everywhere = np.ones(forms.size, bool)
        return self.replaced(
            forms, everywhere, lambda chosen: [function(one) for one in self.written(chosen)], name, positive
        )

    def replaced(
        self,
        forms: Forms,
        which: NDArray[np.bool_],
        make: Callable[[Forms], list[Formula]],
        name: str,
        positive: bool = False,
    ) -> Forms:
        """The same tensor with new held values, what ``make`` makes of the old elements, in the places ``which``."""
        chosen = np.flatnonzero(which)
        formulas = make(forms.taken(chosen))
        new = self.added(formulas, chosen.shape, positive)
        self.record(name, formulas)
        elements = np.arange(forms.size)
        elements[chosen] = forms.size + np.arange(len(chosen))
        return joined([forms, new]).taken(elements.reshape(forms.shape))

    def relu(self, forms: Forms, name: str) -> Forms:
        """The positive part of every element."""
        known = forms.lengths == 0
        clear = np.where(known, np.maximum(forms.offsets, 0), forms.offsets)
        forms = Forms(forms.shape, forms.starts, forms.values, forms.factors, clear)
        open_ = ~self.positive(forms)
        if not open_.any():
            return forms
        return self.replaced(
            forms, open_, lambda chosen: [Formula("relu", (one,)) for one in self.written(chosen)], name, True
        )

    def positive(self, forms: Forms) -> NDArray[np.bool_]:
        """Which elements cannot be below zero, because no term of theirs can."""
        known = np.array(self._positive, bool)
        below = np.concatenate([[0], np.cumsum((forms.factors < 0) | ~known[forms.values])])
        return (below[forms.starts[1:]] == below[forms.starts[:-1]]) & (forms.offsets >= 0)

    def leaky(self, forms: Forms, slope: float, name: str) -> Forms:
        """Every element, times ``slope`` where it is below zero."""
        forms = self.settled(forms, forms.lengths > 1, name)
        return self.relu(forms, name).scaled(1 - slope).plus(forms.scaled(slope))

    def multiplied(self, first: Forms, second: Forms, name: str) -> Forms:
        """The products of the elements of two tensors of the same shape."""
        square = first is second or (
            np.array_equal(first.starts, second.starts)
            and np.array_equal(first.values, second.values)
            and np.array_equal(first.factors, second.factors)
            and np.array_equal(first.offsets, second.offsets)
        )
        if square:
            return self.applied(first, lambda one: one**2, name, True)
        pairs = zip(self.written(first), self.written(second), strict=True)
        formulas = [product(pair) for pair in pairs]
        self.record(name, formulas)
        return self.added(formulas, first.shape)

    def record(self, name: str, formulas: Sequence[Formula]) -> None:
        """Values of the layer ``name``; those of one node are one layer."""
        before = self.layers.pop().values if self.layers and self.layers[-1].name == name else ()
        self.layers.append(Layer(name, (*before, *formulas)))

    def settled(self, forms: Forms, which: NDArray[np.bool_], name: str) -> Forms:
        """The same tensor with the elements ``which`` as held values, because they are used again."""
        which = which & ~forms.trivial
        return self.replaced(forms, which, self.written, name) if which.any() else forms

    def largest(self, forms: Forms, columns: Whole, name: str) -> Forms:
        """The largest of the elements ``columns`` of ``forms`` over the last axis, those that are there: one after the
        other, by ``max(a, b) = b + relu(a - b)``, which keeps what is not settled yet two products wide."""
        claim(columns.size)
        shape = columns.shape[:-1]
        columns = columns.reshape(-1, columns.shape[-1])
        # Of the two, b is written twice; so numbers come last, and what is missing after them.
        rank = np.where(columns == NOTHING, 2, forms.lengths[columns] == 0)
        columns = np.take_along_axis(columns, np.argsort(rank, axis=1, kind="stable"), axis=1)
        there = columns != NOTHING
        if not there[:, 0].all():
            raise InputError("a window lies outside of the tensor: it has no largest element")
        uses = np.bincount(columns[there], minlength=forms.size)
        twice = np.bincount(columns[:, 1:][there[:, 1:]], minlength=forms.size)
        forms = self.settled(forms, (forms.lengths > 1) & ((uses > 1) | (twice > 0)), name)
        out = forms.taken(columns[:, 0])
        for place in range(1, columns.shape[1]):
            check()
            rows = np.flatnonzero(there[:, place])
            if not len(rows):
                break
            new = forms.taken(columns[rows, place])
            better = new.plus(self.relu(out.taken(rows).plus(new.scaled(-1)), name))
            elements = np.arange(out.size)
            elements[rows] = out.size + np.arange(len(rows))
            out = joined([out, better]).taken(elements)
        return out.reshape(shape)

    def combined(self, forms: Forms, columns: Whole, factors: Floats, name: str) -> Forms:
        """An affine step: the tensor whose elements are the sums, over the last axis, of ``factors`` times the elements
        ``columns`` of ``forms`` (:data:`NOTHING` for none).

        What is summed is held first, unless multiplying out takes no more multiplications.
        """
        claim(int(np.prod(np.broadcast_shapes(columns.shape, factors.shape), dtype=object)))
        columns, factors = np.broadcast_arrays(columns, factors)
        shape, wide = columns.shape[:-1], columns.shape[-1]
        elements, weights = columns.ravel(), factors.ravel().astype(np.float64)
        rows = np.repeat(np.arange(int(np.prod(shape, dtype=np.int64))), wide)
        there = (elements != NOTHING) & (weights != 0)
        elements, weights, rows = elements[there], weights[there], rows[there]

        forms = self._known.get(id(forms), (forms, forms))[1]
        apart = int(forms.lengths[~forms.trivial].sum())
        if int(forms.lengths[elements].sum()) <= MOST_PRODUCTS:
            out = _products(forms, elements, weights, rows, shape)
            if not apart or len(out.values) <= len(weights) + apart:
                return out
        return _products(self.held(forms, f"input of {name}"), elements, weights, rows, shape)


def joined(tensors: Sequence[Forms]) -> Forms:
    """The elements of all tensors, one after the other."""
    begins = np.cumsum([0, *(len(forms.values) for forms in tensors)])
    claim(int(begins[-1]) + sum(forms.size for forms in tensors))
    return Forms(
        (sum(forms.size for forms in tensors),),
        np.concatenate([[0], *(forms.starts[1:] + begin for forms, begin in zip(tensors, begins, strict=False))]),
        np.concatenate([forms.values for forms in tensors]),
        np.concatenate([forms.factors for forms in tensors]),
        np.concatenate([forms.offsets for forms in tensors]),
    )


def _products(forms: Forms, elements: Whole, weights: Floats, rows: Whole, shape: tuple[int, ...]) -> Forms:
    """The sums of ``weights`` times ``elements`` of ``forms``, by row."""
    lengths = forms.lengths[elements]
    places, _ = _runs(forms.starts[:-1][elements], lengths)
    count = int(np.prod(shape, dtype=np.int64))
    return _collected(
        shape,
        np.repeat(rows, lengths),
        forms.values[places],
        forms.factors[places] * np.repeat(weights, lengths),
        np.bincount(rows, weights * forms.offsets[elements], minlength=count),
    )
