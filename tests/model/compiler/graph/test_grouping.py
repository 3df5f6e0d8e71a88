"""Grouping: terms that share a register become one group where that is not longer."""

from skinny.model.compiler.graph.grouping import grouped, hubs


def test_single_inputs_and_weights_stay_apart():
    groups = list(grouped({3: {(-1, 0, -1): 1, (-1, 1, -1): -1, (-1, -1, -1): 4}}))
    assert [len(group.form) for group in groups] == [1, 1, 1]
    assert {group.base for group in groups} == {3}


def test_as_soon_as_one_needs_the_accumulator_all_go_there():
    (group,) = grouped({3: {(-1, 0, -1): 2, (-1, 1, -1): 1, (-1, -1, -1): 4}})
    assert len(group.form) == 3


def test_a_second_constant_is_a_group_of_its_own():
    groups = list(grouped({3: {(-1, 0, -1): 2, (0, -1, -1): 1, (-1, -1, -1): 4}}))
    assert sorted(len(group.form) for group in groups) == [1, 2]


def test_four_products_of_two_by_two_are_two_groups():
    pairs = {(a, b): 10 * a + b for a in (0, 1) for b in (2, 3)}
    found = list(hubs(pairs, [1, 1, 5, 5]))
    assert [hub for hub, _ in found] == [0, 1]
    assert {(hub, other): c for hub, members in found for other, c in members.items()} == pairs


def test_a_square_is_its_own_member():
    assert list(hubs({(4, 4): 3}, [1] * 5)) == [(4, {4: 3})]
