"""Schedule: the same program in fewer cycles, never in more."""

from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations, permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from skinny.model.compiler.code import NOTHING, Affine, Code, Row, Scalars, affine_scalar, is_simple
from skinny.model.compiler.lower import lower
from skinny.model.compiler.passes.schedule import schedule
from skinny.model.compiler.pipeline import compile_formula
from skinny.model.compiler.polynomial import Table
from skinny.model.formula.parse import parse_formula
from skinny.model.program.program import Columns, Program
from skinny.model.rings import Exact, FixedPoint, Ring
from skinny.model.run.golden import run

#: Plain scalars, and forms that are near each other, far from each other, and sums of others.
SCALARS = [
    Affine(((0, 1),)),
    Affine(((1, 1),)),
    Affine((), Fraction(3, 4)),
    Affine(((0, 2), (1, 3))),
    Affine(((0, 2), (1, 3)), 5),
    Affine(((1, 3), (2, 1))),
    Affine(((0, 2), (1, 6), (2, 1))),
    Affine(((2, Fraction(1, 2)),)),
    Affine(((0, 2), (1, 3), (2, 1)), 5),
    Affine(((0, 2), (1, 3), (2, Fraction(1, 2)))),
]


def instructions(width: int, scalars: int = len(SCALARS)) -> st.SearchStrategy[Row]:
    """``(dst, src, sign, scalar)``"""
    pairs = [(dst, src) for dst in range(width) for src in range(width) if dst != src]
    return st.tuples(st.sampled_from(pairs), st.sampled_from([1, -1]), st.integers(0, scalars - 1)).map(
        lambda drawn: (*drawn[0], drawn[1], drawn[2])
    )


@st.composite
def codes(draw: st.DrawFn, width: int = 3, longest: int = 12) -> list[Row]:
    """Instructions, some of them between others and the reverse of these: registers are restored."""
    code: list[Row] = []
    for _ in range(draw(st.integers(1, 4))):
        inner = draw(st.lists(instructions(width), max_size=longest // 4))
        outer = draw(st.lists(instructions(width), max_size=longest // 6))
        code += outer + inner
        if draw(st.booleans()):
            code += [(dst, src, -sign, scalar) for dst, src, sign, scalar in reversed(outer)]
    return code


def code_of(rows: list[Row], width: int, scalars: Scalars | None = None) -> Code:
    """Instructions whose scalars are positions in SCALARS, or in a table that begins with them."""
    return Code(Columns.empty(), scalars or Scalars(SCALARS), tuple(range(1, width + 1))).with_rows(rows)


def program_of(code: Code) -> Program:
    return lower({"y": code}, Table("abc"), "clean", frozenset())


def scheduled(rows: list[Row], width: int) -> tuple[Program, Program, list[Row], list[Row]]:
    """The program before and after, and both as rows."""
    before = code_of(rows, width)
    after = schedule(before)
    return program_of(before), program_of(after), list(before.rows()), list(after.rows())


def registers(program: Program, ring: Ring, seed: int = 1) -> list[list[object]]:
    chance = np.random.default_rng(seed)
    whole = chance.integers(-99, 100, (4, 3 + program.width))
    elements = ring.encode_all(whole) if isinstance(ring, Exact) else whole
    return run(program, ring, elements[:, :3], elements[:, 3:]).registers.tolist()


@settings(max_examples=50, deadline=None)
@given(st.data(), st.integers(3, 5))
def test_the_same_registers_in_no_more_cycles(data, width):
    one, other, _, _ = scheduled(data.draw(codes(width, 24)), width)
    assert other.words <= one.words
    assert registers(one, Exact()) == registers(other, Exact())


@settings(max_examples=30, deadline=None)
@given(st.data(), st.integers(3, 4))
def test_what_is_scheduled_stays_as_it_is(data, width):
    once = schedule(code_of(data.draw(codes(width, 24)), width))
    assert list(schedule(once).rows()) == list(once.rows())


def test_another_order_gives_the_same_bits():
    chance = np.random.default_rng(3)
    moved = 0
    for _ in range(30):
        # No two between the same registers: nothing merges.
        pairs = chance.permutation([(dst, src) for dst in range(6) for src in range(6) if dst != src])[:14].tolist()
        code = [(dst, src, int(chance.choice([1, -1])), int(chance.integers(2, 7))) for dst, src in pairs]
        one, other, before, after = scheduled(code, 6)
        assert sorted(before) == sorted(after)
        moved += other.words < one.words
        for ring in (FixedPoint(16, 8), FixedPoint(9, 3), FixedPoint(32, 20)):
            assert registers(one, ring) == registers(other, ring)
    assert moved > 10


def test_a_restored_register_is_the_same_in_every_bit():
    # R0 is added to while R1 holds what it held at first: after the second restoring, or before the first change.
    code = [(1, 2, 1, 3), (3, 1, 1, 1), (1, 2, -1, 3), (0, 1, 1, 5), (1, 2, 1, 3), (3, 1, 1, 0), (1, 2, -1, 3)]
    one, other, before, after = scheduled(code, 4)
    assert other.words < one.words
    assert registers(one, FixedPoint(9, 3)) == registers(other, FixedPoint(9, 3))
    assert set(after) <= set(before)


@pytest.mark.parametrize(("one", "other"), [*combinations(range(len(SCALARS)), 2)])
def test_sums_of_other_products_are_other_values(one, other):
    # R1 gets one·R2 + other·R3, then other·R2 + one·R3 is taken away: it is not restored, so R0 is not either.
    change = [(1, 2, 1, one), (1, 3, 1, other), (1, 2, -1, other), (1, 3, -1, one)]
    before, after, _, _ = scheduled([(0, 1, 1, 0), *change, (0, 1, -1, 0)], 4)
    assert registers(before, Exact()) == registers(after, Exact())


def linear_extensions(code: list[Row]) -> Iterator[list[Row]]:
    """Every order in which no two instructions that do not commute change places."""
    for order in permutations(range(len(code))):
        if all(
            order.index(a) < order.index(b)
            for a, b in combinations(range(len(code)), 2)
            if code[a][0] == code[b][1] or code[a][1] == code[b][0]
        ):
            yield [code[i] for i in order]


def with_merges(code: list[Row], scalars: Scalars) -> Iterator[list[Row]]:
    """The code as it is, and with any neighbours between the same registers put together; two that need no
    attention stay apart when their sum does."""
    if not code:
        yield []
        return
    for rest in with_merges(code[1:], scalars):
        yield code[:1] + rest
    if len(code) > 1 and code[0][:2] == code[1][:2]:
        (dst, src, sign, form), (_, _, other_sign, other) = code[:2]
        total = SCALARS[form].scaled(sign).minus(SCALARS[other].scaled(-other_sign))
        if is_simple(SCALARS[form]) and is_simple(SCALARS[other]) and total != NOTHING and not is_simple(total):
            return
        merged = []
        if total != NOTHING:
            sign, scalar = affine_scalar(total)
            merged = [(dst, src, sign, scalars.number(scalar))]
        for rest in with_merges(code[2:], scalars):
            yield merged + rest


@settings(max_examples=60, deadline=None)
@given(st.lists(instructions(3), min_size=2, max_size=5) | st.lists(instructions(4), min_size=2, max_size=5))
def test_no_order_of_a_few_instructions_is_cheaper(code):
    width = 1 + max(max(dst, src) for dst, src, _, _ in code)
    scalars = Scalars(SCALARS)
    cheapest = min(
        program_of(code_of(rows, width, scalars)).words
        for order in linear_extensions(code)
        for rows in with_merges(order, scalars)
    )
    assert scheduled(code, width)[1].words <= cheapest


@pytest.mark.parametrize(
    ("code", "cycles"),
    [
        # a, another form, a again: 2 + 2 steps of attention instead of 2 + 2 + 2.
        ([(0, 1, 1, 3), (3, 1, 1, 5), (2, 1, 1, 3)], 3 + 2 + 2),
        # Forms that add up to one that is cheaper than both, and that cancel to a single constant.
        ([(0, 1, 1, 3), (2, 1, 1, 0), (0, 1, -1, 4)], 1 + 1),
        # The source was changed and restored in between.
        ([(0, 1, 1, 0), (1, 2, 1, 3), (3, 1, 1, 1), (1, 2, -1, 3), (0, 1, -1, 0)], 3 + 2),
        # Read in between: nothing can go.
        ([(0, 1, 1, 0), (2, 0, 1, 1), (0, 1, -1, 0)], 3),
    ],
)
def test_gains(code, cycles):
    one, other, _, _ = scheduled(code, 4)
    assert other.words == cycles <= one.words
    assert registers(one, Exact()) == registers(other, Exact())


@pytest.mark.parametrize(("name", "value"), [("CHUNK", 5), ("BUDGET", 7), ("WIDEST", 2), ("REACH", 2)])
def test_small_limits_keep_the_program_and_never_cost(monkeypatch, name, value):
    monkeypatch.setattr(f"skinny.model.compiler.passes.schedule.{name}", value)
    monkeypatch.setattr("skinny.model.compiler.passes.schedule.NARROWEST", 1)
    chance = np.random.default_rng(5)
    gained = 0
    for _ in range(25):
        dst = chance.integers(0, 3, 25)
        src = (dst + chance.integers(1, 3, 25)) % 3
        columns = dst, src, chance.choice([-1, 1], 25), chance.integers(0, len(SCALARS), 25)
        one, other, _, _ = scheduled(list(zip(*(column.tolist() for column in columns), strict=True)), 3)
        assert other.words <= one.words
        gained += other.words < one.words
        assert registers(one, Exact()) == registers(other, Exact())
    assert gained or name == "BUDGET"


def test_the_form_that_follows_a_chunk_counts(monkeypatch):
    # The other order of the first two would take 3 + 3 steps instead of 4 + 3, but the form must then be built again.
    monkeypatch.setattr("skinny.model.compiler.passes.schedule.CHUNK", 2)
    one, other, _, _ = scheduled([(0, 1, 1, 8), (2, 1, 1, 9), (0, 3, 1, 9)], 4)
    assert other.words == one.words == 3 + 4 + 3


def test_a_program_of_a_million_instructions_is_left_when_the_budget_is_spent(monkeypatch):
    monkeypatch.setattr("skinny.model.compiler.passes.schedule.BUDGET", 1_000)
    rows = [(0, 1, 1, 0), (1, 2, -1, 3), (2, 0, 1, 5), (1, 0, 1, 4)] * 250_000
    assert list(schedule(code_of(rows, 3)).rows())[-990_000:] == rows[-990_000:]


@pytest.mark.parametrize(("contract", "before"), [("clean", "prune"), ("in-place", "peephole")])
def test_the_compiler_names_the_gain(contract, before):
    text = " + ".join("*".join(chosen) for chosen in combinations([f"x{n}" for n in range(8)], 4))
    steps = {name: cycles for name, _, cycles in compile_formula(parse_formula(text), contract=contract).steps}
    assert steps["schedule"] < steps[before]
