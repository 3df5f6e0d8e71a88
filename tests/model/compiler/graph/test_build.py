"""Build: the graph computes the formula, whatever the style, and shared parts are one value."""

from fractions import Fraction

import pytest
from skinny.model.compiler.graph.build import Style, TooLargeError
from skinny.model.compiler.graph.values import group_cost

STYLES = [
    Style(sums=True),
    Style(sums=True, gather=False),
    Style(sums=True, whole_forms=True),
    Style(sums=False),
    Style(sums=False, whole_forms=True),
]
A, B, C = Fraction(3, 2), Fraction(-5), Fraction(7, 3)
FORMULAS = {
    "y = 0*a": 0,
    "y = 3": 3,
    "y = a*b + a*c - 2*b*c": A * B + A * C - 2 * B * C,
    "y = (a + b)*(b + c)*(a - c)": (A + B) * (B + C) * (A - C),
    "let s = a*b + c; let t = s^2 + a; y = s*t*(s + t) - t": (lambda s, t: s * t * (s + t) - t)(
        A * B + C, (A * B + C) ** 2 + A
    ),
    "let p = 2*a - b + 1; y = p*(p + c)^3 + p": (2 * A - B + 1) * (2 * A - B + 1 + C) ** 3 + 2 * A - B + 1,
    "y = (a - 2*b*c)^5": (A - 2 * B * C) ** 5,
    "y = a^16 - b^7": A**16 - B**7,
    "let u = a*b; let v = c*c; y = (u*a - v*b + 1)*(u + v)*u": (A * B * A - C * C * B + 1) * (A * B + C * C) * A * B,
}


@pytest.mark.parametrize("style", STYLES, ids=str)
@pytest.mark.parametrize("text", FORMULAS)
def test_the_graph_computes_the_formula(text, style, graph_of, evaluate_graph):
    graph = graph_of(text, style)
    point = {"a": A, "b": B, "c": C}
    assert evaluate_graph(graph, [point[name] for name in graph.inputs])["y"] == FORMULAS[text]
    if not style.sums:
        assert all(key[2] == -1 for value in graph.values for form, _ in value.groups for key, _ in form)


@pytest.mark.parametrize("style", STYLES, ids=str)
def test_named_weights_stay_apart_from_numbers(style, graph_of, evaluate_graph):
    text = "weight k = 2 in 0:9; weight m = 3 in 0:9; let s = k + 4 + b; y = k*(a + 3)*m + s^2 + k*m*(a*b) + s"
    graph = graph_of(text, style)
    for k, m in ((2, 3), (5, 7)):
        s = k + 4 + B
        assert evaluate_graph(graph, [A, B], [k, m])["y"] == k * (A + 3) * m + s**2 + k * m * A * B + s
    for value in graph.values:
        for form, _ in value.groups:
            assert sum(u == register == -1 for (_, u, register), _ in form) <= 1, "a form has one constant"


def test_relu_is_a_value_of_one_group(graph_of, evaluate_graph):
    text = "let h = relu(2*a - b); let g = relu(h*c - a); y = relu(g + h - 3) + h"
    for style in STYLES[:3]:
        graph = graph_of(text, style)
        for a, b, c in ((1, 5, 2), (4, 1, 3), (-2, -9, 1)):
            h = max(2 * a - b, 0)
            expected = max(max(h * c - a, 0) + h - 3, 0) + h
            assert evaluate_graph(graph, [a, b, c])["y"] == expected
        assert all(len(value.groups) == 1 for value in graph.values if value.relu)
        assert sum(value.relu for value in graph.values) == 3


def test_what_is_used_twice_is_computed_once(graph_of):
    graph = graph_of("let s = a*b*c*d; y = s + 1; z = 3*s", Style(sums=True))
    assert sum(group_cost(form) for value in graph.values for form, _ in value.groups) == 4 + 2 + 1


def test_products_of_values_without_sums_of_registers_may_be_too_many(graph_of):
    lines = ["let v0 = a + b*c"]
    lines += [f"let v{n} = v{n - 1}*v{n - 1} + a" for n in range(1, 25)]
    with pytest.raises(TooLargeError):
        graph_of("\n".join([*lines, "y = v24"]), Style(sums=False))
