"""Functions on a box: least degrees and proven errors of twenty usual ones, with mpmath as the judge; and refusals."""

import math
import re
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from skinny.model.errors import InputError
from skinny.model.formula.formula import Formula, evaluate, facts, formula_text, variables
from skinny.model.formula.function import Sampled, apply
from skinny.model.formula.parse import parse_formula
from skinny.model.functions.approximate import OutOfReachError, approximate
from skinny.model.rings import Exact

POINTS = 701


def sigmoid(x):
    return 1 / (1 + mpmath.exp(-x))


USUAL = [
    ("sin(x)", "-1.6", "1.6", mpmath.sin),
    ("sin(x)", "-3.2", "3.2", mpmath.sin),
    ("cos(x)", "-1.6", "1.6", mpmath.cos),
    ("tan(x)", "-0.8", "0.8", mpmath.tan),
    ("exp(x)", "-1", "1", mpmath.exp),
    ("exp(-x)", "0", "5", lambda x: mpmath.exp(-x)),
    ("log(x)", "1", "2", mpmath.log),
    ("log(1 + x)", "0", "1", lambda x: mpmath.log(1 + x)),
    ("sqrt(x)", "0.25", "1", mpmath.sqrt),
    ("1/sqrt(x)", "1", "4", lambda x: 1 / mpmath.sqrt(x)),
    ("1/x", "1", "2", lambda x: 1 / x),
    ("3/(1 + x)", "0", "1", lambda x: 3 / (1 + x)),
    ("1/(1 + x^2)", "-2", "2", lambda x: 1 / (1 + x * x)),
    ("tanh(x)", "-3", "3", mpmath.tanh),
    ("sigmoid(x)", "-6", "6", sigmoid),
    ("x*sigmoid(x)", "-4", "4", lambda x: x * sigmoid(x)),
    ("log(1 + exp(x))", "-4", "4", lambda x: mpmath.log(1 + mpmath.exp(x))),
    ("erf(x)", "-2", "2", mpmath.erf),
    ("exp(-x^2)", "-2", "2", lambda x: mpmath.exp(-x * x)),
    ("sin(cos(x))", "-3", "3", lambda x: mpmath.sin(mpmath.cos(x))),
    ("3*sin(x) + exp(-x/2)", "0", "6.3", lambda x: 3 * mpmath.sin(x) + mpmath.exp(-x / 2)),
    ("x*log(x)", "0.1", "2", lambda x: x * mpmath.log(x)),
    ("sqrt(1 - x^2)", "-0.9", "0.9", lambda x: mpmath.sqrt(1 - x * x)),
]


def mp(value):
    return mpmath.mpf(value.numerator) / value.denominator


def approximated(text, box, error):
    (found,) = approximate(parse_formula(text), box, Fraction(error)).values()
    return found


def values(formula, lanes):
    """A polynomial at points, in exact arithmetic."""
    return evaluate(formula, {name: np.array(lane, dtype=object) for name, lane in lanes.items()}, Exact())


def level(reference, points):
    """An error that no polynomial is below whose degree is two less than there are points (de la Vallée-Poussin)."""
    scales = [1 / mpmath.fprod(p - q for q in points if q != p) for p in points]
    sums = mpmath.fsum(scale * reference(p) for scale, p in zip(scales, points, strict=True))
    return abs(sums) / mpmath.fsum(map(abs, scales))


def is_unreachable(reference, low, high, degree, error):
    """Whether some reference proves that no polynomial of ``degree`` is within ``error``. First those of Chebyshev, for
    this degree and for the next, which is no harder to meet; then the better of the two climbs, point by point."""
    middle, half = (low + high) / 2, (high - low) / 2
    references = [
        [mp(middle) - mp(half) * mpmath.cospi(mpmath.mpf(k) / (count - 1)) for k in range(count)]
        for count in (degree + 2, degree + 3)
    ]
    points = max(references, key=lambda points: level(reference, points))
    step = mp(half) / (4 * len(points))
    while (best := level(reference, points)) <= error and step > mp(half) / 1000:
        moves = [
            [*points[:k], points[k] + side * step, *points[k + 1 :]] for k in range(len(points)) for side in (-1, 1)
        ]
        moves = [move for move in moves if mp(low) <= move[0] and move[-1] <= mp(high) and sorted(move) == move]
        points = max([points, *moves], key=lambda points: level(reference, points))
        step = step / 2 if level(reference, points) <= best else step
    return best > error


@pytest.mark.parametrize("error", ["1e-3", "1e-4"])
@pytest.mark.parametrize(("text", "low", "high", "reference"), USUAL)
def test_usual_functions(text, low, high, reference, error):
    low, high = Fraction(low), Fraction(high)
    found = approximated(text, {"x": (low, high)}, error)
    assert (found.proven, found.whole, len(found.parts)) == (True, True, 1)
    assert facts(found.formula).degree == found.degree == found.parts[0].degree
    points = [low + (high - low) * k / (POINTS - 1) for k in range(POINTS)]
    with mpmath.workdps(50):
        worst = max(
            abs(mp(y) - reference(mp(x))) for x, y in zip(points, values(found.formula, {"x": points}), strict=True)
        )
        assert worst <= mp(found.error) <= 1.05 * worst
        assert found.error <= Fraction(error)
        assert is_unreachable(reference, low, high, found.degree - 1, mpmath.mpf(error))


def test_coefficients_in_the_basis_of_the_box():
    found = approximated("exp(x)", {"x": (Fraction(0), Fraction(3))}, "1e-3")
    (part,) = found.parts
    points = [Fraction(3 * k, 20) for k in range(21)]
    mapped = [float(t) for t in values(part.form, {"x": points})]
    assert (mapped[0], mapped[-1]) == (-1.0, 1.0)
    expected = np.polynomial.chebyshev.chebval(mapped, [float(c) for c in part.chebyshev])
    np.testing.assert_allclose(values(found.formula, {"x": points}).astype(float), expected, rtol=1e-12)


SEVERAL = [
    ("x*sin(x)*z + exp(x - z) + z", lambda x, z: x * mpmath.sin(x) * z + mpmath.exp(x - z) + z, 2),
    ("3*sin(x)*z^2 - 1/(z + 4)", lambda x, z: 3 * mpmath.sin(x) * z**2 - 1 / (z + 4), 2),
    ("(x + tanh(z))^3 + exp(1)*x*z", lambda x, z: (x + mpmath.tanh(z)) ** 3 + mpmath.e * x * z, 2),
    ("x + exp(x + z) + z", lambda x, z: x + mpmath.exp(x + z) + z, 1),
    ("sin(x)*z + sin(x)*x*z^2", lambda x, z: mpmath.sin(x) * (z + x * z**2), 2),
]


@pytest.mark.parametrize(("text", "reference", "parts"), SEVERAL)
def test_several_inputs(text, reference, parts):
    box = {"x": (Fraction(-1), Fraction(1)), "z": (Fraction(-2), Fraction(2))}
    found = approximated(text, box, "1e-3")
    assert len(found.parts) == parts
    assert found.proven
    pairs = [(Fraction(i, 20), Fraction(j, 10)) for i in range(-20, 21) for j in range(-20, 21)]
    lanes = dict(zip(("x", "z"), zip(*pairs, strict=True), strict=True))
    with mpmath.workdps(30):
        errors = [
            abs(mp(y) - reference(mp(x), mp(z))) for (x, z), y in zip(pairs, values(found.formula, lanes), strict=True)
        ]
        assert max(errors) <= mp(found.error) <= mpmath.mpf("1e-3")
        assert mp(found.error) <= 2 * max(errors)


def test_the_larger_share_gets_the_higher_degree():
    """What is multiplied by 100 needs a polynomial that is a hundred times as near."""
    box = {"x": (Fraction(-1), Fraction(1)), "z": (Fraction(-1), Fraction(1))}
    found = approximated("100*exp(x)*z + exp(z)*x", box, "0.012")
    degrees = {formula_text(part.source): part.degree for part in found.parts}
    assert degrees == {"exp(x)": 5, "exp(z)": 3}


def test_small_shares_do_not_raise_degrees():
    """The nearest cubic to the exponential on -1:1 is off by 0.0055, which is 0.000055 of each term here."""
    box = {"x": (Fraction(-1), Fraction(1)), "z": (Fraction(-1), Fraction(1))}
    found = approximated("exp(x)*z/100 + exp(z)*x/100", box, "0.00012")
    assert [part.degree for part in found.parts] == [3, 3]


def test_outputs_without_functions_stay():
    outputs = parse_formula("a = x*w; b = exp(x)")
    found = approximate(outputs, {"x": (Fraction(0), Fraction(1))}, Fraction(1, 100))
    assert found["a"].formula is outputs["a"]
    assert (found["a"].error, found["a"].parts, found["b"].degree) == (0, (), 2)


def test_a_range_of_one_point_is_a_number():
    found = approximated("exp(x)", {"x": (Fraction(1), Fraction(1))}, "1e-6")
    assert found.degree == 0
    (value,) = values(found.formula, {"x": [Fraction(1)]})
    assert abs(float(value) - math.e) <= float(found.error) <= 1e-6


def test_the_root_at_zero_is_proven():
    found = approximated("sqrt(x)", {"x": (Fraction(0), Fraction(1))}, "0.01")
    points = [Fraction(k, 1000) ** 2 for k in range(1001)]
    worst = max(abs(float(y) - math.sqrt(x)) for x, y in zip(points, values(found.formula, {"x": points}), strict=True))
    assert worst <= float(found.error) <= 0.01


def test_the_reachable_error_can_be_reached():
    box = {"x": (Fraction(-1), Fraction(1))}
    with pytest.raises(OutOfReachError) as caught:
        approximated("1/(1 + 25*x^2)", box, "1e-4")
    assert str(caught.value) == (
        "output y: 1/(1 + 25*x^2) is out of reach on this box: a polynomial of degree 40, the highest, gives an error "
        "of 0.00018"
    )
    assert approximated("1/(1 + 25*x^2)", box, "0.00018").degree == 40


@pytest.mark.parametrize("text", ["exp(x)", "sqrt(x)", "1000*sin(9*x)", "log(x + 0.001) + tanh(20*x)", "sin(999*x)"])
def test_an_error_that_is_named_can_be_asked_for(text):
    box = {"x": (Fraction(0), Fraction(1))}
    with pytest.raises(OutOfReachError) as caught:
        approximated(text, box, "1e-20")
    (named,) = re.findall("gives an error of (.*)$", str(caught.value))
    assert caught.value.reachable == float(named) <= (1.1 if text.startswith("sin") else math.inf)
    assert approximated(text, box, named).error <= Fraction(named)


def test_the_output_that_is_furthest_off_is_named():
    outputs = parse_formula("a = sqrt(x); b = 2*sqrt(x); c = sqrt(x)/2; d = exp(x)")
    with pytest.raises(OutOfReachError, match=r"^output b: 2\*sqrt\(x\) is out of reach") as caught:
        approximate(outputs, {"x": (Fraction(0), Fraction(1))}, Fraction("1e-4"))
    # Degree 40 leaves 0.0036 of the root: E_n of the root on 0:1 is about 0.28/(2n) (Bernstein, of |x| on -1:1).
    assert 2 * 0.28 / 80 < caught.value.reachable < 2 * 0.28 / 80 * 1.1


@pytest.mark.parametrize(
    ("text", "box", "error", "message"),
    [
        ("sin(x)", {}, "1e-3", "functions need the range of every input: --box x=LOW:HIGH is missing"),
        ("sin(x)", {"x": (2, 1)}, "1e-3", "the range of x ends before it begins: 2 to 1"),
        ("sin(x)", {"x": (0, 1)}, "0", "the error must be above zero, not 0"),
        ("log(x)", {"x": (0, 1)}, "1e-3", "log(x) cannot be computed on this box: log is defined above zero only"),
        ("2/(x - 1)", {"x": (0, 3)}, "1e-3", "1/(x - 1) cannot be computed on this box: 1/x has a pole at zero"),
        ("sqrt(x*y)", {"x": (0, 1), "y": (0, 1)}, "1e-3", "the argument of sqrt, x*y, depends on more than one form"),
        ("log(x^2)", {"x": (-1, 2)}, "1e-3", "log(x^2) cannot be computed on this box: log is defined above zero only"),
    ],
)
def test_refusals_are_one_line(text, box, error, message):
    with pytest.raises(InputError) as caught:
        approximated(text, {name: tuple(map(Fraction, ends)) for name, ends in box.items()}, error)
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


def test_callables_and_tables_are_sampled_and_say_so():
    (x,) = variables("x")
    box = {"x": (Fraction(0), Fraction(1))}
    table = Sampled([(k / 20, math.sin(k / 20)) for k in range(21)])
    for formula in (Sampled(math.sin)(x), table(x), apply("sin", x)):
        found = approximate({"y": formula}, box, Fraction("1e-3"))["y"]
        assert (found.proven, found.degree) == (formula.value == "sin", 3)
        assert found.error <= Fraction("1e-3")


def test_a_table_with_too_few_points_is_refused():
    (x,) = variables("x")
    table = Sampled([(k, math.sin(k)) for k in range(6)])
    with pytest.raises(
        OutOfReachError, match=r"degree 4, the highest for the 6 points of its table, gives an error of 0\.[0-9]+$"
    ):
        approximate({"y": table(x)}, {"x": (Fraction(0), Fraction(5))}, Fraction("1e-6"))


class Named:
    """As a named weight is: with a range of its own."""

    name, low, high = "gain", Fraction(0), Fraction(2)


def test_named_weights_keep_their_node():
    gain = Formula("weight", value=Named())
    (x,) = variables("x")
    found = approximate({"y": gain * apply("sin", x)}, {"x": (Fraction(-1), Fraction(1))}, Fraction("1e-3"))["y"]
    assert gain in found.formula.args
    assert found.error == pytest.approx(2 * found.parts[0].error, rel=1e-9)
