"""Modular integers: words that wrap."""

import numpy as np
import pytest
from skinny.model.rings import Modular


def test_the_largest_products_are_right():
    top = -(1 << 63)
    packed = Modular(64).pack(np.array([top, top + 1, -1, 0x7FFF_FFFF_FFFF_FFFF]))
    assert Modular(64).unpack(Modular(64).mul(packed, packed), 4).tolist() == [0, 1, 1, 1]


@pytest.mark.parametrize(("bits", "octets"), [(1, 1), (8, 1), (9, 2), (16, 2), (17, 4), (32, 4), (33, 8), (64, 8)])
def test_packed_words_are_the_narrowest_that_wrap(bits, octets):
    ring = Modular(bits)
    assert ring.packed_dtype == np.dtype(f"u{octets}")
    least = np.array([ring.embed(1 << (bits - 1))])
    assert ring.unpack(ring.sub(ring.pack(least), ring.pack(np.array([ring.embed(1)]))), 1)[0] == ring.embed(
        (1 << (bits - 1)) - 1
    )
