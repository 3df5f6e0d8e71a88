"""Tables to learn from; what is wrong with one is said in tests/scripts/test_learn.py."""

from time import process_time

import numpy as np
import pytest
from skinny.model.errors import InputError
from skinny.table import Table, parse_table, split


def test_few_whole_numbers_are_classes_and_many_are_numbers():
    text = "a,t\n" + "".join(f"{n},{n % 3}\n" for n in range(30))
    assert parse_table(text, "t", "t.csv").classes
    text = "a,t\n" + "".join(f"{n},{n}\n" for n in range(30))
    assert not parse_table(text, "t", "t.csv").classes
    text = "a,t\n" + "".join(f"{n},{n % 3}.5\n" for n in range(30))
    assert not parse_table(text, "t", "t.csv").classes


def test_each_class_has_its_share_of_the_test_rows():
    targets = np.array(["a"] * 40 + ["b"] * 12)
    inside, tested = split(Table(("x",), np.zeros((52, 1)), targets), 0)
    assert sorted([*inside, *tested]) == list(range(52))
    assert (targets[tested] == "b").sum() == 3
    again = split(Table(("x",), np.zeros((52, 1)), targets), 1)[1]
    assert not np.array_equal(tested, again)


def test_wide_tables_and_many_classes_are_read_in_time():
    """Reading once took time with the square of the columns, and of the classes: minutes."""
    began = process_time()
    names = [f"x{u}" for u in range(8000)]
    text = ",".join([*names, "t"]) + "\n" + "".join("1," * 8000 + f"{n % 2}\n" for n in range(10))
    assert parse_table(text, "t", "t.csv").names == tuple(names)
    text = "a,t\n" + "".join(f"{n},c{n}\n" for n in range(8000))
    with pytest.raises(InputError, match=r"the class 'c0' of 't' has fewer than 3 rows"):
        parse_table(text, "t", "t.csv")
    assert process_time() - began < 3
