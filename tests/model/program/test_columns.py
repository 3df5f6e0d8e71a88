"""Columns: what is left out, and what is chosen."""

import numpy as np
from skinny.model.program.columns import Columns, Mode


def test_without_modes_all_instructions_add():
    columns = Columns.of([0, 1023], [1, 0], [1, -1], [0, 0])
    assert columns.mode.tolist() == [Mode.ADD, Mode.ADD]
    assert [column.dtype for column in columns.arrays()] == [np.uint16, np.uint16, np.int8, np.int32, np.uint8]
    assert Columns(*columns.arrays()[:4]).mode.tolist() == [0, 0]
    assert len(Columns.empty()) == len(Columns.empty().mode) == 0


def test_a_part_has_all_columns():
    part = Columns.of([0, 2], [1, 0], [1, -1], [0, 5], [Mode.RELU, Mode.ASSIGN]).part(slice(None, None, -1))
    assert [column.tolist() for column in part.arrays()] == [[2, 0], [0, 1], [-1, 1], [5, 0], [1, 2]]
