"""Shape: polynomials over atoms to expressions with decided contracts and costs.

Precondition: a table of atoms, parts before wholes. Postcondition: an :class:`Expression` for each polynomial asked
for. Linear forms become scalars (attention) or telescoped sums; constants join a form, or become a leaf; products are
associated; a sum of products is tried as separate blocks and as a telescope, and the cheaper is taken.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from skinny.model.limits import check

from .code import Affine, form_size
from .contracts import Best, Expression, Leaf, Pair, Sum, Telescope, TextbookPair, product_costs
from .passes.associate import associate
from .polynomial import Coefficient, Fused, Monomial, Polynomial, Table, magnitude

__all__ = ["Shaper", "least_cost"]

#: Above this many products in one sum the order of a telescope is not searched.
TELESCOPE_SEARCH = 300
#: Products of more factors are bounded by parts of this many.
COUNTED = 2048


def least_cost(table: Table, polynomial: Polynomial) -> int:
    """A lower bound of the loose cost of every expression of the polynomial, without making one: the cost of its
    products of more than two factors, or of those inside one of its atoms, each factor a single variable."""
    inside = [table.sums[atom - len(table.names)] for atom in table.atoms_inside(polynomial)]
    return max(map(_products_cost, [polynomial, *inside]))


def _products_cost(polynomial: Polynomial) -> int:
    factors = [sum(exponent for _, exponent in monomial) for monomial in polynomial]
    costs = _loose_costs(min(max(factors, default=0), COUNTED).bit_length())
    return sum(costs[min(count, COUNTED)] * max(1, count // COUNTED) for count in factors if count > 2)


@cache
def _loose_costs(bits: int) -> list[int]:
    """The loose costs of products of less than ``2^bits`` variables, by count."""
    costs: list[int] = product_costs(1 << bits)[1].tolist()
    return costs


class Shaper:
    """Builds and remembers the expression of each atom."""

    def __init__(
        self, table: Table, attention: bool, telescope: bool, search: bool, contracts: bool, order: bool = True
    ) -> None:
        self.table = table
        self.attention = attention
        self.telescope = telescope
        self.search = search and contracts
        self.pair = Pair if contracts else TextbookPair
        self.order = order
        self.variables = [Leaf(Affine(((u, 1),))) for u in table.variables]
        self.atoms: dict[int, Expression] = {}

    def shape(self, polynomial: Polynomial) -> Expression:
        """The expression of a polynomial; the atoms inside it are made first, from the inside out."""
        for number in sorted(self.table.atoms_inside(polynomial) - self.atoms.keys()):
            self.atoms[number] = self._polynomial(self.table.sums[number - len(self.variables)])
        return self._polynomial(polynomial)

    def _atom(self, number: int) -> Expression:
        return self.variables[number] if number < len(self.variables) else self.atoms[number]

    def _polynomial(self, polynomial: Polynomial) -> Expression:
        """The expression of a sum of monomials."""
        linear, products = self._split(polynomial)
        parts = [(1, part) for part in self._affine_parts(linear)]
        separate = self._ordered_sum([*parts, *self._separate(products)])
        shapes: list[Expression] = [separate]
        if self.telescope and len(products) > 1:
            for telescoped in (self._by_forms(products), self._by_constants(products)):
                if telescoped is not None:
                    shapes.append(self._ordered_sum([*parts, *telescoped]))
        if not products and len(parts) == 1:
            return parts[0][1]
        return Best(shapes) if len(shapes) > 1 else separate

    def _ordered_sum(self, terms: list[tuple[int, Expression]]) -> Sum:
        """The terms as they were written, or the longest first: it gains most when its target is still zero."""
        return Sum(terms if self.order else sorted(terms, key=lambda term: -term[1].strict_cost))

    def _split(self, polynomial: Polynomial) -> tuple[Affine, list[tuple[Monomial, Coefficient]]]:
        terms: list[tuple[int, Coefficient]] = []
        products: list[tuple[Monomial, Coefficient]] = []
        for monomial, coefficient in polynomial.items():
            if len(monomial) == 1 and monomial[0][1] == 1 and monomial[0][0] < len(self.variables):
                terms.append((monomial[0][0], coefficient))
            elif monomial:
                products.append((monomial, coefficient))
        return Affine(tuple(sorted(terms)), polynomial.get((), 0)), products

    def _affine_parts(self, form: Affine) -> list[Expression]:
        """Expressions that add up to ``form``."""
        if self.attention:
            return [self._moves(form)] if form_size(form) else []
        plain = [Leaf(Affine(((u, c),))) for u, c in form.terms if abs(c) == 1]
        if form.bias:
            plain.append(Leaf(Affine((), form.bias)))
        groups: dict[Coefficient, list[Expression]] = {}
        for u, c in form.terms:
            if abs(c) != 1:
                groups.setdefault(magnitude(c), []).append(Leaf(Affine(((u, 1 if c > 0 else -1),))))
        if not groups:
            return list(plain)
        whole = [(self._sum([(1, leaf) for leaf in leaves]), c) for c, leaves in sorted(groups.items())]
        return [*plain, self._scaled_sum(whole)]

    def _scaled_sum(self, parts: Sequence[tuple[Expression, Coefficient]]) -> Expression:
        """``Σ c·F``: telescoped, or, for small whole constants, added up."""
        scaled: list[Expression] = []
        if self.telescope:
            scaled.append(Telescope([(part, Affine((), c)) for part, c in parts], self._moves))
        else:
            scaled.append(Sum([(1, self._associate([Leaf(Affine((), c)), part])) for part, c in parts]))
        repeated = [(part, c) for part, c in parts if c in (2, 3)]
        rest = [(part, c) for part, c in parts if c not in (2, 3)]
        if repeated:
            copies: list[tuple[int, Expression]] = [(1, part) for part, c in repeated for _ in range(int(c))]
            if rest:
                copies.append((1, self._scaled_sum(rest)))
            scaled.append(Sum(copies))
        return Best(scaled) if len(scaled) > 1 else scaled[0]

    def _moves(self, form: Affine) -> Expression:
        """A block that adds ``form``: simple scalars one by one, anything else through the accumulator."""
        if self.attention and any(abs(c) != 1 or isinstance(u, Fused) for u, c in form.terms):
            return Leaf(form)
        leaves: list[tuple[int, Expression]] = []
        for u, c in form.terms:
            leaves.extend([(1 if c > 0 else -1, self.variables[u])] * int(magnitude(c)))
        if form.bias:
            leaves.append((1, Leaf(Affine((), form.bias))))
        return self._sum(leaves)

    def _associate(self, factors: list[Expression]) -> Expression:
        return associate(factors) if self.search else _in_order(factors, self.pair)

    def _sum(self, terms: list[tuple[int, Expression]]) -> Expression:
        return terms[0][1] if len(terms) == 1 and terms[0][0] > 0 else Sum(terms)

    def _separate(self, products: Sequence[tuple[Monomial, Coefficient]]) -> list[tuple[int, Expression]]:
        return [(1 if c > 0 else -1, self._product(monomial, magnitude(c))) for monomial, c in products]

    def _product(self, monomial: Monomial, scale: Coefficient) -> Expression:
        """``scale·monomial`` with a positive scale."""
        check()
        atoms = [atom for atom, exponent in monomial for _ in range(exponent)]
        if not self.attention:
            factors = [self._atom(atom) for atom in atoms]
            if scale != 1:
                factors.append(Leaf(Affine((), scale)))
            return self._associate(factors)
        forms = {atom: self._affine(atom) for atom in set(atoms)}
        shapes: list[Expression] = []
        for scalars in self._scalar_choices(atoms, forms, scale):
            factors = [scalars.get(position) or self._atom(atom) for position, atom in enumerate(atoms)]
            if scale != 1 and not scalars:
                factors.append(Leaf(Affine((), scale)))
            shapes.append(self._associate(factors))
        return Best(shapes) if len(shapes) > 1 else shapes[0]

    def _affine(self, atom: int) -> Affine | None:
        """The linear form behind an atom, if it is one."""
        if atom < len(self.variables):
            return Affine(((atom, 1),))
        form, products = self._split(self.table.sums[atom - len(self.variables)])
        return None if products else form

    def _scalar_choices(
        self, atoms: Sequence[int], forms: dict[int, Affine | None], scale: Coefficient
    ) -> list[dict[int, Expression]]:
        """Choices of the factors that are taken as forms in the accumulator: none, all sums, or one that also takes the
        scale."""
        choices: list[dict[int, Expression]] = [{}]
        sums = [(n, forms[atom]) for n, atom in enumerate(atoms) if atom >= len(self.variables)]
        wide = {n: form for n, form in sums if form is not None}
        if wide and scale == 1:
            leaves = {atoms[n]: Leaf(form) for n, form in wide.items()}
            choices.append({n: leaves[atoms[n]] for n in wide})
        if scale != 1:
            single = [n for n, atom in enumerate(atoms) if forms[atom] is not None]
            for n in single[:1] + [n for n in wide if n != single[0]][:2]:
                form = forms[atoms[n]]
                assert form is not None
                choices.append({n: Leaf(form.scaled(scale))})
        return choices

    def _by_forms(self, products: Sequence[tuple[Monomial, Coefficient]]) -> list[tuple[int, Expression]] | None:
        """Products of a leaf and a linear form as one telescope, the rest as separate blocks."""
        readers: list[tuple[int, Affine]] = []
        rest: list[tuple[Monomial, Coefficient]] = []
        grouped: dict[int, dict[int, Coefficient]] = {}
        for monomial, c in products:
            atoms = [atom for atom, exponent in monomial for _ in range(exponent)]
            forms = [self._affine(atom) for atom in atoms]
            if len(atoms) != 2 or None in forms or (abs(c) != 1 and not self.attention):
                rest.append((monomial, c))
                continue
            if atoms[0] >= len(self.variables):
                rest.append((monomial, c))
                continue
            wide = forms[1]
            assert wide is not None
            if atoms[1] < len(self.variables):
                grouped.setdefault(atoms[0], {})[atoms[1]] = c
            else:
                readers.append((atoms[0], wide.scaled(c)))
        if not self.attention:
            for _, wide in readers:
                if any(abs(c) != 1 for _, c in wide.terms):
                    return None
        readers.extend((u, Affine(tuple(sorted(row.items())))) for u, row in grouped.items())
        if len(readers) < 2:
            return None
        ordered = self._ordered(readers)
        parts = [(self.variables[u], form) for u, form in ordered]
        return [(1, Telescope(parts, self._moves)), *self._separate(rest)]

    def _ordered(self, readers: list[tuple[int, Affine]]) -> list[tuple[int, Affine]]:
        """The forms in an order with small steps: nearest neighbour from the smallest."""
        if len(readers) > TELESCOPE_SEARCH:
            return sorted(readers, key=lambda reader: form_size(reader[1]))
        left = sorted(readers, key=lambda reader: (form_size(reader[1]), reader[0]))
        out = [left.pop(0)]
        while left:
            here = out[-1][1]
            check()
            nearest = min(range(len(left)), key=lambda n: form_size(left[n][1].minus(here)))
            out.append(left.pop(nearest))
        return out

    def _by_constants(self, products: Sequence[tuple[Monomial, Coefficient]]) -> list[tuple[int, Expression]] | None:
        """Products with a constant as one telescope over the constants, the others as separate blocks."""
        if self.attention:
            return None
        groups: dict[Coefficient, list[tuple[int, Expression]]] = {}
        for monomial, c in products:
            if abs(c) != 1:
                groups.setdefault(magnitude(c), []).append((1 if c > 0 else -1, self._product(monomial, 1)))
        if not groups:
            return None
        plain = self._separate([(monomial, c) for monomial, c in products if abs(c) == 1])
        whole = [(self._sum(terms), c) for c, terms in sorted(groups.items())]
        return [*plain, (1, self._scaled_sum(whole))]


def _in_order(factors: Sequence[Expression], pair: type[Pair]) -> Expression:
    """The product of ``factors`` multiplied pairwise, balanced, in the order given."""
    level = list(factors)
    while len(level) > 1:
        level = [pair([(f, g)]) for f, g in zip(level[::2], level[1::2], strict=False)] + level[len(level) & ~1 :]
    return level[0]
