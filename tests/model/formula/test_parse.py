"""Formula text: what it means, and where it is wrong."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from skinny.model.errors import InputError
from skinny.model.formula.formula import evaluate, facts, formula_text, postorder
from skinny.model.formula.parse import parse_formula
from skinny.model.named_weight import NamedWeight
from skinny.model.rings import Exact, PrimeField

POINT = {"a": Fraction(2), "b": Fraction(-3), "c": Fraction(5, 7)}
a, b, c = POINT.values()


def value(formula, point):
    lanes = {name: np.array([number], dtype=object) for name, number in point.items()}
    return evaluate(formula, lanes, Exact())[0]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a + b*c", a + b * c),
        ("(a + b)*c", (a + b) * c),
        ("a - b - c", a - b - c),
        ("a - (b - c)", a - (b - c)),
        ("a*b^2", a * b**2),
        ("(a*b)^2", (a * b) ** 2),
        ("-a^2", -(a**2)),
        ("(-a)^2", a**2),
        ("2^3*a", 8 * a),
        ("a^0 + b^1", 1 + b),
        ("a*-b", -a * b),
        ("a - -b", a + b),
        ("--a", a),
        ("+a - +b", a - b),
        ("-a*-b*-c", -a * b * c),
        ("3/4*a", Fraction(3, 4) * a),
        ("a*3/4", a * Fraction(3, 4)),
        ("a/4", a / 4),
        ("a/4*b", a / 4 * b),
        ("a/2/4", a / 8),
        ("(a + b)/0.5", (a + b) * 2),
        ("0.1*a", Fraction(1, 10) * a),
        (".5 + 2. + 1e3 + 2.5E-1", Fraction(1, 2) + 2 + 1000 + Fraction(1, 4)),
        ("1/3", Fraction(1, 3)),
        ("((((a))))", a),
        ("a/(2)", a / 2),
        ("let pi = 3.14; y = a/(2*pi)", a / Fraction("6.28")),
        ("1/(1 + 2^2)*a", a / 5),
        ("a*(b + c)^2*b", a * (b + c) ** 2 * b),
        ("(a\n + b # inside\n)*c # outside", (a + b) * c),
        ("z = a; # nothing\n\n;", a),
        ("let s = a + b; y = s^2 - s", (a + b) ** 2 - (a + b)),
        ("let let_ = a; y = let_*let_", a * a),
        ("let = a\ny = let*b", None),
    ],
)
def test_text_means_what_it_says(text, expected):
    outputs = parse_formula(text)
    if expected is None:  # two outputs, one of them called "let"
        assert list(outputs) == ["let", "y"]
        assert value(outputs["y"], POINT) == a * b
    else:
        (formula,) = outputs.values()
        assert value(formula, POINT) == expected


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("sin(a)", "sin(a)"),
        ("3*sin(x) + exp(-x/2)", "3*sin(x) + exp(-x*1/2)"),
        ("sin(cos(a + b)^2)^3", "sin(cos(a + b)^2)^3"),
        ("3/(1 + x)", "3/(1 + x)"),
        ("1/x", "1/x"),
        ("-a/b/c", "-a/b/c"),
        ("a - b/c*d", "a - b/c*d"),
        ("1/(1/x)", "1/(1/x)"),
        ("(a/b)^2", "(a/b)^2"),
        ("2/(x^2)", "2/(x^2)"),
        ("2/sin(x)", "2/sin(x)"),
        ("a/(b*c) + inverse(d)^2", "a/(b*c) + (1/d)^2"),
        ("exp(a\n+ b # comment\n)", "exp(a + b)"),
        ("exp*sin(sin)", "exp*sin(sin)"),
    ],
)
def test_functions_and_divisors_are_read_and_printed(text, printed):
    formula = parse_formula(text)["y"]
    assert formula_text(formula) == printed
    assert formula_text(parse_formula(printed)["y"]) == printed


def test_a_divisor_becomes_its_inverse():
    formula = parse_formula("a/(b + 1)")["y"]
    assert (formula.kind, formula.args[0].value) == ("product", "a")
    assert (formula.args[1].kind, formula.args[1].value, formula.args[1].args[0].kind) == ("function", "inverse", "sum")


def test_outputs_keep_their_names_and_order():
    outputs = parse_formula("sum = a + b; let p = a*b\nout2 = p*sum")
    assert list(outputs) == ["sum", "out2"]
    assert value(outputs["out2"], POINT) == a * b * (a + b)
    assert list(parse_formula("a")) == ["y"]


def test_shared_parts_are_one_node():
    outputs = parse_formula("let s = a + b; y = s*s; z = s")
    assert outputs["y"].args[0] is outputs["y"].args[1] is outputs["z"]


def test_long_chains_stay_flat():
    formula = parse_formula("+".join(f"x{n}*2" for n in range(1000)))["y"]
    assert len(formula.args) == 1000
    assert len(parse_formula("*".join(["x"] * 1000))["y"].args) == 1000


KNOWN = "sin, cos, tan, exp, log, sqrt, tanh, sigmoid, erf, inverse, relu, sum, dot"
MALFORMED = [
    ("", "the formula is empty", None),
    ("  # only a comment\n ;;", "the formula is empty", None),
    ("let s = a", "the formula has no output, only definitions", None),
    ("a + ", "the formula ends where a value was expected", (1, 5)),
    ("a + * b", "expected a value, found '*'", (1, 5)),
    ("a b", "expected an operator, found 'b': a product is written a*b", (1, 3)),
    ("2a", "expected an operator, found 'a': a product is written a*b", (1, 2)),
    ("a 2", "expected an operator, found '2': a product is written a*b", (1, 3)),
    ("a(b)", f"there is no function 'a'; 'def a(t) = t*t' defines one, and there are {KNOWN}", (1, 1)),
    ("2*abs(b)", "there is no function 'abs': abs(a) is relu(a) + relu(-a), with --keep none", (1, 3)),
    ("sin()", "expected a value, found ')'", (1, 5)),
    ("sin(a", "this parenthesis is never closed", (1, 4)),
    ("sin^2(a)", "expected an operator, found '(': a product is written a*b", (1, 6)),
    ("2(a)", "expected an operator, found '(': a product is written a*b", (1, 2)),
    ("(a + b", "this parenthesis is never closed", (1, 1)),
    ("a*((b + c)", "this parenthesis is never closed", (1, 3)),
    ("(a;b)", "this parenthesis is never closed", (1, 1)),
    ("a + b)", "this parenthesis was never opened", (1, 6)),
    ("()", "expected a value, found ')'", (1, 2)),
    ("a $ b", "unexpected character '$'", (1, 3)),
    ("$a", "unexpected character '$'", (1, 1)),
    ("a + ä", "unexpected character 'ä'", (1, 5)),
    ("a ** b", "an exponent must be a whole number", (1, 6)),
    ("a * * b", "expected a value, found '*'", (1, 5)),
    ("a + .", "unexpected character '.'", (1, 5)),
    ("a/", "a number, a name or a parenthesis must follow '/'", (1, 3)),
    ("a/-b", "a number, a name or a parenthesis must follow '/'", (1, 3)),
    ("a/(2 - 2)", "division by zero", (1, 9)),
    ("a/b^2", "write the power of a divisor with parentheses", (1, 4)),
    ("a/(9^9999)", "this number is too long", (1, 10)),
    ("a/0", "division by zero", (1, 3)),
    ("a/0.0", "division by zero", (1, 3)),
    ("a/2^2", "write the power of a divisor with parentheses", (1, 4)),
    ("a^b", "an exponent must be a whole number", (1, 3)),
    ("a^-1", "an exponent must be a whole number: a divisor is written 1/a", (1, 3)),
    ("a^1.5", "an exponent must be a whole number", (1, 3)),
    ("a^", "an exponent must be a whole number", (1, 3)),
    ("a^100001", "an exponent must be at most 100000", (1, 3)),
    ("a^2^2", "write a tower of powers with parentheses", (1, 4)),
    ("1e5000*a", "this number is too long", (1, 1)),
    ("y = a; y = b", "'y' is defined twice", (1, 8)),
    ("a; b", "'y' is defined twice", (1, 4)),
    ("y = a; b c", "expected an operator, found 'c': a product is written a*b", (1, 10)),
    ("y = z\nz = a", "'z' is defined after it was used as an input", (2, 1)),
    ("y = a = b", "expected an operator, found '='", (1, 7)),
    ("let s", "'let s' needs '='", (1, 5)),
    ("let s + b", "'let s' needs '='", (1, 5)),
    ("y = a +\n", "the formula ends where a value was expected", (2, 1)),
    ("first = a*b\nsecond = a\nthird = c + $", "unexpected character '$'", (3, 13)),
    ("first = a*b\nsecond = a*(b + $)\nthird = c", "unexpected character '$'", (2, 17)),
]


@pytest.mark.parametrize(("text", "message", "place"), MALFORMED)
def test_errors_point_at_the_place(text, message, place):
    with pytest.raises(InputError) as caught:
        parse_formula(text)
    first, *rest = str(caught.value).split("\n")
    if place is None:
        assert (first, rest) == (message, [])
        return
    line, column = place
    head, colon, more = message.partition(": ")
    assert first == f"{head} at line {line}, column {column}{colon}{more}"
    assert rest == [f"  {text.split(chr(10))[line - 1]}", " " * (column + 1) + "^"]


def test_long_lines_are_cut_around_the_caret():
    with pytest.raises(InputError) as caught:
        parse_formula("a + " * 1000 + "$ + a" + " + b" * 1000)
    first, shown, caret = str(caught.value).split("\n")
    assert first.endswith("at line 1, column 4001")
    assert len(shown) < 100
    assert shown[caret.index("^")] == "$"


def expressions():
    """Random texts with the value Python gives them."""
    leaf = st.sampled_from(list(POINT.items())) | st.builds(
        lambda n, d: (f"{n}/{d}", Fraction(n, d)), st.integers(0, 30), st.integers(1, 9)
    )

    def grow(inner):
        def joined(operator, left, right):
            (ls, lv), (rs, rv) = left, right
            return f"({ls}) {operator} ({rs})", {"+": lv + rv, "-": lv - rv, "*": lv * rv}[operator]

        power = st.builds(lambda e, n: (f"({e[0]})^{n}", e[1] ** n), inner, st.integers(0, 3))
        minus = st.builds(lambda e: (f"-({e[0]})", -e[1]), inner)
        return st.builds(joined, st.sampled_from("+-*"), inner, inner) | power | minus

    return st.recursive(leaf, grow, max_leaves=12)


@given(expressions())
def test_random_expressions_have_the_value_python_gives(case):
    text, expected = case
    (formula,) = parse_formula(text).values()
    assert value(formula, POINT) == expected


@given(st.text(alphabet="ab2.*+-/^()=;#\n let$", max_size=30))
def test_any_text_is_parsed_or_refused(text):
    try:
        outputs = parse_formula(text)
    except InputError:
        return
    assert outputs


def test_depth_100000_needs_no_recursion():
    depth = 100_000
    text = "".join(f"x{n % 8} + 3*(" for n in range(depth)) + "1" + ")" * depth
    formula = parse_formula(text)["y"]
    ring = PrimeField(8191)
    expected = 1
    for n in reversed(range(depth)):
        expected = (n % 8 + 3 * expected) % 8191
    lanes = {f"x{n}": np.array([n]) for n in range(8)}
    assert evaluate(formula, lanes, ring).tolist() == [expected]
    assert facts(formula).depth == 2 * depth
    with pytest.raises(InputError, match="never closed at line 1, column 1"):
        parse_formula("(" * depth + "a")


def test_named_weights():
    found = parse_formula("weight kp = 0.8 in 0:2 # gain\nweight _k2 = -1/2 in -1:+1/4; u = kp*(e - _k2)")
    assert [node.value for node in postorder(found["u"]) if node.kind == "weight"] == [
        NamedWeight("kp", Fraction(4, 5), Fraction(0), Fraction(2)),
        NamedWeight("_k2", Fraction(-1, 2), Fraction(-1), Fraction(1, 4)),
    ]
    assert repr(found["u"]) == "kp*(e - _k2)"
    # The word is still free as a name.
    assert repr(parse_formula("weight = 3*weight_of")["weight"]) == "3*weight_of"
    assert repr(parse_formula("weight*2")["y"]) == "weight*2"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("weight kp = 3 in 0:2; u = kp", "weight kp at line 1, column 8: 3 is outside its range 0:2"),
        (
            "weight kp = 1; u = kp",
            "a weight is written like 'weight kp = 0.8 in 0:2'; expected 'in' at line 1, column 14",
        ),
        ("weight kp 1; u = kp", "a weight is written like 'weight kp = 0.8 in 0:2'; expected '=' at line 1, column 11"),
        ("weight kp = 1 in 0; u = kp", "a weight is written like 'weight kp = 0.8 in 0:2'; expected ':'"),
        ("weight kp = a in 0:2; u = kp", "expected a number at line 1, column 13"),
        ("weight kp = 1 in 0:2 3; u = kp", "nothing may follow the range of a weight at line 1, column 22"),
        ("u = kp; weight kp = 1 in 0:2", "'kp' is defined after it was used as an input at line 1, column 16"),
        ("weight kp = 1 in 0:2; kp = 3", "'kp' is defined twice at line 1, column 23"),
        ("weight kp = 1 in 0:2", "the formula has no output, only definitions"),
        ("weight kp", "a weight is written like"),
        ("weight kp =", "expected a number"),
    ],
)
def test_malformed_weights_are_refused(text, message):
    with pytest.raises(InputError) as caught:
        parse_formula(text)
    assert str(caught.value).startswith(message)
