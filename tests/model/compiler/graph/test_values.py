"""Values: what a group costs and reads, and graphs without what nobody needs."""

from skinny.model.compiler.graph.values import Graph, Group, Value, form_of, group_cost, is_simple, operands, pruned

INPUT, MINUS, SCALED = (((-1, 0, -1), 1),), (((-1, 0, -1), -1),), (((-1, 0, -1), 3),)
NUMBER, NAMED, REGISTER = (((-1, -1, -1), 5),), (((0, -1, -1), 1),), (((-1, -1, 0), 1),)


def test_an_input_and_a_weight_need_no_accumulator():
    assert [is_simple(form) for form in (INPUT, MINUS, NUMBER, NAMED)] == [True] * 4
    assert [is_simple(form) for form in (SCALED, REGISTER, NUMBER + INPUT)] == [False] * 3
    assert [group_cost(form) for form in (INPUT, SCALED, NUMBER + INPUT)] == [1, 2, 3]


def test_terms_that_cancel_are_not_in_a_form():
    assert form_of({(-1, 1, -1): 2, (-1, 0, -1): 0, (-1, -1, -1): 1}) == (((-1, -1, -1), 1), ((-1, 1, -1), 2))


def test_a_group_reads_its_base_and_the_values_of_its_form():
    assert list(operands(Group(REGISTER, 0))) == [0, 0]
    assert list(operands(Group(INPUT, -1))) == []


def test_what_no_output_needs_is_left_out():
    values = [Value((Group(INPUT, -1),)), Value((Group(SCALED, -1),)), Value((Group((((-1, -1, 1), 1),), 1),))]
    graph = pruned(Graph(values, {"y": 2}, ["a"], []))
    assert graph.values == [values[1], Value((Group(REGISTER, 0),))]
    assert graph.outputs == {"y": 1}
    assert Graph(values, {"y": 2, "z": 0}, ["a"], []).of("z").values == [values[0]]
