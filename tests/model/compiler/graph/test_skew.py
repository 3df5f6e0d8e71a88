"""Skew: a product of values is the graph of one with the other in place of one."""

from fractions import Fraction

from skinny.model.compiler.graph.skew import transposed
from skinny.model.compiler.graph.values import Group, Value

A, B, C = ((((-1, u, -1), 1),) for u in range(3))


def test_the_graph_is_walked_once_for_all_products():
    """f = (a + b)·b and g = c + a·b share the value b; what is asked for is f·r + g·s with r = 2, s = 3."""
    values = [
        Value((Group(B, -1),)),
        Value((Group(A, 0), Group(B, 0))),
        Value((Group(C, -1), Group(A, 0))),
        Value((Group((((-1, -1, -1), 2),), -1),)),
        Value((Group((((-1, -1, -1), 3),), -1),)),
    ]
    before = len(values)

    def number(value):
        values.append(value)
        return len(values) - 1

    groups = transposed(values, [(1, 3), (2, 4)], number)
    assert all(value == -1 for group in groups for (_, _, value), _ in group.form)
    a, b, c = Fraction(5), Fraction(7), Fraction(11)
    found = {}
    for place in range(before, len(values)):
        found[place] = sum(
            sum(Fraction(k) * (1 if u < 0 else (a, b, c)[u]) for (_, u, _), k in form)
            * (1 if base < 0 else {3: Fraction(2), 4: Fraction(3)}.get(base) or found[base])
            for form, base in values[place].groups
        )
    total = sum(
        sum(Fraction(k) * (1 if u < 0 else (a, b, c)[u]) for (_, u, _), k in form)
        * (1 if base < 0 else {3: Fraction(2), 4: Fraction(3)}.get(base) or found[base])
        for form, base in groups
    )
    assert total == 2 * (a + b) * b + 3 * (c + a * b)
    assert len(values) - before == 1
