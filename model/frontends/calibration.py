"""Calibration: what is known of the inputs of a model, by which its format is chosen."""

from __future__ import annotations

from collections.abc import Collection
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from skinny.model.formula.formula import Formula

from .ranges import Floats, Range, box_ranges, row_ranges

__all__ = ["Calibration"]

#: Ranges of rows are widened by this, because other rows will come; ranges on a box by what rounding may add.
ROW_MARGIN, BOX_MARGIN = 1.25, 1.01
#: Rows that are drawn from a box when there are no others, and the least number of rows between others.
DRAWN, SEED = 512, 0


class Calibration(NamedTuple):
    """What is known of inputs: ``columns`` of rows by name, and a ``box``, either of which may be empty."""

    columns: dict[str, Floats]
    box: dict[str, tuple[Fraction, Fraction]]

    def ranges(self, nodes: Collection[Formula]) -> dict[int, Range]:
        """The ranges of nodes: proven on the box, if there is one, else those over the rows."""
        if self.box:
            return box_ranges(nodes, {name: Range(float(a), float(b)) for name, (a, b) in self.box.items()})
        return row_ranges(nodes, self.columns)

    @property
    def margin(self) -> float:
        return BOX_MARGIN if self.box else ROW_MARGIN

    def drawn(self) -> Calibration:
        """The same with rows, drawn from the box if there are none."""
        if self.columns or not self.box:
            return self
        chance = np.random.default_rng(SEED)
        return self._replace(
            columns={name: chance.uniform(float(a), float(b), DRAWN) for name, (a, b) in self.box.items()}
        )

    def between(self, classes: NDArray[np.int64]) -> Calibration | None:
        """As many other rows (:data:`DRAWN` at least), each somewhere between two rows of different ``classes``; None
        when all are of one."""
        chance = np.random.default_rng(SEED)
        count = max(len(classes), DRAWN)
        pairs = chance.integers(0, len(classes), (2 * count, 2))
        first, second = pairs[classes[pairs[:, 0]] != classes[pairs[:, 1]]][:count].T
        part = chance.uniform(size=len(first))
        columns = {name: column[first] * part + column[second] * (1 - part) for name, column in self.columns.items()}
        return Calibration(columns, {}) if len(first) else None
