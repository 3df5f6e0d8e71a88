"""Compiled programs become loops of few words, which compute what numpy does."""

import warnings
from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from skinny.model.machine.assemble import fit_image
from skinny.model.machine.isa import Op
from skinny.model.machine.repeat import loop_words
from skinny.model.rings import Boolean, FixedPoint, parse_ring
from skinny.scripts.bench.loops import ROWS, compiled, low_pass, rolled
from skinny.scripts.bench.networks import layers
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier

BY_NAME = {row.name: row for row in ROWS}


class Numbers:
    """The arithmetic of a ring on hardware words as numpy's integers."""

    def __init__(self, ring):
        self.ring = ring
        self.frac = ring.frac if isinstance(ring, FixedPoint) else 0

    def wrap(self, values):
        if isinstance(self.ring, Boolean):
            return values & 0xFFFFFFFF
        half = 1 << self.ring.bits - 1
        return (values + half) % (2 * half) - half

    def add(self, a, b):
        return a ^ b if isinstance(self.ring, Boolean) else self.wrap(a + b)

    def times(self, a, b):
        if isinstance(self.ring, Boolean):
            return a & b
        return self.wrap((a * b + (1 << self.frac >> 1)) >> self.frac)

    def total(self, products):
        """The sum over the last axis, products rounded one by one."""
        return self.wrap(products.sum(axis=-1))

    def word(self, value):
        """A number as the nearest word, half up."""
        return np.floor(np.asarray(value) * 2.0**self.frac + 0.5).astype(np.int64)


def interpreted(image, rows):
    """The results of the words that a run issues, one after the other, for each row of inputs."""
    config, numbers = image.config, Numbers(image.config.ring)
    weights = numbers.wrap(image.weights.astype(np.int64))
    registers = np.zeros((config.width + 1, len(rows)), dtype=np.int64)
    one = -1 & 0xFFFFFFFF if isinstance(config.ring, Boolean) else 1 << numbers.frac
    registers[1] = one
    held = np.zeros(len(rows), dtype=np.int64)
    results = []
    for f in zip(*(column.tolist() for column in config.decode(image.issued).values()), strict=True):
        word = dict(zip(config.fields, f, strict=True))
        op = word["op"]
        if op == Op.NONE:
            continue
        if op == Op.EMIT:
            results.append(registers[word["dst"]].copy())
            continue
        if op == Op.BIAS:
            value = np.full(len(rows), weights[word["k"]])
        elif op == Op.ATTEND:
            value = numbers.times(weights[word["k"]], rows[:, word["u"]])
        else:
            scalar = held
            if op != Op.APPLY_S:
                scalar = rows[:, word["u"]] if op == Op.APPLY_X else weights[word["k"]]
            value = numbers.times(scalar, registers[word["src"]])
        value = numbers.wrap(-value) if word["neg"] and not isinstance(config.ring, Boolean) else value
        onto_sum = op in (Op.ATTEND, Op.BIAS) or (op != Op.APPLY_S and word["dst"] == config.accumulator)
        if not word["flag"]:
            value = numbers.add(held if onto_sum else registers[word["dst"]], value)
        if onto_sum:
            held = value
        else:
            registers[word["dst"]] = np.maximum(value, 0) if word.get("relu") else value
    return np.stack(results, axis=1)


@cache
def fitted(kind):
    """The weights and constants of the layers of a model of scikit-learn's digits."""
    x, y = load_digits(return_X_y=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if kind == "linear":
            model = LogisticRegression(max_iter=20).fit(x / 16, y)
            return [(model.coef_, model.intercept_)]
        model = MLPClassifier(tuple(map(int, kind.split("-"))), max_iter=20, random_state=0).fit(x / 16, y)
    return [(weights.T, bias) for weights, bias in zip(model.coefs_, model.intercepts_, strict=True)]


def integer_layers(sizes):
    return [(np.array(layer)[:, :-1], np.array(layer)[:, -1]) for layer in layers(sizes)]


def network_of(found, numbers, rows, last):
    for depth, (weights, bias) in enumerate(found):
        w, b = numbers.word(weights), numbers.word(bias)
        rows = numbers.wrap(numbers.total(numbers.times(w[None], rows[:, None, :])) + b)
        if last or depth + 1 < len(found):
            rows = np.maximum(rows, 0)
    return rows


def convolved(numbers, rows):
    images = rows.reshape(-1, 8, 8)
    out = []
    for *kernel, bias in layers((9, 4))[0]:
        for row in range(6):
            for column in range(6):
                window = images[:, row : row + 3, column : column + 3].reshape(-1, 9)
                out.append(np.maximum(numbers.wrap(window @ np.array(kernel) + bias), 0))
    return np.stack(out, axis=1)


def remainder(rows):
    """Bit by bit, with a shift register as a number."""
    state = np.full(len(rows), 0xFFFF)
    for bit in rows.T:
        back = (state >> 15 ^ bit) & 1
        state = (state << 1 & 0xFFFF) ^ 0x1021 * back
    return state[:, None] >> np.arange(16) & 1


def product_of(numbers, rows):
    out = rows[:, 0]
    for factor in rows.T[1:]:
        out = numbers.times(out, factor)
    return out[:, None]


EXPECTED = {
    "parity of 1,000 bits": lambda n, x: np.bitwise_xor.reduce(x, axis=1)[:, None],
    "FIR-64": lambda n, x: n.total(n.times(n.word(low_pass(64)), x))[:, None],
    "product of 256": product_of,
    "matrix 32x32": lambda n, x: network_of(integer_layers((32, 32)), n, x, last=False),
    "dense 64-16 with relu": lambda n, x: network_of(integer_layers((64, 16)), n, x, last=True),
    "digits, linear 64-10": lambda n, x: network_of(fitted("linear"), n, x, last=False),
    "digits, 64-16-10": lambda n, x: network_of(fitted("16"), n, x, last=False),
    "digits, 64-32-16-10": lambda n, x: network_of(fitted("32-16"), n, x, last=False),
    "16-64-32-32-5": lambda n, x: network_of(integer_layers((16, 64, 32, 32, 5)), n, x, last=False),
    "64-16-8-16-64": lambda n, x: network_of(integer_layers((64, 16, 8, 16, 64)), n, x, last=False),
    "3x3 conv, 8x8 to 6x6x4": convolved,
    "CRC-16 of 1,024 bits": lambda n, x: remainder(x & 1),
}


@cache
def made(name):
    row = BY_NAME[name]
    program = compiled(row)
    return program, rolled(row, program)


@pytest.mark.parametrize("name", EXPECTED)
def test_it_takes_at_most_so_many_words(name):
    _, image = made(name)
    assert len(image) <= BY_NAME[name].target


@pytest.mark.parametrize("name", EXPECTED)
def test_a_run_issues_the_flat_words_and_those_that_make_loops(name):
    program, image = made(name)
    assert image.steps == program.words + program.emits + int(loop_words(image.config, image.issued).sum())


@pytest.mark.parametrize("name", EXPECTED)
def test_the_loops_compute_what_numpy_does(name):
    program, image = made(name)
    numbers = Numbers(image.config.ring)
    read = [int(text[1:]) for text in program.inputs]
    size = 64 if name.startswith("digits") else max(read) + 1
    if isinstance(image.config.ring, FixedPoint):
        rows = np.random.default_rng(1).integers(0, 1 << numbers.frac, (5, size))
    else:
        rows = np.random.default_rng(1).integers(-9, 10, (5, size))
    if isinstance(image.config.ring, Boolean):
        rows &= 1
    if name.startswith("digits"):
        # Constant columns of a fit say nothing about other values.
        rows[:, sorted(set(range(64)) - set(read))] = 0
    found = interpreted(image, rows[:, read])
    expected = EXPECTED[name](numbers, rows)
    assert (found & 1 == expected).all() if isinstance(image.config.ring, Boolean) else (found == expected).all()


def test_a_flat_program_is_not_longer_for_its_loops():
    """A word for each term, constant, apply and result; what is read cannot be computed in fewer."""
    for name, sizes in (("16-64-32-32-5", (16, 64, 32, 32, 5)), ("64-16-8-16-64", (64, 16, 8, 16, 64))):
        program, _ = made(name)
        terms = sum(a * b for a, b in pairwise(sizes))
        least = terms + sum(sizes[1:]) + sum(sizes[1:-1]) + sizes[-1]
        assert program.words + program.emits == least <= 1.1 * terms


def test_a_program_that_fits_flat_keeps_a_weight_once():
    row = BY_NAME["3x3 conv, 8x8 to 6x6x4"]
    program, image = made(row.name)
    flat = fit_image(program, parse_ring(row.ring))
    assert not flat.rolled
    assert len(flat.weights) == len(set(flat.weights.tolist())) <= len(image.weights)
