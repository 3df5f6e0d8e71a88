"""The prototype's cycles with and without promises are met or beaten, by programs that are proven."""

import pytest
from skinny.model.compiler.goal import parse_keep
from skinny.model.compiler.graph.shortest import shortest
from skinny.model.compiler.pipeline import compile_formula
from skinny.model.compiler.prove import prove
from skinny.model.formula.formula import operations
from skinny.model.formula.parse import parse_formula
from skinny.scripts.bench.promises import ROWS, cycles


def name_of(row):
    return f"{row.name}, {row.keep}"


@pytest.mark.parametrize("row", ROWS, ids=name_of)
def test_the_prototype_is_met_or_beaten(row):
    """Blocks can only make it shorter; they are left out here, because they take long."""
    outputs = parse_formula(row.formula)
    written = operations(*outputs.values())
    keep = parse_keep(row.keep)
    program = shortest(outputs, written, keep, row.width, frozenset(), 30_000)
    assert cycles(program) <= row.target
    assert program.width <= row.width
    assert program.linear or "linear" not in keep
    assert program.reversible or "reversible" not in keep
    prove(program, outputs, written)


@pytest.mark.parametrize(
    ("name", "keep", "blocks"), [("product of 64", "none", 566), ("Horner chain of 64", "linear", 1350)]
)
def test_the_compiler_takes_them(name, keep, blocks):
    """With all promises they take at most what the prototype's table says of three registers."""
    (row,) = (row for row in ROWS if (row.name, row.keep) == (name, keep))
    outputs = parse_formula(row.formula)
    assert cycles(compile_formula(outputs, width=row.width, keep=parse_keep(keep)).program) <= row.target
    assert row.target < cycles(compile_formula(outputs).program) <= blocks
