"""Goals: the passes that exist, and the start vectors and contracts that follow from the wishes."""

from pathlib import Path

import pytest
from skinny.model.compiler import passes
from skinny.model.compiler.contracts import Promise
from skinny.model.compiler.goal import PASSES, PURE, Goal, parse_keep
from skinny.model.errors import InputError


def goal(contract="clean", width=3, start=(0, 1, 0), without=()):
    return Goal(contract, width, True, frozenset(without), start)


def test_every_file_of_the_passes_is_named():
    files = {path.stem for path in Path(passes.__file__).parent.glob("*.py")} - {"__init__"}
    assert files | {"contracts", "telescope"} == set(PASSES)
    assert len(PASSES) == len(set(PASSES))


def test_passes_are_used_unless_left_out():
    wishes = goal(without=["chain"])
    assert not wishes.uses("chain")
    assert all(wishes.uses(name) for name in PASSES if name != "chain")


@pytest.mark.parametrize("width", [3, 5])
def test_clean_code(width):
    wishes = goal(width=width, start=(7, 1, *[2] * (width - 2)))
    assert wishes.clean
    assert wishes.code_start == (0, 1, 0, 0, 0)[:width]
    contract = wishes.block_contract
    assert (contract.promise, contract.fresh, contract.last, contract.extra) == (
        Promise.SPEND_ZERO,
        True,
        True,
        width - 3,
    )


def test_code_in_place():
    wishes = goal("inplace", 4, (7, 1, 2, 5))
    assert not wishes.clean
    assert wishes.code_start == (7, 1, 2, 5)
    contract = wishes.block_contract
    assert (contract.promise, contract.fresh, contract.last, contract.extra) == (Promise.RESTORE, False, False, 1)


def test_promises_are_read_from_text():
    assert parse_keep("none") == frozenset()
    assert parse_keep("linear") == {"linear"}
    assert parse_keep("reversible,linear") == PURE
    for text in ("", "linear,none", "clean", "linear,,reversible"):
        with pytest.raises(InputError, match="keep must be linear,reversible or one of linear, reversible, none; not"):
            parse_keep(text)


def test_a_graph_needs_a_clean_program_from_its_usual_start():
    assert goal(width=5, start=(0, 1, 0, 0, 0)).allows_graph
    assert not goal(start=(0, 1, 1)).allows_graph
    assert not goal("in-place").allows_graph
