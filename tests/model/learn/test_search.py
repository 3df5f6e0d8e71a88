"""Searched patterns: budgets, and programs of deep targets."""

from fractions import Fraction

import numpy as np
from skinny.model.bounds.bounds import bound
from skinny.model.learn.search import Searched, program_of, search
from skinny.model.program.units import Units, scaled
from skinny.model.rings import parse_ring
from skinny.model.run.golden import run


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
    assert isinstance(again, Searched)
    assert again.model.forms.tobytes() == found.model.forms.tobytes()
