"""Published polynomials on their usual boxes, for ``skinny bench precision``.

They are facts, written in our language of formulas, in the order in which their sources write them: FPBench (with
the benchmarks of Rosa, Daisy and FPTaylor), the collection of Burkardt after Ray and Nataraj and after Muñoz and
Narkawicz, the usual test functions of optimisation, and textbooks.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple

__all__ = ["POLYNOMIALS", "Polynomial"]


class Polynomial(NamedTuple):
    """A formula and the box of its inputs, ``name=low:high`` in the order of first use; several names may share a
    range, ``x y=-1:1``. ``cycles`` is the length before precision was part of compiling, where the issue gives it;
    ``ratio`` replaces the general limit of the error over that of the text. The rest are options of the compiler."""

    name: str
    source: str
    text: str
    box: str
    cycles: int | None = None
    ratio: float | None = None
    width: int = 3
    keep: str = "linear,reversible"
    scale: bool = False

    @property
    def options(self) -> str:
        """The options of ``skinny compile`` that are not the defaults."""
        width = [f"--width {self.width}"] if self.width > 3 else []
        return " ".join(width + ["--keep none"] * (self.keep == "none") + ["--scale auto"] * self.scale)

    @property
    def ranges(self) -> dict[str, tuple[Fraction, Fraction]]:
        """The range of each input."""
        out = {}
        for part in self.box.split(", "):
            names, _, ends = part.partition("=")
            low, _, high = ends.partition(":")
            out.update({name: (Fraction(low), Fraction(high)) for name in names.split()})
        return out


def recurrence(second: str, step: Callable[[int, str, str], str], degree: int) -> str:
    """The polynomial p_degree, from p1 = x, p2 = ``second`` and p_n = ``step(n, p_(n-1), p_(n-2))``."""
    names = ["", "x", *(f"p{n}" for n in range(2, degree)), "y"]
    steps = [second, *(step(n, names[n - 1], names[n - 2]) for n in range(3, degree + 1))]
    return "; ".join(f"{'let ' * (name != 'y')}{name} = {text}" for name, text in zip(names[2:], steps, strict=True))


def chebyshev(degree: int) -> str:
    return recurrence("2*x*x - 1", lambda n, last, before: f"2*x*{last} - {before}", degree)


def legendre(degree: int) -> str:
    return recurrence("(3*x*x - 1)/2", lambda n, p, q: f"({2 * n - 1}*x*{p} - {n - 1}*{q})/{n}", degree)


def runge_kutta(step: str) -> str:
    """A classical fourth-order step of the logistic equation x' = x·(1 - x): four nested stages."""
    stages = ["let k1 = x*(1 - x)"]
    for n, part in ((2, f"{step}/2"), (3, f"{step}/2"), (4, step)):
        stages.append(f"let x{n} = x + {part}*k{n - 1}; let k{n} = x{n}*(1 - x{n})")
    return "; ".join(stages) + f"; y = x + {step}/6*(k1 + 2*k2 + 2*k3 + k4)"


HEART = """\
a*t^3 - 3*a*t*v^2 + c*v^3 - 3*c*v*t^2 + b*u^3 - 3*b*u*w^2 + d*w^3 - 3*d*w*u^2 + 0.9563453"""
HEART_BOX = "a=-0.1:0.4, b=0.4:1, c=-0.7:-0.4, d=-0.7:0.4, u=0.1:0.2, t=-0.1:0.2, v=-0.3:1.1, w=-1.1:-0.3"
SIX = "x1 x2 x3 x4 x5 x6=4:6.36"

POLYNOMIALS = [
    # One variable.
    Polynomial(
        "sine", "FPBench", "x - x*x*x/6 + x*x*x*x*x/120 - x*x*x*x*x*x*x/5040", "x=-1.57079632679:1.57079632679", 11
    ),
    Polynomial("sineOrder3", "FPBench", "0.954929658551372*z - 0.12900613773279798*(z*z*z)", "z=-2:2"),
    Polynomial("sqroot", "FPBench", "1 + 0.5*y - 0.125*y*y + 0.0625*y*y*y - 0.0390625*y*y*y*y", "y=0:1", 9),
    Polynomial("Chebyshev T5", "textbook", chebyshev(5), "x=-1:1", 8),
    Polynomial("Chebyshev T10", "textbook", chebyshev(10), "x=-1:1", 16),
    Polynomial("Legendre P5", "textbook", legendre(5), "x=-1:1", 8),
    Polynomial("Legendre P10", "textbook", legendre(10), "x=-1:1", 16),
    Polynomial("bspline0", "Daisy", "(1 - u)*(1 - u)*(1 - u)/6", "u=0:1"),
    Polynomial("bspline1", "Daisy", "(3*u*u*u - 6*u*u + 4)/6", "u=0:1"),
    Polynomial("bspline2", "Daisy", "(-3*u*u*u + 3*u*u + 3*u + 1)/6", "u=0:1"),
    Polynomial("bspline3", "Daisy", "-u*u*u/6", "u=0:1", 4),
    Polynomial("exp of degree 5", "textbook", "1 + x + x^2/2 + x^3/6 + x^4/24 + x^5/120", "x=-1:1"),
    Polynomial("cos by Horner", "textbook", "let s = x*x; y = 1 + s*(-1/2 + s*(1/24 - s/720))", "x=-1.5708:1.5708"),
    Polynomial("sensor", "issue 13", "let n = v/4096; T = -38.1764 + 179.48*n - 20.19*n^2", "v=0:4095", scale=True),
    Polynomial("rk4 of step 0.1", "textbook", runge_kutta("0.1"), "x=0:1", width=4, keep="none"),
    # Several variables.
    Polynomial("rigidBody1", "FPBench", "-x1*x2 - 2*x2*x3 - x1 - x3", "x1 x2 x3=-15:15"),
    Polynomial("rigidBody2", "FPBench", "2*x1*x2*x3 + 3*x3*x3 - x2*x1*x2*x3 + 3*x3*x3 - x2", "x1 x2 x3=-15:15"),
    Polynomial("kepler0", "FPBench", "x2*x5 + x3*x6 - x2*x3 - x5*x6 + x1*(-x1 + x2 + x3 - x4 + x5 + x6)", SIX),
    Polynomial(
        "kepler1",
        "FPBench",
        "x1*x4*(-x1 + x2 + x3 - x4) + x2*(x1 - x2 + x3 + x4) + x3*(x1 + x2 - x3 + x4) - x2*x3*x4 - x1*x3 - x1*x2 - x4",
        "x1 x2 x3 x4=4:6.36",
    ),
    Polynomial(
        "kepler2",
        "FPBench",
        "x1*x4*(-x1 + x2 + x3 - x4 + x5 + x6) + x2*x5*(x1 - x2 + x3 + x4 - x5 + x6)"
        " + x3*x6*(x1 + x2 - x3 + x4 + x5 - x6) - x2*x3*x4 - x1*x3*x5 - x1*x2*x6 - x4*x5*x6",
        SIX,
    ),
    Polynomial("delta4", "FPTaylor", "-x2*x3 - x1*x4 + x2*x5 + x3*x6 - x5*x6 + x1*(-x1 + x2 + x3 - x4 + x5 + x6)", SIX),
    Polynomial(
        "determinant",
        "Daisy",
        "a*e*i + b*f*g + c*d*h - (c*e*g + b*d*i + a*f*h)",
        "a b c d e f g h i=-10:10",
    ),
    Polynomial(
        "floudas1",
        "FPBench",
        "-25*(x1 - 2)^2 - (x2 - 2)^2 - (x3 - 1)^2 - (x4 - 4)^2 - (x5 - 1)^2 - (x6 - 4)^2",
        "x1 x2 x4 x5=0:6, x3=1:5, x6=0:10",
    ),
    Polynomial("schwefel", "Burkardt", "(x - y^2)^2 + (y - 1)^2 + (x - z^2)^2 + (z - 1)^2", "x y z=-10:10", 27),
    Polynomial("heart dipole", "Burkardt", HEART, HEART_BOX, 63, ratio=7),
    Polynomial("heart dipole on four", "Burkardt", HEART, HEART_BOX, 63, width=4),
    Polynomial("himmelblau", "Burkardt", "(x^2 + y - 11)^2 + (x + y^2 - 7)^2", "x y=-5:5", 25),
    Polynomial(
        "Goldstein-Price",
        "Burkardt",
        "let g = 1 + (x + y + 1)^2*(19 - 14*x + 3*x^2 - 14*y + 6*x*y + 3*y^2);"
        " let h = 30 + (2*x - 3*y)^2*(18 - 32*x + 12*x^2 + 48*y - 36*x*y + 27*y^2); z = g*h",
        "x y=-2:2",
    ),
    Polynomial(
        "caprasse",
        "Burkardt",
        "-a*c^3 + 4*b*c^2*d + 4*a*c*d^2 + 2*b*d^3 + 4*a*c + 4*c^2 - 10*b*d - 10*d^2 + 2",
        "a b c d=-0.5:0.5",
    ),
    Polynomial(
        "butcher",
        "Burkardt",
        "f*b^2 + e*c^2 - a*d^2 + d^3 + d^2 - 1/3*a + 4/3*d",
        "a=-1:0, b=-0.1:0.9, c=-0.1:0.5, d=-1:-0.1, e=-0.1:-0.05, f=-0.1:-0.003",
    ),
    Polynomial("magnetism", "Burkardt", "2*a^2 + 2*b^2 + 2*c^2 + 2*d^2 + 2*e^2 + f^2 - f", "a b c d e f=-5:5"),
    Polynomial(
        "hunecke",
        "Burkardt",
        "b^6*c + b*c^6 + a^2*b^4*e - 3*a*b^2*c^2*d*e + c^4*d^2*e - a^3*c*d*e^2 - a*b*d^3*e^2 + b*c*e^5",
        "a=0:1, b=2:3, c e=-2:-1, d=1:3",
        width=8,
        keep="none",
        scale=True,
    ),
    Polynomial("Lotka-Volterra 3", "Burkardt", "a*b^2 + a*c^2 - 1.1*a + 1", "a b c=-1.5:2"),
    Polynomial("Lotka-Volterra 4", "Burkardt", "a*b^2 + a*c^2 + a*d^2 - 1.1*a + 1", "a b c d=-2:2"),
    Polynomial("reaction", "Burkardt", "-a + 2*b - c - 0.835634534*b - 0.835634534*b^2", "a b c=-5:5"),
    Polynomial("cyclic5", "Burkardt", "a*b*c*d + a*b*c*e + a*b*d*e + a*c*d*e + b*c*d*e", "a b c d e=-10:10"),
    Polynomial("six-hump camel", "Burkardt", "4*x^2 - 2.1*x^4 + 1/3*x^6 + x*y - 4*y^2 + 4*y^4", "x y=-3:3"),
    Polynomial("three-hump camel", "optimisation", "2*x^2 - 1.05*x^4 + x^6/6 + x*y + y^2", "x y=-5:5", scale=True),
    Polynomial("rosenbrock", "optimisation", "100*(y - x^2)^2 + (1 - x)^2", "x y=-2.048:2.048"),
    Polynomial("matyas", "optimisation", "0.26*(x^2 + y^2) - 0.48*x*y", "x y=-10:10"),
    Polynomial("booth", "optimisation", "(x + 2*y - 7)^2 + (2*x + y - 5)^2", "x y=-10:10"),
    Polynomial(
        "beale",
        "optimisation",
        "(1.5 - x + x*y)^2 + (2.25 - x + x*y^2)^2 + (2.625 - x + x*y^3)^2",
        "x y=-4.5:4.5",
    ),
    Polynomial("styblinski", "optimisation", "0.5*(x^4 - 16*x^2 + 5*x + y^4 - 16*y^2 + 5*y)", "x y=-5:5"),
    Polynomial("motzkin", "algebra", "x^4*y^2 + x^2*y^4 - 3*x^2*y^2 + 1", "x y=-2:2"),
    Polynomial(
        "robinson",
        "algebra",
        "x^6 + y^6 - x^4*y^2 - x^2*y^4 - x^4 - y^4 - x^2 - y^2 + 3*x^2*y^2 + 1",
        "x y=-2:2",
    ),
    Polynomial("rk4 of any step", "textbook", runge_kutta("h"), "x=0:1, h=0:0.25", width=4, keep="none"),
    Polynomial(
        "Lotka-Volterra step",
        "textbook",
        "p = x + 0.1*x*(1.1 - 0.4*y); q = y + 0.1*y*(0.1*x - 0.4)",
        "x y=0:10",
    ),
]
