"""Named parts in an order in which each stands behind those that it reads."""

from itertools import pairwise

import pytest
from skinny.model.errors import InputError
from skinny.model.frontends.order import ordered


def test_each_stands_behind_what_it_reads():
    assert ordered({"y": ["b", "a"], "a": ["x"], "b": ["a"]}, "parts") == ["a", "b", "y"]


def test_a_circle_is_named():
    with pytest.raises(InputError) as caught:
        ordered({"a": ["b"], "b": ["c", "x"], "c": ["a"]}, "parts")
    said = str(caught.value)
    assert said.startswith("parts must not read each other in a circle, but '")
    circle = said.partition("but ")[2].replace("'", "").split(" reads ")
    assert circle[0] == circle[-1]
    assert all((a, b) in {("a", "b"), ("b", "c"), ("c", "a")} for a, b in pairwise(circle))


def test_a_long_circle_is_cut():
    reads = {f"n{k}": [f"n{(k + 1) % 20}"] for k in range(20)}
    with pytest.raises(InputError, match=r"reads …$"):
        ordered(reads, "parts")
    assert ordered({f"n{k}": [f"n{k + 1}"] for k in range(20_000)}, "parts")[-1] == "n0"
