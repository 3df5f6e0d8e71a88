"""``skinny.compile``: texts and expressions are the same formulas, with the same functions and options."""

import math

import skinny as front_door


def test_formulas_and_texts_give_the_same_program():
    a, b, c = front_door.variables("a b c")
    text = front_door.compile("y = a*b + c")
    assert front_door.compile(a * b + c) == text
    assert front_door.compile({"y": a * b + c}) == text
    assert front_door.compile({"y": "a*b + c"}) == text
    assert front_door.compile(a * b + c).title == "y = a*b + c"
    assert front_door.compile({"y": "a*b", "z": a - 1}) == front_door.compile("y = a*b; z = a - 1")


def test_functions_are_those_of_the_text():
    (x,) = front_door.variables("x")
    for name in ("sin", "cos", "tan", "exp", "log", "sqrt", "tanh", "sigmoid", "erf"):
        assert repr(getattr(front_door, name)(2 * x + 1)) == f"{name}(2*x + 1)"
    precise = {"ring": "fixed:24", "box": {"x": (1, 2)}, "error": 0.001, "scale": "auto"}
    made = front_door.compile(3 * front_door.sin(x) + 1 / x, **precise)
    assert made == front_door.compile("y = 3*sin(x) + 1/x", **precise)
    assert abs(made.run({"x": 1.5}) - (3 * math.sin(1.5) + 1 / 1.5)) <= made.bound()["errors"]["y"] <= 0.001
    assert made.bound()["sampled"] == []


def test_options_of_the_compiler():
    assert front_door.compile("a*b*c*d", contract="in-place").contract == "in-place"
    wide = front_door.compile("a*b*c*d", width=5, self_check=True, without="search", start=[0, 1, 0, 0, 2])
    assert (wide.width, wide.model.self_check, wide.model.start) == (5, True, (0, 1, 0, 0, 2))
    assert wide.run([2, 3, 5, 7]) == 210
