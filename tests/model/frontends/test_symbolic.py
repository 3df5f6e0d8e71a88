"""Expressions of SymPy against SymPy's own values."""

import random
from fractions import Fraction

import numpy as np
import pytest
import sympy
from skinny.model.compiler.pipeline import Precision, compile_formula
from skinny.model.errors import InputError
from skinny.model.frontends.symbolic import import_expressions
from skinny.model.rings import Exact
from skinny.model.run.golden import run

X, Y, Z = sympy.symbols("x y z")
W = sympy.IndexedBase("w")
A = sympy.MatrixSymbol("A", 2, 2)


def exact(number):
    return Fraction(int(number.p), int(number.q))


def values(given, point):
    """What the compiled program gives at a point, rationals of SymPy by symbol."""
    written = import_expressions(given)
    program = compile_formula(written.outputs, width=64, keep=frozenset(), inputs=written.inputs).program
    known = {str(symbol): exact(value) for symbol, value in point.items()}
    row = np.array([[known[name] for name in program.inputs]], dtype=object)
    return dict(zip((out.name for out in program.outputs), run(program, Exact(), row).outputs[0], strict=True))


def point_of(*symbols, seed=0):
    chance = random.Random(seed)
    return {symbol: sympy.Rational(chance.randrange(-9, 10), chance.randrange(1, 5)) for symbol in symbols}


@pytest.mark.parametrize(
    "expression",
    [
        X,
        sympy.Integer(3),
        X + 2 * Y - Z / 3,
        (X + Y) ** 3 - X * Y * Z,
        sympy.expand((X - 1) ** 4),
        sympy.Poly(X**5 - 2 * X * Y + sympy.Rational(1, 7), X, Y),
        sympy.chebyshevt(6, X),
        sympy.Max(0, X - Y) + X,
        sympy.Float(0.1) * X,
        sympy.prod(X - n for n in range(4)),
    ],
    ids=str,
)
def test_polynomials_are_what_sympy_says(expression):
    for seed in range(3):
        point = point_of(X, Y, Z, seed=seed)
        plain = expression.as_expr() if isinstance(expression, sympy.Poly) else expression
        wanted = sympy.Rational(plain.subs(point))
        found = values(expression, point)["y"]
        assert abs(found - exact(wanted)) < Fraction(1, 10**12)  # SymPy rounds what it adds to a float


def test_several_expressions_by_name():
    point = {X: sympy.Integer(5), Y: sympy.Integer(3)}
    assert values({"u": X * Y, "v": X - Y, "one": 1}, point) == {"u": 15, "v": 2, "one": 1}
    assert values({sympy.Symbol("u"): X}, point) == {"u": 5}
    assert values([X, sympy.Eq(Z, X + Y), 2], point) == {"y0": 5, "z": 8, "y2": 2}
    assert values([X + Y], point) == {"y0": 8}


def test_matrices_are_rows_of_outputs():
    point = {X: sympy.Integer(5), Y: sympy.Integer(3)}
    assert values(sympy.Matrix([[X, Y], [X * Y, 1]]), point) == {"y0": 5, "y1": 3, "y2": 15, "y3": 1}
    assert values(sympy.ImmutableMatrix([X, Y]), point) == {"y0": 5, "y1": 3}
    assert values(sympy.Array([[X], [Y]]), point) == {"y0": 5, "y1": 3}
    assert values({"m": sympy.Matrix([X + Y, Y])}, point) == {"m0": 8, "m1": 3}
    assert values(sympy.Eq(sympy.MatrixSymbol("z", 2, 1), sympy.Matrix([X, Y])), point) == {"z0": 5, "z1": 3}


def test_elements_are_inputs():
    assert import_expressions(X * W[3] + W[10]).inputs == ("w3", "w10", "x")
    found = import_expressions(A * sympy.Matrix([1, 2]))
    assert found.inputs == ("A0_0", "A0_1", "A1_0", "A1_1")
    assert repr(found.outputs["y1"]) in ("A1_0 + 2*A1_1", "2*A1_1 + A1_0")


def test_equal_parts_are_one():
    formula = import_expressions((X + Y) ** 2 * Z + sympy.Max(0, X + Y))
    seen = [node for node in _nodes(formula.outputs["y"]) if repr(node) in ("x + y", "y + x")]
    assert len({id(node) for node in seen}) == 1


def _nodes(formula):
    stack = [formula]
    while stack:
        node = stack.pop()
        yield node
        stack += node.args


def test_numbers_that_are_not_rational():
    (formula,) = import_expressions(sympy.pi * sympy.sqrt(2)).outputs.values()
    assert abs(float(formula.value) - 4.442882938158366) < 1e-15
    error = abs(formula.value - Fraction("4.4428829381583662470158809900606936986146216893757"))
    assert 0 < error < Fraction(1, 10**38)
    assert import_expressions(sympy.Float(0.1)).outputs["y"].value == Fraction(0.1)


@pytest.mark.parametrize(
    "expression",
    [
        sympy.exp(-X) + sympy.sin(X),
        sympy.sqrt(X + Y),
        1 / (X + 1),
        X ** sympy.Rational(-3, 2),
        sympy.log(X) * Y,
        sympy.erf(X) - sympy.cos(Y),
        sympy.tanh(X),
        3 / (1 + sympy.exp(1 - 2 * X)),
        sympy.E**2 * X,
    ],
    ids=str,
)
def test_functions_are_what_sympy_says(expression):
    written = import_expressions(expression)
    box = {name: (Fraction(1), Fraction(2)) for name in written.inputs}
    found = compile_formula(written.outputs, precision=Precision(32, None, box, Fraction(1, 1000), False))
    program = found.program
    for x, y in ((1, 2), (1.25, 1.5), (2, 1)):
        known = {"x": x, "y": y}
        row = np.array([[Fraction(known[name]) for name in program.inputs]], dtype=object)
        value = float(run(program, Exact(), row).outputs[0, 0])
        assert abs(value - float(expression.subs({X: x, Y: y}))) < 0.001


def test_a_sigmoid_is_one_function():
    assert repr(import_expressions(3 / (1 + sympy.exp(1 - 2 * X))).outputs["y"]) == "3*sigmoid(-1 + 2*x)"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (sympy.cosh(X), r"cosh\(x\) has no formula: cosh is none of "),
        (sympy.Piecewise((X, X > 0), (0, True)), "Piecewise is none of "),
        (sympy.Abs(X), "Abs is none of "),
        (sympy.Function("f")(X), r"f\(x\) has no formula"),
        (sympy.I * X, "I has no formula: ImaginaryUnit is none of "),
        (sympy.oo, "oo has no formula"),
        (X > Y, "x > y has no formula: StrictGreaterThan is none of "),
        (X**Y, r"x\*\*y has no formula: exponents are whole numbers, or halves, which are roots"),
        (X ** sympy.Rational(1, 3), "exponents are whole numbers, or halves"),
        (sympy.Eq(X + Y, 3), r"an equation says what a name is, Eq\(y, …\), not Eq\(x \+ y, 3\)"),
        (sympy.Eq(X, X), "True is no expression: SymPy took both sides"),
        (sympy.Symbol("α"), "the symbol 'α' is not a name"),
        (X + sympy.Symbol("x", positive=True), "there are two different symbols 'x'"),
        (W[sympy.Symbol("n")], r"w\[n\] has no formula: an index is a whole number"),
        ({"a b": X}, "the name of an output must be letters, digits and _, not a b"),
        ([X, sympy.Eq(sympy.Symbol("y0"), Y)], "there are two outputs 'y0'"),
        ([X, "y"], "y has no formula: str is none of "),
        (sympy.Matrix([]), "the expression is empty"),
    ],
    ids=str,
)
def test_what_has_no_formula_is_refused(given, message):
    with pytest.raises(InputError, match=message):
        import_expressions(given)
