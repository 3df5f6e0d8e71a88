"""Expressions: sums, multiples, and what the accumulator can build."""

from skinny.model.compiler.graph.expressions import Expression, add, fits, has_values, reference, scaled, sum_of


def test_terms_that_cancel_leave_nothing():
    terms = {"a": 2}
    add(terms, "a", -2)
    add(terms, "b", 1)
    assert terms == {"b": 1}


def test_whole_forms_are_merged_when_the_terms_are_asked_for():
    form = (((-1, 0, -1), 1), ((-1, 1, -1), 2))
    expression = scaled(Expression({(-1, 0, -1): 1}, whole={form: 1}), -1)
    assert expression.is_form
    assert expression.terms() == {(-1, 0, -1): -2, (-1, 1, -1): -2}
    assert not reference(3).is_form


def test_a_sum_of_factors_has_the_terms_of_its_forms():
    form = (((-1, 0, -1), 1), ((-1, 1, -1), 2))
    assert sum_of({form: 3, 7: 5}).linear == {(-1, 0, -1): 3, (-1, 1, -1): 6, (-1, -1, 7): 5}
    assert [has_values(factor) for factor in (form, 7, (((-1, -1, 7), 1),))] == [False, True, True]


def test_the_accumulator_has_one_constant_and_no_weight_for_an_input_times_a_register():
    assert fits({(-1, -1, -1): 3, (-1, 0, -1): 1, (-1, -1, 2): 5, (0, -1, 2): 5, (0, 1, -1): 2})
    assert not fits({(-1, 0, 2): 1})
    assert not fits({(-1, -1, -1): 3, (0, -1, -1): 1})
