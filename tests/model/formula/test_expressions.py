"""Expressions: functions that the text defines, lists, lines that go on."""

import pytest
from skinny.model.errors import InputError
from skinny.model.formula.formula import facts, formula_text
from skinny.model.formula.parse import parse_formula


def texts(text):
    return {name: formula_text(formula) for name, formula in parse_formula(text).items()}


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("def sq(t) = t*t; y = sq(a) + sq(b + 1)", "a*a + (b + 1)*(b + 1)"),
        ("def sq(t) = t*t\ny = 2*sq(sq(a))^2", "2*(a*a*a*a)^2"),
        ("def f(a, b) = a - b; y = f(b, a)", "b - a"),
        ("def f(t) = t + k; let k = 3; y = f(a)", "a + 3"),
        ("def f(t) = (t +\n 1)*\n 2 # two\ny = a/f(b)", "a/((b + 1)*2)"),
        ("def f(t) = t^2; def g(t) = f(t) + f(2*t); y = -g(a)", "-(a^2 + (2*a)^2)"),
        ("def mean(v) = sum(v)/4; y = mean(x[0:4])", "(x0 + x1 + x2 + x3)*1/4"),
        ("def two(a) = [a, 2*a]; y = sum(two(b))", "b + 2*b"),
        ("def sig(a) = sigmoid(2*a - 1); y = 3*sig(x)", "3*sigmoid(2*x - 1)"),
        ("def f(x) = x; y = f(f)", "f"),
        ("y = a +\n  b*\n\n c -# more\n d", "a + b*c - d"),
        ("y = a/\n  2", "a*1/2"),
        ("y =\n  a", "a"),
        ("y = sum([a,\n b])", "a + b"),
        ("y = a**2 + b^2 + c ** 3", "a^2 + b^2 + c^3"),
    ],
)
def test_text_means_what_it_says(text, printed):
    assert texts(text) == {"y": printed}


def test_arguments_hide_names_and_are_evaluated_once():
    outputs = parse_formula("def sq(t) = t*t; let t = 5; y = sq(a + b) + t")
    square = outputs["y"].args[0]
    assert square.args[0] is square.args[1]
    assert formula_text(outputs["y"]) == "(a + b)*(a + b) + 5"


def test_networks_are_a_line_a_layer():
    outputs = texts("def layer(W, v, b) = relu(dot(W, v) + b)\ny = layer([[1, 2]], layer([[3], [4]], x, [5, 6]), [7])")
    assert outputs == {"y0": "relu(1*relu(3*x0 + 5) + 2*relu(4*x0 + 6) + 7)"}


def test_calls_nest_without_recursion():
    count = 5_000
    chain = "\n".join(f"def f{n + 1}(t) = f{n}(t) + 1" for n in range(count))
    assert facts(parse_formula(f"def f0(t) = 2*t\n{chain}\ny = f{count}(a)")["y"]).leaves == count + 2
    assert facts(parse_formula("def f(t) = t + 1; y = " + "f(" * count + "a" + ")" * count)["y"]).leaves == count + 1


def test_what_grows_without_end_is_refused():
    doubling = "\n".join(f"def f{n + 1}(t) = f{n}(t + f{n}(t))" for n in range(60))
    from skinny.model.limits import Limits

    with Limits(memory=1 << 28).applied(), pytest.raises(InputError, match="make more than 262,144 operations"):
        parse_formula(f"def f0(t) = t*t\n{doubling}\ny = f60(a)")
    with Limits(memory=1 << 28).applied(), pytest.raises(InputError, match="make more than 262,144 operations"):
        parse_formula("let v = x[0:60000]; y = sum(v*v*v*v*v)")


MALFORMED = [
    ("def f(t) = f(t - 1); y = f(a)", "'f' calls itself, but functions cannot be recursive", 12),
    ("def f(t) = g(t); def g(t) = f(t); y = f(a)", "there is no function 'g'", 12),
    ("def f(t) = t; def f(t) = 2*t; y = f(a)", "there is a function 'f' already", 19),
    ("def sin(t) = t; y = sin(a)", "there is a function 'sin' already", 5),
    ("def f(t, t) = t; y = 1", "the argument 't' is there twice", 10),
    ("def f() = 3; y = f()", "a function is defined like 'def f(a, b) = a*b'; expected the name of an argument", 7),
    ("def f(t = 3; y = 1", "a function is defined like 'def f(a, b) = a*b'; expected ','", 9),
    ("def f(t) 3; y = 1", "a function is defined like 'def f(a, b) = a*b'; expected '='", 10),
    ("def f t = 3; y = 1", "a function is defined like 'def f(a, b) = a*b'; expected '('", 7),
    ("def f(t) = (t; y = 1", "this parenthesis is never closed", 12),
    ("def f(t) = t); y = 1", "this parenthesis was never opened", 13),
    ("def f(t) = t +; y = 1", "the formula ends where a value was expected", 15),
    ("def f(t) = t t; y = f(a)", "expected an operator, found 't' at line 1, column 14, in 'f' called at line 1", 14),
    ("def f(t) = t; y = f(a, b)", "'f' takes one argument, not 2", 19),
    ("def f(s, t) = t; y = f(a)", "'f' takes 2 arguments, not 1", 22),
    ("def f(t) = t", "the formula has no output, only definitions", None),
    ("let f(t) = t; y = 1", "a function is defined by 'def f(t) = …'", 1),
    ("f(t) = t*t", "there is no function 'f'", 1),
    ("y = sum(a, b)", "'sum' takes one argument, not 2", 5),
    ("y = dot([1, 2])", "'dot' takes 2 arguments, not 1", 5),
    ("y = dot([1, 2], [1, 2, 3])", "dot of a vector of 2 and a vector of 3", 5),
    ("y = [1, 2] + [1, 2, 3]", "a vector of 2 and a vector of 3 cannot be joined element by element", 22),
    ("y = [[1, 2], [3, 4]]*[1, 2]", "a matrix of 2 rows and 2 columns and a vector of 2 cannot be joined", 27),
    ("y = [a, [b, c]]", "the elements of a list must be alike", 5),
    ("y = []", "expected a value, found ']'", 6),
    ("y = [1, 2", "this bracket is never closed", 5),
    ("y = [1, 2)", "expected ']', found ')'", 10),
    ("y = (1 + 2]", "expected ')', found ']'", 11),
    ("y = 1]", "this bracket was never opened", 6),
    ("y = (a, b)", "a comma stands between arguments or in a list like [1, 2]", 7),
    ("y = 1,5*a", "a comma stands between arguments or in a list like [1, 2]", 6),
    ("y = [1, 2][2]", "there is no element 2", 11),
    ("y = a +\nz = b", "expected an operator, found '=' at line 2, column 3: this line goes on with the one before", 3),
    ("y = a\n+ b", "a line goes on in the next one when it ends with an operator", 1),
    ("y = 1/[0, 1]", "division by zero", 12),
    ("y = a/[1, 2]^2", "write the power of a divisor with parentheses", 13),
]


@pytest.mark.parametrize(("text", "message", "column"), MALFORMED)
def test_what_is_wrong_is_shown(text, message, column):
    with pytest.raises(InputError) as caught:
        parse_formula(text)
    first, *shown = str(caught.value).split("\n")
    assert first.startswith(message)
    assert len(first) < 250
    assert (shown[-1].index("^") - 1 if shown else None) == column
