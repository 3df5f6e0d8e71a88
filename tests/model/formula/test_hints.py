"""What is no polynomial is refused with what to do instead."""

import pytest
from skinny.model.errors import InputError
from skinny.model.formula.hints import INSTEAD, SIGNS, WORDS
from skinny.model.formula.parse import parse_formula


@pytest.mark.parametrize("sign", SIGNS)
def test_a_sign_has_a_hint(sign):
    with pytest.raises(InputError) as caught:
        parse_formula(f"y = a {sign} b")
    (shown, _, caret) = str(caught.value).split("\n")
    head, _, more = SIGNS[sign].partition(": ")
    assert shown.startswith(head)
    assert shown.endswith(more)
    assert caret.index("^") == 8


@pytest.mark.parametrize("word", WORDS)
def test_a_word_has_a_hint(word):
    for text in (f"y = a {word} b", f"y = {word} b"):
        with pytest.raises(InputError) as caught:
            parse_formula(text)
        assert str(caught.value).startswith(WORDS[word].partition(": ")[0])


@pytest.mark.parametrize("name", INSTEAD)
def test_a_function_of_another_library_has_a_hint(name):
    with pytest.raises(InputError) as caught:
        parse_formula(f"y = 1 + {name}(a, 3)")
    first = str(caught.value).split("\n")[0]
    assert first == f"there is no function {name!r} at line 1, column 9: {INSTEAD[name]}"


@pytest.mark.parametrize(
    ("name", "instead", "value"),
    [
        ("max", "b + relu(a - b)", max),
        ("min", "a - relu(a - b)", min),
        ("abs", "relu(a) + relu(-a)", lambda a, _: abs(a)),
        ("clip", "-1 + relu(a - -1) - relu(a - 2)", lambda a, _: min(max(a, -1), 2)),
    ],
)
def test_the_hints_are_true(name, instead, value):
    import numpy as np
    from skinny.model.formula.formula import evaluate
    from skinny.model.rings import Exact

    (formula,) = parse_formula(instead).values()
    for a in range(-4, 5):
        for b in range(-4, 5):
            lanes = {"a": np.array([a], dtype=object), "b": np.array([b], dtype=object)}
            assert evaluate(formula, lanes, Exact())[0] == value(a, b)
    shown = instead.replace("-1", "lo").replace("2", "hi")
    assert shown in INSTEAD[name] or instead in INSTEAD[name]
