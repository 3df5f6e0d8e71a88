"""Registers: values take over registers, are given up and taken away."""

import pytest
from skinny.model.compiler.graph.build import Style
from skinny.model.compiler.graph.generate import gather, packed
from skinny.model.compiler.graph.registers import Registers, TooLongError, TooNarrowError


def registers_of(graph, width, **options):
    return Registers(graph, width, **{"assign": True, "tidy": False, "most": 1000} | options)


def test_a_value_takes_over_the_register_of_one_that_dies(graph_of):
    graph = graph_of("a*b*c", Style(sums=True))
    registers = registers_of(graph, 3)
    gather(graph, registers)
    assert [(i.dst, i.src, i.mode) for i in registers.code] == [(2, 1, "assign"), (2, 2, "assign"), (2, 2, "assign")]


def test_a_value_that_is_needed_again_is_not_overwritten(graph_of):
    graph = graph_of("let p = a*b; y = p*c; z = p*d", Style(sums=True))
    listing = gather(graph, registers_of(graph, 4))
    assert packed(listing).width == 3
    assert [i.dst for i in listing.code] == [2, 2, 3, 2]


def test_registers_are_cleared_by_running_groups_backwards(graph_of, evaluate_listing):
    graph = graph_of("let p = a*b; let q = a*c; let r = b*c; y = p*d; z = q*d; w = r*d", Style(sums=False))
    listing = gather(graph, registers_of(graph, 5, assign=False))
    assert all(i.mode == "add" for i in listing.code)
    assert sum(i.sign == -1 for i in listing.code) >= 2
    point = {"a": 2, "b": 3, "c": 5, "d": 7}
    found = evaluate_listing(listing, graph, [point[name] for name in graph.inputs])
    assert found == {"y": 42, "z": 70, "w": 105}


def test_too_few_registers_and_too_many_cycles_are_said(graph_of):
    graph = graph_of("let p = a*b + c; let q = c*d + a; let r = p*q + 1; y = (r + p)*(r + q)*(p - q)", Style(sums=True))
    with pytest.raises(TooNarrowError):
        gather(graph, registers_of(graph, 3))
    with pytest.raises(TooLongError):
        gather(graph, registers_of(graph, 8, most=5))


def test_the_accumulator_is_rebuilt_once_a_register_in_it_was_written(graph_of, evaluate_listing):
    """v·v by ``S <- R, R <- S·R``, twice: the second square must not use what the accumulator held."""
    graph = graph_of("let v = a*b; y = v^4", Style(sums=True))
    registers = registers_of(graph, 3)
    listing = gather(graph, registers)
    assert listing.cycles == 2 + 2 + 2 + 1
    assert evaluate_listing(listing, graph, [2, 3]) == {"y": 6**4}
