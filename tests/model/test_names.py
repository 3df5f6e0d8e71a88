"""Names of elements and columns."""

from hypothesis import given
from hypothesis import strategies as st
from skinny.model.names import column_names, element, elements, plain, vector_of

NAMES = st.from_regex("[A-Za-z_][A-Za-z_0-9]{0,3}", fullmatch=True)


@given(NAMES, st.integers(0, 10**6))
def test_an_element_names_its_vector(vector, index):
    assert vector_of(element(vector, index)) == (vector, index)


def test_elements_of_two_vectors_never_share_a_name():
    vectors = [a + b for a in "x_" for b in ("", "1", "_", "1_", "_1", "11", "0")]
    named = {element(vector, index): (vector, index) for vector in vectors for index in range(120)}
    assert len(named) == len(vectors) * 120
    assert {name: vector_of(name) for name in named} == named
    assert (element("x", 3), element("x1", 3)) == ("x3", "x1_3")


def test_what_is_no_element():
    for name in ("x", "x01", "_", "x_", "3"):
        assert vector_of(name) is None


def test_a_text_means_elements():
    names = ["x2", "x0", "y", "x10", "x1_0"]
    assert elements("y", names) == ["y"]
    assert elements("x[10]", names) == ["x10"]
    assert elements(" x [0:10] ", names) == ["x0", "x2"]
    assert elements("x", names) == ["x0", "x2", "x10"]
    assert elements("x1", names) == ["x1_0"]
    assert elements("x", ["x", "x0"]) == ["x"]
    for text in ("z", "x[3]", "y[0:4]", "x[3:0]", "x[-1]", "x[0:2:1]", ""):
        assert elements(text, names) == []


def test_plain_text_is_a_name():
    assert plain(" room temp (°C) ") == "room_temp_C"


def test_columns_are_found_by_their_head_or_without_what_a_name_cannot_have():
    heads = ["room temp (C)", "speed [m/s]", "x[3]", "a", "a (V)", "b (V)", "b (A)", "B", "x[4] (V)"]
    found = column_names(heads)
    assert found["room temp (C)"] == found["room_temp_C"] == found["room_temp"] == [0]
    assert found["speed"] == found["speed_m_s"] == [1]
    assert found["x3"] == found["x_3"] == [2]
    assert found["x4"] == [8]
    assert found["a"] == [3]  # the very head, not the one that is so called without its unit
    assert (found["b"], found["b_V"], found["B"]) == ([5, 6], [5], [7])
