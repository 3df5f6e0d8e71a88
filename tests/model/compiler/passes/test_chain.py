"""Chains in place: Horner's rule over single variables, shorter than by rebalancing."""

import random
import sys
from fractions import Fraction

import numpy as np
import pytest
from skinny.model.compiler.chain_plan import LONGEST
from skinny.model.compiler.lower import lower
from skinny.model.compiler.normalise import normalise
from skinny.model.compiler.passes.chain import chain
from skinny.model.compiler.pipeline import compile_formula
from skinny.model.formula.formula import Formula, operations, variables
from skinny.model.formula.parse import parse_formula
from skinny.model.program.program import Program
from skinny.model.rings import Exact
from skinny.model.run.golden import run


def horner(names: list[str], constants: list[int], signs: list[int]) -> Formula:
    """``f = x_0``, then ``f = ±f·x_i + c_i``."""
    leaves = variables(" ".join(names))
    out = leaves[0]
    for leaf, constant, sign in zip(leaves[1:], constants, signs, strict=True):
        out = out * leaf * sign + constant
    return out


def ref_horner(values: list[Fraction], constants: list[int], signs: list[int]) -> Fraction:
    out = values[0]
    for value, constant, sign in zip(values[1:], constants, signs, strict=True):
        out = out * value * sign + constant
    return out


def ones(n: int) -> Formula:
    return horner([f"x{m}" for m in range(n)], [1] * (n - 1), [1] * (n - 1))


def chain_program(formula: Formula) -> Program | None:
    """The program of a formula by this pass alone."""
    table, polynomials = normalise({"y": formula}, operations(formula))
    code = chain(table, polynomials["y"], (0, 1, 0))
    return None if code is None else lower({"y": code}, table, "in-place", frozenset())


def random_fractions(chance: random.Random, count: int) -> list[Fraction]:
    return [Fraction(chance.randint(-9, 9), chance.randint(1, 5)) for _ in range(count)]


def assert_in_place(program: Program, names: list[str], constants: list[int], signs: list[int], seed: int) -> None:
    chance = random.Random(seed)
    values = dict(zip(program.inputs, random_fractions(chance, len(program.inputs)), strict=True))
    before = random_fractions(chance, program.width)
    inputs = np.array([[values[name] for name in program.inputs]], dtype=object)
    after = run(program, Exact(), inputs, np.array([before], dtype=object)).registers[0].tolist()
    added = ref_horner([values[name] for name in names], constants, signs) * before[1]
    assert after == [before[0] + added, *before[1:]]


def random_chain(n: int, seed: int, different: int) -> tuple[list[str], list[int], list[int]]:
    chance = random.Random(seed)
    names = [f"x{m if different >= n else chance.randrange(different)}" for m in range(n)]
    constants = [chance.choice([-1, 0, 1]) for _ in range(n - 2)] + [chance.choice([-1, 1])]
    return names, constants, [chance.choice([-1, 1]) for _ in range(n - 1)]


@pytest.mark.parametrize("n", range(3, 13))
@pytest.mark.parametrize("different", [2, 99])
def test_random_chain_adds_to_one_register_and_restores_the_others(n, different):
    for seed in range(8):
        case = random_chain(n, seed, different)
        program = chain_program(horner(*case))
        assert program is not None
        assert_in_place(program, *case, seed)


@pytest.mark.parametrize("n", [20, 41, 85])
def test_chain_that_is_cut_in_windows_is_right_too(n):
    case = random_chain(n, n, different=9)
    program = chain_program(horner(*case))
    assert program is not None
    assert_in_place(program, *case, n)
    case = ([f"x{m}" for m in range(n)], [1, -1] * (n // 2) if n % 2 else [1] * (n - 1), [1] * (n - 1))
    program = chain_program(horner(*case))
    assert program is not None
    assert_in_place(program, *case, n)


def ref_cut_length(n: int) -> int:
    """The contracts' length in place of the chain of ``n`` variables, cut as ``A·v + B`` at the best places."""
    product = [(1, 1)] * 2
    for count in range(2, n + 1):
        product.append(
            (
                min(2 * product[k][1] + 2 * product[count - k][1] for k in range(1, count)),
                min(2 * product[k][1] + product[count - k][0] for k in range(1, count)),
            )
        )

    def grown(chain, above, bare):
        """One level more: ``A`` takes ``k`` of them, all with the bare product."""
        levels = len(chain)
        ways_p = [above[levels - 1][0] + bare[0]]
        ways_r = [above[levels - 1][1] + bare[1]]
        for k in range(1, levels):
            (a_p, a_r), (v_p, v_r), (b_p, b_r) = product[k], chain[levels - k], above[k - 1]
            ways_p.append(2 * a_r + 2 * v_r + b_p)
            ways_r.append(min(2 * a_r + v_p, 2 * v_r + a_p) + b_r)
        return min(ways_p), min(ways_r)

    ends_in_one, ends_in_variable = [(1, 1)], [(1, 1)]
    for levels in range(1, n):
        ends_in_variable.append(grown(ends_in_variable, ends_in_one, product[levels + 1]))
        ends_in_one.append(grown(ends_in_one, ends_in_one, product[levels]))
    return ends_in_variable[n - 1][0]


@pytest.mark.parametrize("n", [4, 11, 32, 64, 100])
def test_rebalancing_cuts_as_the_contracts_say(n):
    options = {"attention": False, "without": {"chain", "schedule", "peephole"}}
    assert len(compile_formula({"y": ones(n)}, contract="in-place", **options).program) <= ref_cut_length(n)


@pytest.mark.parametrize("n", [16, 64, 128])
def test_clean_chains_are_cut_in_their_own_way(n):
    assert len(compile_formula({"y": ones(n)}).program) <= 0.6 * ref_cut_length(n)


@pytest.mark.parametrize(("n", "width"), [(16, 5), (64, 3)])
def test_compiler_takes_the_chain_where_it_is_shorter(n, width):
    compiled = compile_formula({"y": ones(n)}, contract="in-place", width=width)
    without = compile_formula({"y": ones(n)}, contract="in-place", width=width, without={"chain"})
    assert len(compiled.program) < 0.85 * len(without.program)
    assert "chain" in [step for step, _, _ in compiled.steps]
    assert_in_place(compiled.program, [f"x{m}" for m in range(n)], [1] * (n - 1), [1] * (n - 1), width)


@pytest.mark.parametrize(("n", "most"), [(8, 42), (16, 138), (32, 460), (64, 1578)])
def test_chain_of_ones_is_as_short_as_the_research_found(n, most):
    program = chain_program(ones(n))
    assert program is not None
    assert len(program) <= most


@pytest.mark.parametrize(
    "text",
    [
        "a*(b*c + 1) - 1",
        "1 - a*(1 - b*(1 - c))",
        "a*b*(c*d*e^3*(f + 1) - 1)",
        "a*(a*(a + 1) + 1) + 1",
        "-a*(b*(-c - 1) + 1)",
        "a + 1",
    ],
)
def test_chain_is_recognised_in_other_spellings(text):
    (formula,) = parse_formula(text).values()
    program = chain_program(formula)
    assert program is not None
    compile_formula({"y": formula}, contract="in-place")
    chance = random.Random(text)
    values = dict(zip(program.inputs, random_fractions(chance, len(program.inputs)), strict=True))
    expected = eval(text.replace("^", "**"), {}, dict(values))
    inputs = np.array([[values[name] for name in program.inputs]], dtype=object)
    assert run(program, Exact(), inputs).registers[0].tolist() == [expected, 1, 0]


@pytest.mark.parametrize(
    "text",
    [
        "a*(b*c + 2) + 1",
        "2*a*(b*c + 1) + 1",
        "a*(b*c + 1/2) + 1",
        "a*(b*c + d) + 1",
        "a*(b + c) + 1",
        "(a + b)*(c*d + 1) + 1",
        "(a*b + 1)*(c*d + 1)",
        "(a*b + 1)^2",
        "a*b*c*d",
        "a",
        "3",
        "a*(b + 1) + b*(c + 1)",
        f"a^{LONGEST}*(b + 1) + 1",
        f"a^{LONGEST}*b + 1",
    ],
)
def test_what_is_no_chain_gives_none(text):
    (formula,) = parse_formula(text).values()
    assert chain_program(formula) is None


def test_long_chain_without_a_pattern_is_left_to_others():
    assert chain_program(horner(*random_chain(200, 1, different=999))) is None
    periodic = ([f"x{m}" for m in range(200)], [(1, 0, -1)[m % 3] for m in range(199)], [1] * 199)
    program = chain_program(horner(*periodic))
    assert program is not None
    assert_in_place(program, *periodic, 1)


def test_longest_chain_needs_little_recursion():
    formula = ones(LONGEST)
    table, polynomials = normalise({"y": formula}, operations(formula))
    frames, frame = 0, sys._getframe()
    while frame is not None:
        frames, frame = frames + 1, frame.f_back
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(frames + 300)
    try:
        assert chain(table, polynomials["y"], (0, 1, 0)) is not None
    finally:
        sys.setrecursionlimit(limit)


def test_chain_beyond_the_longest_is_left_to_others():
    assert chain_program(ones(LONGEST + 1)) is None
