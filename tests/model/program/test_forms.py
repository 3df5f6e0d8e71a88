"""Scalars: what it costs to build a linear form in the accumulator, counted by hand."""

from skinny.model.program.forms import Input, Linear, Weight, attention_cost, renumbered


def test_a_linear_form_is_built_anew_or_changed_by_single_terms():
    a, ab, abc = Linear(((0, 0),)), Linear(((0, 0), (1, 1))), Linear(((0, 0), (1, 1)), 2)
    far = Linear(((2, 1),), 0)
    assert [attention_cost(None, form) for form in (a, ab, abc)] == [1, 2, 3]
    assert [attention_cost(ab, form) for form in (a, ab, abc, far)] == [1, 0, 1, 2]


def test_a_term_listed_twice_takes_two_steps():
    once, twice = Linear(((0, 0), (1, 1), (2, 2))), Linear(((0, 0), (0, 0), (1, 1), (2, 2)))
    assert attention_cost(None, twice) == 4
    assert attention_cost(twice, once) == attention_cost(once, twice) == 1


def test_renumbered_forms_name_the_new_inputs_and_weights():
    sums = ((Input(1), 4), (Weight(1), 0))
    forms = (Input(1), Weight(0), Linear(((0, 1), (1, 0)), 1), Linear(((1, 1),)), Linear((), 0, sums))
    assert list(renumbered(forms, inputs=[5, 7], weights=[2, 9])) == [
        Input(7),
        Weight(2),
        Linear(((2, 7), (9, 5)), 9),
        Linear(((9, 7),)),
        Linear((), 2, ((Input(7), 4), (Weight(9), 0))),
    ]


def test_registers_are_terms_like_others():
    form = Linear(((0, 0),), 1, ((Weight(0), 2), (Input(0), 2), (Weight(0), 2)))
    assert form.registers == {2}
    assert attention_cost(None, form) == 5
    assert attention_cost(form, form._replace(sums=form.sums[:1])) == 2
