"""Bounds from the structure alone against runs in plain Python integers and fractions."""

import random
from fractions import Fraction

import numpy as np
import pytest
from skinny.model.bounds import structure
from skinny.model.bounds.analysis import Analysis
from skinny.model.bounds.bounds import bound
from skinny.model.bounds.structure import dyadic, follow
from skinny.model.compiler.pipeline import compile_formula
from skinny.model.formula.parse import parse_formula
from skinny.model.program.forms import Input, Weight
from skinny.model.program.program import Output
from skinny.model.rings import FixedPoint


def structure_of(program, ring, box):
    """The bounds of the structure, without those of the other analysis."""
    analysis = Analysis(program, ring, box)
    factors = [analysis.scalars.factor(number) for number in range(len(program.forms))]
    return follow(program, factors, [value * analysis.unit for value in analysis.start], analysis.algebra)


def ref_entries(program, x):
    """The sum of the absolute entries that the errors of rounded products are multiplied with."""
    scalars = [x[form.u] if isinstance(form, Input) else program.weights[form.k] for form in program.forms]
    entries = [int(r == program.outputs[0].register) for r in range(program.width)]
    total = 0
    for dst, src, sign, form in reversed(list(zip(*(c.tolist() for c in program.code.arrays()[:4]), strict=True))):
        total += abs(entries[dst]) * isinstance(program.forms[form], Input)
        entries[src] += sign * scalars[form] * entries[dst]
    return total


def product_program(count, contract):
    return compile_formula(parse_formula("*".join(f"x{n}" for n in range(count))), contract=contract).program


def chain_program(count, contract, constant="1"):
    text = "x0"
    for n in range(1, count):
        text = f"({text})*x{n} + {constant}"
    return compile_formula(parse_formula(text), contract=contract).program


def test_dyadic_numbers_over_one_denominator():
    assert dyadic({0: Fraction(3, 8), 2: Fraction(-1, 2), 5: Fraction(0)}) == ([(0, 3), (2, -4)], 3)
    assert dyadic({1: Fraction(7)}) == ([(1, 7)], 0)


@pytest.mark.parametrize("seed", range(60))
def test_the_structure_is_never_exceeded_by_any_program(reference, seed):
    rng = random.Random(seed)
    program = reference.random_program(rng, rng.randint(1, 30))
    ring = FixedPoint(32, rng.choice((2, 5, 8, 12)))
    box = [sorted(Fraction(rng.randint(-40, 40), 16) for _ in range(2)) for _ in program.inputs]
    found = structure_of(program, ring, box)
    for raw in reference.some_inputs(rng, reference.raw_box(ring, box), 40):
        reference.assert_within(program, found, ring.frac, raw)


@pytest.mark.parametrize("seed", range(6))
def test_the_structure_is_never_exceeded_with_forms(reference, seed):
    rng = random.Random(seed)
    program = reference.attention_program(rng, 4)
    ring = FixedPoint(32, 6 + seed)
    box = [(-1, 1)] * 4
    found = structure_of(program, ring, box)
    assert all(np.isfinite(error) for error in found.errors.values())
    for raw in reference.some_inputs(rng, reference.raw_box(ring, box), 60):
        reference.assert_within(program, found, ring.frac, raw)


def test_a_step_of_each_kind(reference):
    """``k += x·i; j += y·k; k -= x·i``: two roundings reach ``j``, the first one multiplied by ``y``; its other
    occurrence does not, but this analysis knows products by their place only."""
    code = [(2, 1, 1, 0), (0, 2, 1, 1), (2, 1, -1, 0)]
    program = reference.program_of(code, "xy", [], [Input(0), Input(1)])
    found = structure_of(program, FixedPoint(16, 4), [(-2, 2), (-3, 3)])
    ulp = 1 / 16
    assert found.errors["y"] == pytest.approx(ulp / 2 + 3 * ulp / 2)
    assert found.high == pytest.approx([2 + ulp / 2, 6 + 4 * ulp / 2, ulp])
    assert found.low == pytest.approx(-found.high)


def test_errors_made_while_a_copy_is_held(reference):
    """``k += x·i; i += y·j; k -= x·i`` leaves ``x`` times the error of ``i`` in ``k``; once ``k`` is back where it was,
    what is added to it and taken away leaves its own two roundings only, though ``i`` has a greater error then."""
    once = [(2, 1, 1, 0), (1, 0, 1, 1), (2, 1, -1, 0)]
    code = [*once, (1, 0, 1, 1), (2, 1, 1, 0), (2, 1, -1, 0)]
    program = reference.program_of(code, "xy", [], [Input(0), Input(1)], start=(1, 0, 0))
    found = structure_of(program, FixedPoint(16, 4), [(-3, 3), (-1, 1)])
    assert found.high[2] == pytest.approx(3 + (3 + 1) / 32)
    assert found.high[5] == pytest.approx(3 + (3 + 1 + 2) / 32)


def test_errors_made_while_two_copies_are_held(reference):
    """An error that comes to ``i`` while ``k`` holds ``x·i`` and ``j`` lacks ``z·i`` is multiplied by ``x·y + z`` when
    both are undone: the signs of the inverse count."""
    i, j, k, one, x, y, z, v = 1, 0, 2, 3, 0, 1, 2, 3
    before = [(j, k, 1, y), (k, i, 1, x), (j, i, -1, z)]
    code = [*before, (i, one, 1, v), *reference.reversed_block(before)]
    program = reference.program_of(code, "xyzv", [], [Input(u) for u in range(4)], width=4, start=(0, 0, 0, 1))
    found = structure_of(program, FixedPoint(16, 4), [(0, 1)] * 4)
    assert found.high[6] == pytest.approx(2 + (2 + 1 + 1 + 1) / 32)


def test_whole_scalars_are_exact_and_rounded_weights_are_not(reference):
    code = [(2, 1, 1, 0), (0, 2, 1, 1)]
    exact = reference.program_of(code, "x", [Fraction(3)], [Input(0), Weight(0)])
    ring, ulp = FixedPoint(16, 4), 1 / 16
    assert structure_of(exact, ring, [(-1, 1)]).errors["y"] == pytest.approx(3 * ulp / 2)
    rounded = reference.program_of(code, "x", [Fraction(1, 3)], [Input(0), Weight(0)])
    shift = abs(Fraction(5, 16) - Fraction(1, 3))
    found = structure_of(rounded, ring, [(-1, 1)]).errors["y"]
    assert found == pytest.approx(float(ulp / 2 * 5 / 16 + ulp / 2 + shift * (1 + ulp)))


def test_a_restart_begins_anew(reference):
    code = [(0, 1, 1, 0), (0, 1, 1, 0)]
    outputs = (Output("a", 0, 1, restart=True), Output("b", 0, 2))
    program = reference.program_of(code, "x", [], [Input(0)], outputs=outputs)
    found = structure_of(program, FixedPoint(16, 4), [(-1, 1)])
    assert found.high == pytest.approx([1 + 1 / 32] * 2)
    assert found.errors == pytest.approx({"a": 1 / 32, "b": 1 / 32})
    twice = compile_formula(parse_formula("a = s*t*u*v*w*x*y*z; b = s*t*u*v*w*x*y*z")).program
    found = structure_of(twice, FixedPoint(16, 4), [(-1, 1)] * 8)
    assert found.errors["a"] == pytest.approx(found.errors["b"])


@pytest.mark.parametrize("contract", ["clean", "in-place"])
@pytest.mark.parametrize(("make", "count"), [(product_program, 64), (product_program, 96), (chain_program, 48)])
def test_deep_programs_do_not_explode(reference, make, count, contract):
    program = make(count, contract)
    ring = FixedPoint(32, 12)
    box = [(-1, 1)] * count
    found = bound(program, ring, box)
    assert found.safe
    rng = random.Random(0)
    corners = [[rng.choice((-1, 1)) for _ in range(count)] for _ in range(20)]
    worst = max(ref_entries(program, corner) for corner in corners) / 2 / 2**12
    assert found.errors["y"] <= 12 * worst
    for raw in reference.some_inputs(rng, reference.raw_box(ring, box), 3):
        reference.assert_within(program, found, ring.frac, raw)


@pytest.mark.parametrize(("work", "constant", "known"), [(0, "1", False), (15_000, "1", True), (5_000, "1/3", False)])
def test_giving_up_is_sound(reference, monkeypatch, work, constant, known):
    """The error of an output is known from the end backwards all the same, unless it depends on what registers hold."""
    program = chain_program(24, "clean", constant)
    ring, box = FixedPoint(32, 10), [(-1, 1)] * 24
    whole = structure_of(program, ring, box)
    assert np.isfinite(whole.high).all()
    monkeypatch.setattr(structure, "_WORK", work)
    found = structure_of(program, ring, box)
    followed = np.isfinite(found.high)
    assert followed.any() == (work > 0)
    assert not followed[-1]
    assert (found.high[followed] == whole.high[followed]).all()
    assert np.isfinite(found.errors["y"]) == known
    assert found.errors["y"] >= whole.errors["y"] * (1 - 1e-9)
    for raw in reference.some_inputs(random.Random(work), reference.raw_box(ring, box), 20):
        reference.assert_within(program, found, ring.frac, raw)


def test_small_coefficients_are_dropped_soundly(reference):
    """Powers of a tiny input fall below what is kept; the error they leave is that of the rounding."""
    code = [step for _ in range(20) for step in ((2, 1, 1, 0), (1, 2, 1, 0), (2, 1, -1, 0), (0, 2, 1, 0))]
    program = reference.program_of(code, "x", [], [Input(0)])
    ring, box = FixedPoint(32, 24), [(0, Fraction(3, 1 << 24))]
    found = structure_of(program, ring, box)
    assert found.errors["y"] < 1e-4
    for raw in range(4):
        reference.assert_within(program, found, ring.frac, [raw])


def test_wide_words_are_given_up(reference):
    """Entries above 2^64 are outside what the steps of 2^-400 are good for."""
    code = [((t + 1) % 2, t % 2, 1, 0) for t in range(12)]
    program = reference.program_of(code, "x", [], [Input(0)], width=2)
    found = structure_of(program, FixedPoint(32, 0), [(-(2**20), 2**20)])
    assert np.isfinite(found.high[0])
    assert np.isinf(found.high[-1])


def test_errors_without_end_are_given_up(reference):
    """Stepwise, the weight 2/5, which is 0 here, doubles the error again and again; what follows must not be called
    safe for want of a number."""
    once = [(0, 1, 1, 0), (1, 0, 1, 0), (1, 0, -1, 0), (0, 1, -1, 0)]
    code = [*once * 700, (2, 1, 1, 1), (3, 2, 1, 1)]
    program = reference.program_of(
        code, "x", [Fraction(2, 5)], [Weight(0), Input(0)], width=4, outputs=(Output("y", 3, len(code)),)
    )
    ring, box = FixedPoint(16, 0), [(0, 1000)]
    found = structure_of(program, ring, box)
    assert not np.isnan(found.low).any()
    assert not np.isnan(found.high).any()
    reference.assert_within(program, found, 0, [1000])
    assert not bound(program, ring, box).safe


def test_what_is_dropped_must_not_grow_again(reference):
    """From the end backwards, ``y^23`` falls below what is kept, and ``x^30`` would have brought it back."""
    forms = [2, 2, *[0] * 30, *[1] * 23]
    code = [(k + 2, k + 1, 1, form) for k, form in enumerate(forms)]
    outputs = (Output("y", len(code) + 1, len(code)),)
    program = reference.program_of(code, "xyz", [], [Input(u) for u in range(3)], width=len(code) + 2, outputs=outputs)
    found = structure_of(program, FixedPoint(32, 16), [(0, 2**15 - 1), (0, Fraction(1, 1 << 16)), (0, 1)])
    reference.assert_within(program, found, 16, [(2**15 - 1) << 16, 1, 3])


def test_products_beyond_all_floats_are_given_up():
    names = [f"y{n}" for n in range(64)], [f"x{n}" for n in range(128)]
    program = compile_formula(
        parse_formula("; ".join(f"{y} = " + "*".join(x) for y, x in zip("ab", names, strict=True)))
    ).program
    found = bound(program, FixedPoint(32, 8), [(-1, 1) if name[0] == "y" else (-1000, 1000) for name in program.inputs])
    assert not found.safe
    assert found.errors["a"] < 100
    assert np.isinf(found.errors["b"])
