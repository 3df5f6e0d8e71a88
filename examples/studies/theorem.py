"""Study: the theorem of Ben-Or and Cleve: length against depth as they write it and as the compiler does, and cycles
against registers."""

from fractions import Fraction

import numpy as np
import skinny
from study import BLUE, GREY, INK, ORANGE, Study, Table, axes, say

#: Ways to compile the same formula: its column, and what is asked of the compiler.
WAYS = {
    "in place": {"contract": "in-place"},
    "all promises": {},
    "linear": {"keep": "linear"},
    "reversible": {"keep": "reversible"},
    "none": {"keep": "none"},
    "none, 64 registers": {"keep": "none", "width": 64},
}
KEEPS = ("linear,reversible", "linear", "reversible", "none")
PRIME = (1 << 61) - 1


def balanced(depth, operators, names):
    """A formula as a tree of ``(operator, left, right)`` and names, with the operators of its levels in turn."""
    if not depth:
        return f"x{next(names)}"
    left, right = (balanced(depth - 1, operators, names) for _ in "ab")
    return operators[depth % len(operators)], left, right


def products(depth):
    return balanced(depth, "*", iter(range(1 << depth)))


def alternating(depth):
    return balanced(depth, "*+", iter(range(1 << depth)))


def chain(depth):
    """Horner's rule: a sum and a product in turn, each with one leaf."""
    formula = "x0"
    for level in range(1, depth + 1):
        formula = ("+*"[level % 2], f"x{level}", formula)
    return formula


SHAPES = {
    "products, balanced": (products, (1, 2, 3, 4, 5, 6)),
    "sums and products, balanced": (alternating, (1, 2, 3, 4, 5, 6)),
    "Horner's rule": (chain, (2, 4, 8, 16, 24)),
}


def random_formula(depth, rng):
    """A formula of exactly this depth; its leaves may be equal."""
    if not depth:
        return f"x{rng.integers(4)}"
    parts = [random_formula(depth - 1, rng), random_formula(int(rng.integers(depth)), rng)]
    rng.shuffle(parts)
    return "+*"[rng.integers(2)], *parts


def written(formula):
    return formula if isinstance(formula, str) else f"({written(formula[1])} {formula[0]} {written(formula[2])})"


def textbook(formula, source, target, sign=1):
    """The program of the theorem, which adds ``formula·R[source]`` to ``R[target]``."""
    if isinstance(formula, str):
        return [(target, source, sign, formula)]
    operator, f, g = formula
    if operator == "+":
        return textbook(f, source, target, sign) + textbook(g, source, target, sign)
    third = 3 - source - target
    steps = [(g, third, target, -sign), (f, source, third, 1), (g, third, target, sign), (f, source, third, -1)]
    return [line for step in steps for line in textbook(*step)]


def length(formula):
    """The length of that program, without writing it."""
    if isinstance(formula, str):
        return 1
    return (1 if formula[0] == "+" else 2) * (length(formula[1]) + length(formula[2]))


def value(formula, x, times):
    if isinstance(formula, str):
        return x[formula]
    left, right = (value(part, x, times) for part in formula[1:])
    return left + right if formula[0] == "+" else times(left, right)


def keeps_its_word(formula, draw, reduced, times=lambda a, b: a * b, swapped=False):
    """Whether the program, from random registers, adds ``formula·R1`` to ``R0`` and gives the others back; or the
    formula with the factors of its products ``swapped``."""
    x = {f"x{n}": draw() for n in range(1 << 10)}
    start = [draw() for _ in range(3)]
    registers = list(start)
    for target, source, sign, leaf in textbook(formula, 1, 0):
        registers[target] = reduced(registers[target] + sign * times(x[leaf], registers[source]))
    meant = value(formula, x, (lambda a, b: times(b, a)) if swapped else times)
    wanted = [reduced(start[0] + times(meant, start[1])), *start[1:]]
    return all(np.array_equal(a, b) for a, b in zip(registers, wanted, strict=True))


def laws(rng, count):
    """For each ring how many random programs of the theorem do what they promise."""
    modular = {"bits": 2, "numbers mod 2^16": 1 << 16, "numbers mod 2^61 - 1": PRIME}
    drawn = {name: (lambda m=m: int(rng.integers(m)), lambda a, m=m: a % m) for name, m in modular.items()}
    drawn["fractions"] = (lambda: Fraction(int(rng.integers(-9, 10)), int(rng.integers(1, 10))), lambda a: a)
    found = {}
    for name, (draw, reduced) in drawn.items():
        formulas = [random_formula(1 + n % 4, rng) for n in range(count)]
        found[name] = sum(keeps_its_word(formula, draw, reduced) for formula in formulas)
    # 2×2 matrices do not commute
    matrices = (lambda: rng.integers(-3, 4, (2, 2)), lambda a: a, lambda a, b: a @ b)
    for name, swapped in {"2×2 matrices": False, "2×2 matrices, factors swapped": True}.items():
        formulas = [random_formula(1 + n % 3, rng) for n in range(count)]
        found[name] = sum(keeps_its_word(formula, *matrices, swapped) for formula in formulas)
    return found


def lengths(shape, depths, most):
    rows = []
    for depth in depths:
        formula = shape(depth)
        known = length(formula)
        say(f"{written(formula)[:20]}…, depth {depth}")
        row = {"depth": depth, "4^d": 4**depth, "textbook": known}
        for way, asked in WAYS.items():
            row[way] = skinny.compile(written(formula), **asked).info()["words"] if known <= most else None
        rows.append(row)
    return rows


def curves(widths, depth):
    """Cycles of a product of 2^depth factors against the registers that its program may use."""
    text, found = written(products(depth)), {}
    for keep in KEEPS:
        say(f"registers, --keep {keep}")
        programs = [skinny.compile(text, keep=keep, width=width) for width in widths]
        counts = [program.info()["words"] + 1 for program in programs]
        found[keep] = np.minimum.accumulate(counts).tolist()
    return found


def measure(quick):
    rng = np.random.default_rng(0)
    found = {"laws": laws(rng, 20 if quick else 100), "programs": 20 if quick else 100}
    most = 400 if quick else 1 << 40
    found["lengths"] = {
        name: lengths(shape, depths[:3] if quick else depths, most) for name, (shape, depths) in SHAPES.items()
    }
    found["widths"] = [3, 16] if quick else [3, 4, 5, 6, 8, 12, 16, 32, 64, 128]
    found["curves"] = curves(found["widths"], 4 if quick else 6)
    return found


def tables(found):
    rows = [[name, count, found["programs"]] for name, count in found["laws"].items()]
    out = [Table("programs of the theorem that keep their word", ["ring", "right", "of"], rows)]
    for name, lengths in found["lengths"].items():
        out.append(Table(f"{name}: words of program", list(lengths[0]), [list(row.values()) for row in lengths]))
    rows = [[f"keep {keep}", *counts] for keep, counts in found["curves"].items()]
    title = "cycles of a product of 64 on at most so many registers"
    return [*out, Table(title, ["registers", *map(str, found["widths"])], rows)]


def draw(found):
    figure, panels = axes(2, 2)
    styles = dict(zip([*list(WAYS)[:2], "linear", "none, 64 registers"], (BLUE, INK, ORANGE, GREY), strict=True))
    for panel, (name, rows) in zip(panels, found["lengths"].items(), strict=False):
        depths = [row["depth"] for row in rows]
        panel.semilogy(depths, [row["4^d"] for row in rows], color=GREY, linestyle="--", label="$4^d$")
        panel.plot(depths, [row["textbook"] for row in rows], color=GREY, marker="^", markersize=5, label="textbook")
        for way, colour in styles.items():
            points = [(row["depth"], row[way]) for row in rows if row[way]]
            style = {"linestyle": ":"} if colour == GREY else {}
            panel.plot(*zip(*points, strict=True), color=colour, marker="o", markersize=4, label=way, **style)
        panel.set(xlabel="depth d", ylabel="words of program", title=name)
        panel.set_ylim(1, 10 * max(row["textbook"] for row in rows if row["all promises"]))
    panels[0].legend(fontsize=8, title="in place and below: compiled", title_fontsize=8)
    last = panels[3]
    for (keep, counts), (colour, mark, size) in zip(
        found["curves"].items(), ((BLUE, "o", 8), (ORANGE, "^", 8), (GREY, "s", 4), (INK, "D", 3)), strict=True
    ):
        last.loglog(found["widths"], counts, color=colour, marker=mark, markersize=size, linewidth=1, label=keep)
    last.set(xlabel="registers at most", ylabel="cycles", title="a product of 64")
    last.set_xticks(found["widths"], [str(width) for width in found["widths"]])
    last.set_xticks([], minor=True)
    last.legend(fontsize=8, title="keep", title_fontsize=8)
    return figure


STUDY = Study(__file__, measure, tables, draw)

if __name__ == "__main__":
    STUDY.main()
