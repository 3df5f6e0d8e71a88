"""Every ring against Python integers and fractions."""

from fractions import Fraction
from math import floor, inf, nan

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from skinny.model.errors import InputError
from skinny.model.rings import Boolean, Exact, FixedPoint, Modular, PrimeField, Real, Ring, parse_ring

MERSENNE = (1 << 31) - 1
ALL_RINGS = [
    *(Modular(bits) for bits in (1, 2, 7, 8, 9, 16, 31, 32, 33, 63, 64)),
    *(FixedPoint(bits, frac) for bits, frac in ((2, 0), (2, 1), (8, 0), (8, 7), (16, 8), (32, 0), (32, 16), (32, 31))),
    *(PrimeField(p) for p in (2, 3, 8191, 2147483629, MERSENNE)),
    Boolean(),
    Exact(),
    Real(),
]
FINITE_RINGS = [ring for ring in ALL_RINGS if ring.bits]


def signed(number: int, bits: int) -> int:
    residue = number % (1 << bits)
    return residue - (1 << bits) if residue >> (bits - 1) else residue


def ref_reduce(ring: Ring, number: int) -> int:
    """The element an integer (for fixed point: a raw integer) wraps to."""
    if isinstance(ring, PrimeField):
        return number % ring.p
    return number % 2 if isinstance(ring, Boolean) else signed(number, ring.bits)


def ref_mul(ring: Ring, a: int, b: int) -> int:
    if isinstance(ring, FixedPoint):
        return signed(floor(Fraction(a * b, 1 << ring.frac) + Fraction(1, 2)), ring.bits)
    return ref_reduce(ring, a * b)


def extremes(ring: Ring) -> list[int]:
    """Elements where overflow and rounding show."""
    if isinstance(ring, PrimeField):
        return sorted({0, 1, ring.p // 2, ring.p - 1})
    if isinstance(ring, Boolean):
        return [0, 1]
    half = 1 << (ring.bits - 1)
    return sorted({-half, -half + 1 if ring.bits > 1 else 0, -1, 0, half - 1, half // 3, -half // 2})


def elements(ring: Ring) -> st.SearchStrategy[int]:
    return st.sampled_from(extremes(ring)) | st.integers(-(1 << 70), 1 << 70).map(lambda n: ref_reduce(ring, n))


@pytest.mark.parametrize("ring", FINITE_RINGS, ids=repr)
@settings(max_examples=30)
@given(data=st.data())
def test_arithmetic_equals_python_integers(ring, data):
    triples = data.draw(st.lists(st.tuples(*[elements(ring)] * 3), min_size=1, max_size=70))
    a, b, c = (np.array(column, dtype=ring.element_dtype) for column in zip(*triples, strict=True))
    x, y, z = ring.pack(a), ring.pack(b), ring.pack(c)

    def shown(packed):
        return ring.unpack(packed, len(triples)).tolist()

    assert shown(ring.add(x, y)) == [ref_reduce(ring, p + q) for p, q, _ in triples]
    assert shown(ring.sub(x, y)) == [ref_reduce(ring, p - q) for p, q, _ in triples]
    assert shown(ring.mul(x, y)) == [ref_mul(ring, p, q) for p, q, _ in triples]
    for sign in (1, -1):
        target = z.copy()
        ring.accumulate(target, x, y, sign, np.empty_like(target))
        assert shown(target) == [ref_reduce(ring, r + sign * ref_mul(ring, p, q)) for p, q, r in triples]
    assert (shown(x), shown(y)) == (a.tolist(), b.tolist())


@pytest.mark.parametrize("ring", ALL_RINGS, ids=repr)
@pytest.mark.parametrize("batch", [0, 1, 63, 64, 65, 130])
def test_pack_and_unpack_are_inverse(ring, batch):
    rng = np.random.default_rng(batch)
    numbers = rng.integers(-1, 1, (3, 2, batch)) if isinstance(ring, Modular) else rng.integers(0, 2, (3, 2, batch))
    given = numbers.astype(ring.element_dtype)
    packed = ring.pack(given)
    assert packed.dtype == ring.packed_dtype
    assert packed.shape == (3, 2, -(-batch // ring.inferences_per_word))
    back = ring.unpack(packed, batch)
    assert back.dtype == ring.element_dtype
    assert back.tolist() == given.tolist()


@pytest.mark.parametrize("ring", ALL_RINGS, ids=repr)
def test_constant_is_the_element_in_every_inference(ring):
    element = ring.embed(1) if ring not in (FixedPoint(2, 1), FixedPoint(8, 7), FixedPoint(32, 31)) else 1
    assert ring.unpack(ring.constant(element, 100), 100).tolist() == [element] * 100


@given(st.data())
def test_integers_that_fit_decode_to_their_residue(data):
    ring = data.draw(st.sampled_from([r for r in ALL_RINGS if isinstance(r, Modular | PrimeField)]))
    low, high = (
        (1 - ring.p, ring.p - 1) if isinstance(ring, PrimeField) else (-(1 << ring.bits - 1), (1 << ring.bits) - 1)
    )
    number = data.draw(st.integers(low, high) | st.sampled_from([low, high]))
    assert ring.decode(ring.encode(number)) == ref_reduce(ring, number) == ring.embed(number)
    for outside in (low - 1, high + 1):
        with pytest.raises(InputError, match="does not fit"):
            ring.encode(outside)
        assert ring.embed(outside) == ref_reduce(ring, outside)


def test_encode_all_keeps_the_shape_and_every_bit():
    big = (1 << 64) - 3
    assert Modular(64).encode_all([[big, -1], [5, 0]]).tolist() == [[-3, -1], [5, 0]]
    assert Modular(64).encode_all(np.array([big], dtype=np.uint64)).tolist() == [-3]
    assert Modular(64).encode_all([np.int64(-7)]).tolist() == [-7]
    assert FixedPoint(16, 8).encode_all([1, 0.5, Fraction(-1, 4)]).tolist() == [256, 128, -64]
    assert Exact().encode_all([1, Fraction(1, 3)]).tolist() == [1, Fraction(1, 3)]
    empty = Real().encode_all(np.empty((0, 3)))
    assert (empty.shape, empty.dtype) == ((0, 3), np.float64)


def test_decode_all_nests_lists():
    assert FixedPoint(8, 2).decode_all(np.array([[1, -2], [4, 0]])) == [[0.25, -0.5], [1.0, 0.0]]
    assert Modular(8).decode_all(np.array(-3)) == -3
    assert Exact().decode_all(np.array([Fraction(1, 3)], dtype=object)) == [Fraction(1, 3)]


@pytest.mark.parametrize(
    ("ring", "value", "message"),
    [
        (Modular(8), 256, "256 does not fit modular:8 (-128 to 255)"),
        (Modular(8), -129, "-129 does not fit modular:8 (-128 to 255)"),
        (Modular(8), Fraction(1, 2), "1/2 is not an integer, so not an element of modular:8"),
        (Modular(8), nan, "a number must be finite, not nan"),
        (FixedPoint(8, 4), 8, "8 does not fit fixed:8.4 (-8.0 to 7.9375)"),
        (FixedPoint(8, 4), Fraction(-258, 32), "-129/16 does not fit fixed:8.4 (-8.0 to 7.9375)"),
        (FixedPoint(8, 4), -inf, "a number must be finite, not -inf"),
        (PrimeField(7), 7, "7 does not fit prime:7 (-6 to 6)"),
        (PrimeField(7), Fraction(1, 7), "1/7 is not an element of prime:7: 7 divides its denominator"),
        (Boolean(), 2, "2 does not fit boolean (0 or 1)"),
        (Boolean(), Fraction(1, 2), "1/2 does not fit boolean (0 or 1)"),
        (Exact(), inf, "a number must be finite, not inf"),
        (Real(), nan, "a number must be finite, not nan"),
    ],
)
def test_a_number_that_does_not_fit_is_refused(ring, value, message):
    with pytest.raises(InputError) as caught:
        ring.encode(value)
    assert str(caught.value) == message


def test_bits_are_the_hardware_word():
    assert [ring.bits for ring in (Modular(9), FixedPoint(16, 8), Boolean(), Exact(), Real())] == [9, 16, 1, 0, 0]
    assert [PrimeField(p).bits for p in (2, 3, 5, 8191, MERSENNE)] == [1, 2, 3, 13, 31]
    assert [ring.is_ring for ring in (Modular(9), FixedPoint(16, 8), Boolean(), Exact(), Real())] == [1, 0, 1, 1, 0]


@pytest.mark.parametrize(
    "name", ["fixed:16.8", "fixed:32.31", "fixed:8.0", "modular:16", "modular:60", "prime:8191", "real"]
)
@pytest.mark.parametrize("kind", [np.float64, np.float32, np.int64, np.int8, np.uint16])
def test_arrays_are_encoded_at_once_as_one_by_one(name, kind):
    """Halves, their neighbours and the ends of the range are among the numbers."""
    ring = parse_ring(name)
    rng = np.random.default_rng(1)
    if name.startswith("fixed") and kind in (np.float64, np.float32):
        steps = np.concatenate([rng.integers(-100, 100, 500), [-1, 0, 1]])
        given = (steps[:, None] + np.array([0, 0.5, np.nextafter(0.5, 0), np.nextafter(0.5, 1), 0.25])) / (
            1 << ring.frac
        )
    else:
        given = rng.integers(-1 if name == "fixed:32.31" else -100, 1 if name == "fixed:32.31" else 100, (500, 3))
    given = (np.maximum(given, 0) if np.dtype(kind).kind == "u" else given).astype(kind)
    one_by_one = np.array([[ring.encode(v) for v in row] for row in given.tolist()])
    found = ring.encode_all(given)
    assert found.dtype == ring.element_dtype
    assert np.array_equal(found, one_by_one)
    assert np.array_equal(ring.encode_all(given.tolist()), one_by_one)
    assert np.array_equal(ring.encode_all(given.T), one_by_one.T)


@pytest.mark.parametrize("name", ["fixed:16.8", "modular:16", "prime:8191", "real"])
def test_a_large_array_is_not_encoded_one_by_one(name, monkeypatch):
    ring = parse_ring(name)
    monkeypatch.setattr(type(ring), "encode", lambda self, value: pytest.fail("one by one"))
    assert ring.encode_all(np.arange(120_000).reshape(-1, 4) % 100).shape == (30_000, 4)


@pytest.mark.parametrize(
    ("name", "wrong", "message"),
    [
        ("fixed:16.8", 128.0, "128.0 does not fit fixed:16.8"),
        ("fixed:16.8", 127.999, "127.999 does not fit fixed:16.8"),
        ("fixed:16.8", float("nan"), "a number must be finite, not nan"),
        ("modular:16", 0.5, "0.5 is not an integer"),
        ("modular:16", 1e9, "1000000000.0 does not fit modular:16"),
        ("prime:8191", 8191, "8191 does not fit prime:8191"),
        ("real", float("inf"), "a number must be finite, not inf"),
    ],
)
def test_a_wrong_number_in_an_array_is_named(name, wrong, message):
    with pytest.raises(InputError, match=message):
        parse_ring(name).encode_all(np.array([[1, 2], [wrong, 3]]))


def test_lists_keep_integers_that_are_no_floats():
    assert parse_ring("exact").encode_all([2**63 + 1, 0.5])[0] == 2**63 + 1
    assert parse_ring("modular:64").encode_all([2**53 + 1, 2.0]).tolist() == [2**53 + 1, 2]
