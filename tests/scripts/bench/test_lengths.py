"""The two tables of lengths hold: proven optima are met, the prototype's lengths are met or beaten."""

import pytest
from skinny.scripts.bench.lengths import FLOOR, NEARLY, SHORTEST, Row, measure


def name_of(row: Row) -> str:
    attention = ", attention" if row.attention else ""
    return f"{row.name}, {row.contract}{attention}, width {row.width}"


@pytest.mark.parametrize("row", SHORTEST, ids=name_of)
def test_proven_shortest_is_met_exactly(row):
    assert measure(row) == row.target


@pytest.mark.parametrize("row", NEARLY, ids=name_of)
def test_proven_shortest_is_met_within_a_quarter(row):
    assert row.target <= measure(row) <= row.target * 5 // 4


#: Longer ones take seconds each; `skinny bench lengths` has them all.
QUICK = [row for row in FLOOR if "64 terms" not in row.name]


@pytest.mark.parametrize("row", QUICK, ids=name_of)
def test_the_prototype_is_met_or_beaten(row):
    assert measure(row) <= row.target
