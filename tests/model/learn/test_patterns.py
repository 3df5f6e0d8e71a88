"""Searched patterns: gradients without stored activations, budgets, and programs of deep targets."""

from fractions import Fraction

import numpy as np
import pytest
from skinny.model.bounds.bounds import bound
from skinny.model.learn.patterns import COUNT, STEPS, Grown, Patterns, program_of, random_patterns, search
from skinny.model.program.units import Units, scaled
from skinny.model.rings import parse_ring
from skinny.model.run.golden import run


def small(inputs=2):
    """Two patterns of four steps whose numbers are few quarters."""
    rng = np.random.default_rng(3)
    dst, src = np.array([[2, 0, 1, 0], [0, 2, 0, 1]]), np.array([[1, 2, 0, 1], [1, 0, 2, 0]])
    forms = rng.choice([-3, -2, -1, 1, 2, 5], (2, 4, inputs + 1)) / 4
    return Patterns(dst, src, forms, np.ones(forms.shape, bool))


def test_gradients_are_exact_differences():
    """Each weight stands in one step, so that the output is linear in it: a difference is exactly the derivative."""
    models = small()
    rows = np.array([[0.5, -0.25, 1], [1, 2, 1], [-1.5, 0.75, 1]])
    errors = np.array([[1, -0.5, 2], [0.25, 1, -1]])
    scalars, registers = models.run(rows)
    outputs = registers[:, 0].copy()
    gradient, squares = models.backwards(rows, scalars, registers, errors)
    np.testing.assert_allclose(registers, np.broadcast_to([[[0], [1], [0]]], registers.shape), atol=1e-12)
    for place in np.ndindex(models.forms.shape):
        moved = models.part(np.arange(2))
        moved.forms[place] += 1
        slopes = (moved.run(rows)[1][:, 0] - outputs)[place[0]] * errors[place[0]]
        assert gradient[place] == pytest.approx(slopes.mean(), abs=1e-12)
        assert squares[place] == pytest.approx((slopes * slopes).mean(), abs=1e-12)


def test_random_patterns_read_what_was_written():
    models = random_patterns(4, np.random.default_rng(0))
    assert models.forms.shape == (COUNT, STEPS, 5)
    assert (models.dst != models.src).all()
    assert (models.src[:, 0] == 1).all()
    assert len({tuple(row) for row in (3 * models.dst + models.src).tolist()}) > COUNT // 2
    outputs = models.run(np.array([[0.3, 0.2, -0.5, 0.7, 1]]))[1][:, 0]
    assert (outputs != 0).all()


def deep(rows):
    a, b, c, d = rows.T
    return 30 * ((a + b * c) * d + 0.5)


def test_a_deep_target_becomes_a_small_pure_program():
    rng = np.random.default_rng(1)
    rows, new = rng.uniform(-1, 1, (800, 4)), rng.uniform(-1, 1, (200, 4))
    found = search(rows, deep(rows), "numbers", [40, 25], 0, 0.25)
    assert [entry.budget for entry in found] == [40, 25]
    ring = parse_ring("fixed:16.14")
    box = [(Fraction(-1), Fraction(1))] * 4
    for entry in found:
        program = program_of(entry, ring, box, "abcd", "")
        assert program.words + program.emits == entry.cycles <= entry.budget
        assert program.pure
        assert program.width == 3
        sides = zip(box, program.input_scales, strict=True)
        chosen = parse_ring(program.ring)
        assert bound(program, chosen, [(scaled(low, -e), scaled(high, -e)) for (low, high), e in sides]).safe
        units = Units(program, chosen)
        sent = run(program, chosen, units.encode_columns(list(new.T), len(new), float, str).elements).outputs
        fixed = np.array(units.decode_columns(sent)["y"])
        np.testing.assert_allclose(fixed, entry.values(new)[:, 0], atol=0.5)
        assert 1 - ((fixed - deep(new)) ** 2).sum() / ((deep(new) - deep(new).mean()) ** 2).sum() > 0.9


def test_signs_are_searched_too():
    rng = np.random.default_rng(2)
    rows = rng.uniform(-1, 1, (600, 3))
    (found,) = search(rows, (rows.prod(axis=1) > 0).astype(int), "sign", [30], 0, 0.1)
    assert found.score > 0.8
    again = search(rows, (rows.prod(axis=1) > 0).astype(int), "sign", [30], 0, 0.1)[0]
    assert isinstance(again, Grown)
    assert again.model.forms.tobytes() == found.model.forms.tobytes()
