"""Shortest: random formulas are computed as written, with the promises that were asked for."""

import random
from collections import Counter

import pytest
from skinny.model.compiler.goal import Goal
from skinny.model.compiler.graph.registers import Registers
from skinny.model.compiler.graph.shortest import shortest
from skinny.model.compiler.prove import prove
from skinny.model.formula.formula import constant, operations, product, total, variables, weight
from skinny.model.formula.function import apply
from skinny.model.formula.parse import parse_formula
from skinny.scripts.bench.networks import constituents

KEEPS = [(), ("linear",), ("reversible",), ("linear", "reversible")]


def random_formulas(chance, relu):
    nodes = [*variables("a b c d"), weight("k", 2, 0, 3), weight("m", 1, 0, 3)]
    for _ in range(chance.randrange(1, 12)):
        match chance.randrange(5):
            case 0 | 1:
                numbers = [constant(chance.randrange(-3, 4))] * chance.randrange(2)
                nodes.append(total(chance.choices(nodes, k=chance.randrange(1, 4)) + numbers))
            case 2 | 3:
                numbers = [constant(chance.randrange(-3, 4))] * (chance.randrange(3) == 0)
                nodes.append(product(chance.choices(nodes, k=chance.randrange(1, 4)) + numbers))
            case _:
                base = chance.choice(nodes)
                nodes.append(apply("relu", base) if relu and chance.randrange(2) else base ** chance.randrange(4))
    return {f"y{n}": formula for n, formula in enumerate(chance.choices(nodes[-4:], k=chance.randrange(1, 4)))}


@pytest.mark.parametrize("keep", KEEPS, ids=",".join)
def test_random_formulas_are_computed(keep):
    chance = random.Random(",".join(keep))
    found = 0
    for _ in range(150):
        outputs = random_formulas(chance, relu=not keep)
        written = operations(*outputs.values())
        width = chance.choice([3, 4, 6, 16])
        program = shortest(outputs, written, frozenset(keep), width, frozenset(), 5000)
        if program is None:
            continue
        found += 1
        prove(program, outputs, written)
        assert program.width <= width
        assert [output.name for output in program.outputs] == list(outputs)
        assert program.linear or "linear" not in keep
        assert "reversible" not in keep or not program.code.mode.any()
    assert found > 140


def test_outputs_one_by_one_need_fewer_registers():
    text = "; ".join(f"y{n} = (a{n}*b{n} + c{n})*(a{n} + d{n})*e{n}" for n in range(8))
    outputs = parse_formula(text)
    written = operations(*outputs.values())
    program = shortest(outputs, written, frozenset(("linear", "reversible")), 5, frozenset(), 5000)
    assert program.has_restart
    prove(program, outputs, written)


def test_what_does_not_fit_gives_nothing():
    outputs = parse_formula(constituents(4))
    assert shortest(outputs, operations(*outputs.values()), frozenset(), 3, frozenset(), 5000) is None
    assert shortest(outputs, operations(*outputs.values()), frozenset(), 8, frozenset(), 50) is None


def test_ten_thousand_multiply_adds_take_a_cycle_each():
    size = 100
    lines = [
        f"let h{n} = relu(" + " + ".join(f"{n * size + m + 2}*x{m}" for m in range(size)) + ")" for n in range(size)
    ]
    outputs = parse_formula("\n".join([*lines, "y = " + " + ".join(f"{n + 2}*h{n}" for n in range(size))]))
    program = shortest(outputs, operations(*outputs.values()), frozenset(), 1024, frozenset(), 10**6)
    assert program.words == size * (size + 1) + size
    assert program.width == 3


def test_forms_that_are_made_of_others_are_not_built_anew():
    """A shift register with feedback: an input, and two of the values before, for each bit; all of them are forms."""
    state = variables("a b c d")
    bits = variables(" ".join(f"x{n}" for n in range(40)))
    for bit in bits:
        back = state[3] + bit
        state = [back, state[0], state[1] + back, state[2]]
    outputs = {f"y{n}": part for n, part in enumerate(state)}
    written = Goal("clean", 16, True, frozenset(), (), inputs=tuple(f"x{n}" for n in range(40))).operations(outputs)
    program = shortest(outputs, written, frozenset(), 16, frozenset(), 10**6)
    assert program.words == 4 + 2 * 40
    assert program.width <= 7
    prove(program, outputs, written)


def test_a_network_that_does_not_fit_is_given_up_soon(monkeypatch):
    """Instructions are written for a few times its cycles in each of four orders, and not twenty times."""
    count = Counter()
    execute = Registers.execute
    monkeypatch.setattr(Registers, "execute", lambda *args: (count.update("x"), execute(*args))[1])
    size = 100
    layer = [f"x{n}" for n in range(size)]
    lines = []
    for depth in "abc":
        lines += [
            f"let {depth}{n} = relu(" + " + ".join(f"{n + m + 2}*{x}" for m, x in enumerate(layer)) + ")"
            for n in range(size)
        ]
        layer = [f"{depth}{n}" for n in range(size)]
    outputs = parse_formula("\n".join([*lines, "y = " + " + ".join(layer)]))
    assert shortest(outputs, operations(*outputs.values()), frozenset(), 8, frozenset(), 10**9) is None
    assert 0 < count["x"] < 20 * 3 * size**2


def test_a_long_form_is_built_once_for_its_square_whatever_it_is_multiplied_with():
    """``5*f^2``: eight terms of ``f``, two applies that take it from the accumulator, a term for the square."""
    one, other = (" + ".join(f"{n + start}*x{n}" for n in range(8)) for start in (2, 11))
    outputs = parse_formula(f"x0 + 5*({one})^2 - 3*({other})^2")
    written = operations(*outputs.values())
    program = shortest(outputs, written, frozenset(), 16, frozenset(), 5000)
    prove(program, outputs, written)
    assert program.words == (8 + 2) + (8 + 2) + 3
