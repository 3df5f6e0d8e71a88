"""Inverses in finite fields are found, and made of smaller ones."""

import random

import pytest
from skinny.model.frontends.circuits.inverse import find_inverse, inverse_signals
from skinny.model.frontends.circuits.signals import Signals
from skinny.model.frontends.circuits.synthesis import synthesise


def times(a, b, modulus):
    """The product of polynomials over GF(2), modulo another one."""
    bits = modulus.bit_length() - 1
    out = 0
    for bit in range(bits):
        out ^= (a << bit) * (b >> bit & 1)
    for bit in reversed(range(bits, 2 * bits)):
        out ^= (modulus << bit - bits) * (out >> bit & 1)
    return out


def inverse(x, modulus):
    """By looking at all elements."""
    return next((y for y in range(1 << modulus.bit_length() - 1) if times(x, y, modulus) == 1), 0)


def tables_of(values, count):
    return [sum((value >> bit & 1) << x for x, value in enumerate(values)) for bit in range(count)]


def mapped(rows, x):
    """A matrix of bits times a vector."""
    return sum((bin(row & x).count("1") & 1) << bit for bit, row in enumerate(rows))


AES = [
    0x63 ^ mapped([0b11110001, 0b11100011, 0b11000111, 0b10001111, 0b00011111, 0b00111110, 0b01111100, 0b11111000], y)
    for y in (inverse(x, 0x11B) for x in range(256))
]


def test_the_s_box_of_aes():
    assert (AES[0], AES[1], AES[0x53], AES[0xFF]) == (0x63, 0x7C, 0xED, 0x16)
    found = find_inverse(tables_of(AES, 8), 8)
    assert (found.field.modulus, found.constant) == (0x11B, 0x63)
    signals = Signals()
    inputs = [signals.input(f"x{n}") for n in range(8)]
    made = inverse_signals(signals, found, inputs, synthesise)
    assert signals.truth(made, inputs) == tables_of(AES, 8)
    assert signals.cycles(made) <= 215


@pytest.mark.parametrize(("modulus", "seed"), [(0b1000011, 0), (0b1010111, 1), (0x1F5, 2)])
def test_other_fields_and_maps(modulus, seed):
    count = modulus.bit_length() - 1
    chance = random.Random(seed)
    rows = [chance.randrange(1, 1 << count) for _ in range(count)]
    constant = chance.randrange(1 << count)
    tables = tables_of([mapped(rows, inverse(x, modulus)) ^ constant for x in range(1 << count)], count)
    found = find_inverse(tables, count)
    signals = Signals()
    inputs = [signals.input(f"x{n}") for n in range(count)]
    assert signals.truth(inverse_signals(signals, found, inputs, synthesise), inputs) == tables


def test_other_functions_are_none():
    values = list(range(256))
    random.Random(0).shuffle(values)
    assert find_inverse(tables_of(values, 8), 8) is None
    one_wrong = [AES[1], AES[0], *AES[2:]]
    assert find_inverse(tables_of(one_wrong, 8), 8) is None
    assert find_inverse(tables_of(AES, 8)[:7], 8) is None
    assert find_inverse([0b10, 0b01], 2) is None
