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


def test_tables_are_written_as_inputs_are():
    """Separators, blank lines, quoted names with units: what ``skinny run`` reads can be learned from."""
    rows = "".join(f"{n};{n % 3}\n \n" for n in range(30))
    table = parse_table(f'"length (cm)";t\n{rows}\n', "t", "t.csv")
    assert table.names == ("length (cm)",)
    assert table.rows[:, 0].tolist() == list(range(30))
    with pytest.raises(InputError, match=r"t\.csv: not a CSV file \(unexpected end of data"):
        parse_table('a,t\n1,"2\n', "t", "t.csv")


def test_wide_and_long_tables_are_read_in_seconds():
    heads, row = ",".join(f"c{n}" for n in range(2000)), ",".join("1" * 2000)
    began = process_time()
    assert parse_table(f"{heads},t\n" + f"{row},a\n{row},b\n" * 40, "t", "t.csv").rows.shape == (80, 2000)
    with pytest.raises(InputError, match="fewer than 3 rows"):
        parse_table("a,t\n" + "".join(f"1,name{n}\n" for n in range(20_000)), "t", "t.csv")
    assert process_time() - began < 4


def test_each_class_has_its_share_of_the_test_rows():
    targets = np.array(["a"] * 40 + ["b"] * 12)
    inside, tested = split(Table(("x",), np.zeros((52, 1)), targets), 0)
    assert sorted([*inside, *tested]) == list(range(52))
    assert (targets[tested] == "b").sum() == 3
    again = split(Table(("x",), np.zeros((52, 1)), targets), 1)[1]
    assert not np.array_equal(tested, again)
