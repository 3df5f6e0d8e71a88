"""The names of rings."""

import pytest
from skinny.model.errors import InputError
from skinny.model.rings import Boolean, Exact, FixedPoint, Modular, PrimeField, Real, parse_ring


@pytest.mark.parametrize(
    ("text", "ring"),
    [
        ("modular:16", Modular(16)),
        ("fixed:16.8", FixedPoint(16, 8)),
        ("prime:8191", PrimeField(8191)),
        ("boolean", Boolean()),
        ("exact", Exact()),
        ("real", Real()),
    ],
)
def test_a_ring_is_read_from_its_name(text, ring):
    assert parse_ring(text) == ring
    assert ring.name == text


UNKNOWN = "expected modular:BITS, fixed:BITS.FRAC, prime:P, boolean, exact or real"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("modular:0", "the bits of a modular ring must be 1 to 64, not 0"),
        ("modular:65", "the bits of a modular ring must be 1 to 64, not 65"),
        ("fixed:1.0", "the bits of a fixed-point format must be 2 to 32, not 1"),
        ("fixed:33.8", "the bits of a fixed-point format must be 2 to 32, not 33"),
        ("fixed:8.8", "the fraction bits must be 0 to 7, not 8"),
        ("prime:1", "the prime must be 2 to 2147483647, not 1"),
        ("prime:2147483648", "the prime must be 2 to 2147483647, not 2147483648"),
        ("prime:8189", "8189 is not a prime"),
        *(
            (text, f"unknown ring {text!r}: {UNKNOWN}")
            for text in ("", "modular", "modular:-3", "modular:²", "fixed:16", "prime:3.5", "boolean:1", "float")
        ),
    ],
)
def test_an_unusable_ring_is_refused(text, message):
    with pytest.raises(InputError) as caught:
        parse_ring(text)
    assert str(caught.value) == message
