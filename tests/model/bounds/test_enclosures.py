"""Enclosures against exact evaluation in fractions at random points."""

import random
from fractions import Fraction
from math import prod

import pytest
from skinny.model.bounds import enclosures
from skinny.model.bounds.enclosures import Algebra, Enclosure


def random_terms(rng, algebra, variables, noises, count):
    """Random terms, and for each key what it stands for: its noise (0: none) and the variables of its monomial."""
    terms, meaning = {}, {}
    for _ in range(count):
        noise = rng.choice([0, *noises])
        factors = [rng.choice(variables) for _ in range(rng.randint(0, 4))]
        grown = {noise: 1.0}
        for variable in factors:
            out = {}
            algebra.add_times(out, grown, 1.0, variable)
            grown = out
        (key,) = grown
        terms[key] = rng.uniform(-2, 2)
        meaning[key] = (noise, factors)
    return terms, meaning


def ref_value(terms, meaning, point):
    total = Fraction(0)
    for key, c in terms.items():
        noise, factors = meaning[key]
        total += Fraction(c) * prod((point[v] for v in factors), start=point[noise] if noise else Fraction(1))
    return total


def random_point(rng, symbols):
    return {symbol: Fraction(rng.choice((-8, 8, rng.randint(-8, 8))), 8) for symbol in symbols}


@pytest.mark.parametrize("pieces", [1, 2, 3, 8])
def test_every_bound_holds(monkeypatch, pieces):
    monkeypatch.setattr(enclosures, "_MOST_PIECES", pieces)
    for seed in range(30):
        rng = random.Random(seed)
        algebra = Algebra()
        variables = [algebra.variable() for _ in range(3)]
        noises = [algebra.noise() for _ in range(3)]
        terms, meaning = random_terms(rng, algebra, variables, noises, rng.randint(0, 12))
        enclosure = algebra.enclosure(terms)
        low, high = enclosure.range()
        size = algebra.joint_size(enclosure)
        assert size <= enclosure.size() * (1 + 1e-9)
        for _ in range(60):
            value = ref_value(terms, meaning, random_point(rng, variables + noises))
            assert low <= value <= high
            assert abs(value) <= size


def test_coefficients_of_one_noise_are_taken_together():
    algebra = Algebra()
    x, n = algebra.variable(), algebra.noise()
    squared: dict[int, float] = {}
    algebra.add_times(squared, {n: 1.0}, 1.0, x)
    algebra.add_times(out := {}, squared, -1.0, x)
    assert algebra.joint_size(algebra.enclosure({n: 1.0, **out})) == pytest.approx(1)


@pytest.mark.parametrize("pieces", [1, 2, 3])
def test_squares_reach_zero_inside_a_cell(monkeypatch, pieces):
    monkeypatch.setattr(enclosures, "_MOST_PIECES", pieces)
    algebra = Algebra()
    x = algebra.variable()
    algebra.add_times(once := {}, {0: 1.0}, 1.0, x)
    algebra.add_times(terms := {0: 2.0}, once, -1.0, x)
    assert algebra.joint_size(algebra.enclosure(terms)) == pytest.approx(2)


def test_noises_are_not_all_largest_at_one_place():
    algebra = Algebra()
    x, n, m = algebra.variable(), algebra.noise(), algebra.noise()
    terms = {n: 1.0, m: 1.0}
    algebra.add_times(terms, {n: 1.0}, 1.0, x)
    algebra.add_times(terms, {m: 1.0}, -1.0, x)
    # (1 + x)·n + (1 - x)·m is at most 2; noise by noise it would be 4.
    assert 2 <= algebra.joint_size(algebra.enclosure(terms)) <= 2.25 + 1e-9


def test_sums_lose_no_more_than_they_say():
    for seed in range(20):
        rng = random.Random(seed)
        algebra = Algebra()
        variables, noises = [algebra.variable() for _ in range(2)], [algebra.noise()]
        total, exact, meaning = Enclosure({}), {}, {}
        for _ in range(60):
            terms, known = random_terms(rng, algebra, variables, noises, 4)
            terms = {key: c * 2.0 ** rng.randint(-30, 30) for key, c in terms.items()}
            meaning |= known
            sign = rng.choice((1, -1))
            total.add(algebra.enclosure(terms), sign, algebra.squares)
            for key, c in terms.items():
                exact[key] = exact.get(key, Fraction(0)) + sign * Fraction(c)
        lost = sum(abs(c - Fraction(total.terms.get(key, 0))) for key, c in exact.items())
        assert lost <= total.slop <= 1e-5
        low, high = total.range()
        for _ in range(30):
            assert low <= ref_value(exact, meaning, random_point(rng, variables + noises)) <= high


def test_what_cancels_is_gone():
    algebra = Algebra()
    x = algebra.variable()
    algebra.add_times(terms := {}, {0: 0.1}, 0.3, x)
    enclosure = algebra.enclosure(terms)
    total = Enclosure({})
    total.add(enclosure, 1, algebra.squares)
    total.add(enclosure, -1, algebra.squares)
    assert total.terms == {}
    assert total.size() < 1e-15


def test_collapsed_encloses():
    algebra = Algebra()
    for low, high in ((-1.0, 3.0), (0.1, 0.3), (2.0, 2.0), (0.0, 0.0)):
        for noise in (False, True):
            least, most = algebra.collapsed(low, high, noise).range()
            assert least <= low <= high <= most
            assert most - least <= (high - low) * (1 + 1e-9) + 1e-12
