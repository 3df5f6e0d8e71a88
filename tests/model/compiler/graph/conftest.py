"""Graphs evaluated value by value in exact rationals, for the tests of what makes and uses them."""

from fractions import Fraction

import pytest
from skinny.model.compiler.graph.build import build
from skinny.model.compiler.graph.values import NONE, ONE
from skinny.model.formula.formula import operations
from skinny.model.formula.parse import parse_formula


def value_of_form(form, inputs, weights, registers):
    total = Fraction(0)
    for (weight, u, register), c in form:
        term = Fraction(c)
        term *= weights[weight] if weight != NONE else 1
        term *= inputs[u] if u != NONE else 1
        total += term * (registers[register] if register != NONE else 1)
    return total


def graph_values(graph, inputs, weights=()):
    """The outputs of a graph at a point, by name."""
    values = []
    for value in graph.values:
        total = sum(
            value_of_form(form, inputs, weights, values) * (1 if base == ONE else values[base])
            for form, base in value.groups
        )
        values.append(max(total, Fraction(0)) if value.relu else total)
    return {name: values[number] for name, number in graph.outputs.items()}


def listing_values(listing, graph, inputs, weights=()):
    """The outputs that a listing sends at a point, by name. Every rule of the instructions is checked."""
    start = [Fraction(int(r == 1)) for r in range(listing.width)]
    registers = list(start)
    sent = {}
    outputs = list(listing.outputs)
    for position, instruction in enumerate([*listing.code, None]):
        while outputs and outputs[0][2] == position:
            name, register, _, restart = outputs.pop(0)
            sent[name] = registers[register]
            registers = list(start) if restart else registers
        if instruction is None:
            break
        dst, src, sign, mode, form = instruction
        assert dst != 1
        value = sign * value_of_form(form, inputs, weights, registers) * registers[src]
        if mode == "add":
            assert dst != src
            assert all(register != dst for (_, _, register), _ in form)
            value += registers[dst]
        registers[dst] = max(value, Fraction(0)) if mode == "relu" else value
    assert not outputs
    assert list(sent) == list(graph.outputs)
    return sent


@pytest.fixture
def graph_of():
    """The graph of a text in a style."""

    def made(text, style):
        outputs = parse_formula(text)
        return build(outputs, operations(*outputs.values()), style)

    return made


@pytest.fixture
def evaluate_graph():
    return graph_values


@pytest.fixture
def evaluate_listing():
    return listing_values
