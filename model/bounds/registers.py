"""Registers of the analysis: each is a sum of rounded products, with enclosures of its exact value and of its error.

A rounded product is a function of its scalar and of the word that it reads. Values are therefore numbered: a register
is a multiset of products, a product is a pair (form, value that was read), and equal products share their noise.
Values are compared by sums of random 128-bit numbers. Such a sum takes one value for another with a probability below
length² / 2^128.
"""

from __future__ import annotations

from typing import NamedTuple

from .enclosures import UNIT, Algebra, Enclosure

__all__ = ["MANY_ZEROS", "Product", "Register"]

#: This number stands for the trailing zero bits of a word that is zero.
MANY_ZEROS = 64


class Product(NamedTuple):
    """A rounded product as it is added to registers: a random number to know it by, its exact value, its error, and
    the number of trailing zero bits that its word is certain to have."""

    number: int
    value: Enclosure
    error: Enclosure
    zeros: int


class Register:
    """A sum of products: ``counts`` says how often each is present, ``number`` is the sum of their numbers.

    ``whole`` holds the enclosures of value and error. A view stands for one of them when it is too large to be read:
    the content at some time is collapsed into one symbol and the products added since are kept apart, so that
    differences between later values stay visible. ``ages`` tells the views of one value apart.
    """

    __slots__ = ("ages", "algebra", "counts", "number", "views", "whole")

    def __init__(self, algebra: Algebra, one: Product, start: int) -> None:
        self.algebra = algebra
        self.counts: dict[int, tuple[int, int]] = {one.number: (start, one.zeros)} if start else {}
        self.number = start * one.number
        self.whole = (algebra.enclosure({0: float(start)} if start else {}), Enclosure({}))
        self.views: list[Enclosure | None] = [None, None]
        self.ages = [0, 0]

    def add(self, product: Product, sign: int) -> None:
        """Add ``product``, or take it away when ``sign`` is -1."""
        before, _ = self.counts.get(product.number, (0, 0))
        if before + sign:
            self.counts[product.number] = (before + sign, product.zeros)
        else:
            del self.counts[product.number]
        self.number += sign * product.number
        squares = self.algebra.squares
        for whole, view, part in zip(self.whole, self.views, (product.value, product.error), strict=True):
            whole.add(part, sign, squares)
            if view is not None:
                view.add(part, sign, squares)

    def read(self, part: int, limit: int) -> Enclosure:
        """The value (part 0) or the error (1) as an enclosure of at most ``limit`` terms."""
        view = self.views[part]
        enclosure = self.whole[part] if view is None else view
        return enclosure if len(enclosure.terms) <= limit else self._collapse(part)

    def settle(self, limit: int) -> None:
        """Forget the views that are not needed and begin a new one for each enclosure of more than ``limit`` terms."""
        for part, (whole, view) in enumerate(zip(self.whole, self.views, strict=True)):
            if len(whole.terms) > limit:
                if view is None or len(view.terms) > limit:
                    self._collapse(part)
            elif view is not None:
                self.views[part], self.ages[part] = None, 0

    def _collapse(self, part: int) -> Enclosure:
        view = self.views[part] = self.algebra.collapsed(*self.whole[part].range(), noise=part == 1)
        self.ages[part] = max(view.terms, default=0)
        return view

    def zeros(self, wanted: int) -> int:
        """The number of trailing zero bits that the word is certain to have, or any number below ``wanted`` if it has
        fewer than that."""
        least = MANY_ZEROS
        for _, zeros in self.counts.values():
            least = min(least, zeros)
            if least < wanted or least == 0:
                break
        return least

    def range(self) -> tuple[float, float]:
        """An enclosure of the actual value."""
        (low, high), (least, most) = (enclosure.range() for enclosure in self.whole)
        pad = UNIT * (abs(low) + abs(high) + abs(least) + abs(most))
        return low + least - pad, high + most + pad
