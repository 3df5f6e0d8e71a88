"""Study: compositional sparsity: a tree of small functions against its expansion, and dense forms that are pruned until
the graph is left."""

import numpy as np
import skinny
from study import BLUE, GREY, INK, ORANGE, Study, Table, axes, say

KEEPS = ("linear,reversible", "none")
#: The deepest tree that is compiled with all promises, and the deepest that is multiplied out.
PURE, EXPANDED = 3, 3
INPUTS, ROWS = 6, (400, 200, 400)
#: What a form must weigh, in parts of its largest weight, to count as zero when nothing was pruned.
SMALL = 0.01


def coefficients(rng):
    """Of the constituent ``w0 + w1·a + w2·b + w3·ab``."""
    return [int(w) for w in rng.integers(2, 10, 4)]


def tree(depth, rng):
    """The constituents of a binary tree of 2^depth inputs, level after level."""
    return [[coefficients(rng) for _ in range(1 << level)] for level in reversed(range(depth))]


def written(levels):
    lines, before = [], [f"x{n}" for n in range(2 * len(levels[0]))]
    for depth, level in enumerate(levels):
        pairs, names = zip(before[::2], before[1::2], strict=True), [f"v{depth}_{n}" for n in range(len(level))]
        for name, w, (a, b) in zip(names, level, pairs, strict=True):
            lines.append(f"let {name} = {w[0]} + {w[1]}*{a} + {w[2]}*{b} + {w[3]}*{a}*{b}")
        before = names
    return "\n".join([*lines, f"y = {before[0]}"])


def expanded(levels):
    """The same polynomial, multiplied out: the coefficients of all products of inputs, as an array with an index 0 or
    1 for each input."""
    before = [np.array([0, 1], dtype=object) for _ in range(2 * len(levels[0]))]
    for level in levels:
        before = [constituent(w, a, b) for w, a, b in zip(level, before[::2], before[1::2], strict=True)]
    return before[0]


def constituent(w, a, b):
    both = np.multiply.outer(a, b)
    out = w[3] * both
    out[(..., *[0] * b.ndim)] += w[1] * a
    out[tuple([0] * a.ndim)] += w[2] * b
    out[tuple([0] * out.ndim)] += w[0]
    return out


def multiplied_out(levels):
    """The expansion as text."""
    terms = []
    for exponents, c in np.ndenumerate(expanded(levels)):
        terms.append("*".join([str(c), *(f"x{n}" for n, e in enumerate(exponents) if e)]))
    return "y = " + " + ".join(terms)


def sizes(depth, quick, rng):
    levels = tree(depth, rng)
    text, row = written(levels), {"depth": depth, "inputs": 1 << depth, "monomials": 1 << (1 << depth)}
    for keep in KEEPS:
        if keep == "none" or depth <= PURE:
            program = skinny.compile(text, keep=keep, width=3 if keep == KEEPS[0] else 4 if quick else 24)
            row[keep] = program.info()["words"] + 1
        else:
            row[keep] = None
    row["expanded"] = row["equal"] = None
    if depth <= (2 if quick else EXPANDED):
        x = rng.integers(-9, 10, (20, 1 << depth)).tolist()
        names = [f"x{n}" for n in range(1 << depth)]
        other = skinny.compile(multiplied_out(levels), keep="none", width=4 if quick else 32, inputs=names)
        row["expanded"] = other.info()["words"] + 1
        row["equal"] = other.run(x, "exact") == program.run(x, "exact")
    return row


class Forms:
    """``y = F5·F6`` with ``h0 = F1·F2`` and ``h1 = F3·F4``: each ``F`` a form of all that is there, inputs and one, and
    for the root both ``h`` as well. A dense network of 46 weights; a tree of products of small forms is one of them
    with 12."""

    def __init__(self, rng):
        self.w = [rng.normal(0, 0.5, (INPUTS + 1, 4)), rng.normal(0, 0.5, (INPUTS + 3, 2))]
        self.masks = [np.ones_like(w) for w in self.w]

    def run(self, x):
        f = x @ self.w[0]
        h = f[:, ::2] * f[:, 1::2]
        z = np.concatenate([x, h], axis=1)
        g = z @ self.w[1]
        return g[:, 0] * g[:, 1], (f, z, g)

    def gradients(self, x, slope, kept):
        f, z, g = kept
        back = slope[:, None] * g[:, ::-1]
        into = (back @ self.w[1].T)[:, -2:]
        swapped = f.reshape(-1, 2, 2)[:, :, ::-1].reshape(-1, 4)
        return [x.T @ (np.repeat(into, 2, axis=1) * swapped), z.T @ back]

    def train(self, x, y, steps, rng, rate=0.02, l1=0.0, l2=0.0):
        first, second = ([np.zeros_like(w) for w in self.w] for _ in "ab")
        for step in range(1, steps + 1):
            rows = rng.integers(len(x), size=64)
            out, kept = self.run(x[rows])
            slope = np.clip(out - y[rows], -3, 3) / len(rows)
            now = rate * (1 - step / (steps + 1))
            for n, gradient in enumerate(self.gradients(x[rows], slope, kept)):
                gradient = gradient + l1 * np.sign(self.w[n]) + l2 * self.w[n]
                first[n] += 0.1 * (gradient - first[n])
                second[n] += 0.001 * (gradient**2 - second[n])
                self.w[n] -= now * (first[n] / (1 - 0.9**step)) / (np.sqrt(second[n] / (1 - 0.999**step)) + 1e-8)
                self.w[n] *= self.masks[n]
        return self

    def error(self, x, y):
        return float(((self.run(x)[0] - y) ** 2).mean() / y.var())

    def kept(self):
        return int(sum(mask.sum() for mask in self.masks))

    def large(self):
        """The weights that are not small beside the largest of their form."""
        return int(sum((np.abs(w) > SMALL * np.abs(w).max(axis=0)).sum() for w in self.w))

    def prune(self, count):
        """Drop the weights that are smallest beside the largest of their form."""
        parts = [
            np.where(m > 0, np.abs(w) / np.maximum(np.abs(w).max(axis=0), 1e-12), np.inf)
            for w, m in zip(self.w, self.masks, strict=True)
        ]
        limit = np.sort(np.concatenate([part.ravel() for part in parts]))[count - 1]
        for w, mask, part in zip(self.w, self.masks, parts, strict=True):
            mask[part <= limit] = 0
            w *= mask

    def copy(self):
        out = object.__new__(Forms)
        out.w, out.masks = [w.copy() for w in self.w], [m.copy() for m in self.masks]
        return out

    def graph(self):
        """The inputs that each factor of the root depends on, by itself and through the ``h`` that it reads."""
        below = [set(np.flatnonzero(self.masks[0][:INPUTS, 2 * n : 2 * n + 2].any(axis=1)).tolist()) for n in (0, 1)]
        out = []
        for mask in self.masks[1].T:
            read = [below[n] for n in (0, 1) if mask[INPUTS + 1 + n]]
            out.append(set(np.flatnonzero(mask[:INPUTS]).tolist()).union(*read))
        return out

    def written(self):
        """The forms as a formula, with the weights that are left."""
        names = [f"x{n}" for n in range(INPUTS)] + ["1"]
        f = [form(column, names) for column in self.w[0].T]
        lines = [f"let h{n} = ({f[2 * n]})*({f[2 * n + 1]})" for n in (0, 1)]
        g = [form(column, [*names, "h0", "h1"]) for column in self.w[1].T]
        return "\n".join([*lines, f"y = ({g[0]})*({g[1]})"])


def form(weights, names):
    return " + ".join(f"({round(w * 256)}/256)*{name}" for w, name in zip(weights, names, strict=True) if w) or "0"


def learn_graph(seed, quick):
    """A tree of four of six inputs, seen only through rows, found by pruning dense forms step by step."""
    rng = np.random.default_rng(seed)
    chosen = rng.permutation(INPUTS)[:4].tolist()
    a = rng.uniform(0.5, 1.5, 12) * rng.choice([-1, 1], 12)

    def target(x):
        h = [(a[4 * n] + a[4 * n + 1] * x[:, i]) * (a[4 * n + 2] + a[4 * n + 3] * x[:, j]) for n, (i, j) in pairs]
        return (a[8] + a[9] * h[0]) * (a[10] + a[11] * h[1])

    pairs = [(0, chosen[:2]), (1, chosen[2:])]
    x = np.concatenate([rng.uniform(-1, 1, (sum(ROWS), INPUTS)), np.ones((sum(ROWS), 1))], axis=1)
    y = target(x)
    y = y / y.std()
    fit, check, test = np.split(np.arange(len(x)), np.cumsum(ROWS)[:2])
    steps, starts = (1_000, 3) if quick else (2_000, 5)
    dense = [Forms(rng).train(x[fit], y[fit], steps, rng) for _ in range(starts)]
    dense.sort(key=lambda forms: forms.error(x[check], y[check]))
    before = dense[0].error(x[test], y[test])
    ways = {}
    for name, more in {"as it is": {}, "squares of weights": {"l2": 0.003}, "sizes of weights": {"l1": 0.003}}.items():
        forms = dense[0].copy().train(x[fit], y[fit], steps, rng, **more) if more else dense[0]
        ways[name] = [forms.large(), forms.error(x[test], y[test])]
    # iterative magnitude pruning: a tenth of what is left, train again; the smallest that is good on the check rows
    forms, best, limit = dense[0].copy(), dense[0], max(1e-3, 4 * dense[0].error(x[check], y[check]))
    curve = [[forms.kept(), before]]
    while forms.kept() > 8:
        forms.prune(max(1, forms.kept() // 10))
        forms.train(x[fit], y[fit], steps // 3, rng, rate=0.01, l1=0.0003).train(x[fit], y[fit], steps // 3, rng, 0.01)
        curve.append([forms.kept(), forms.error(x[test], y[test])])
        if forms.error(x[check], y[check]) <= limit:
            best = forms.copy()
    reads = best.graph()
    after = best.error(x[test], y[test])
    ways["pruned step by step"] = [best.kept(), after]
    cost = [skinny.compile(f.written(), keep="none", width=4).info()["words"] + 1 for f in (dense[0], best)]
    return {
        "weights": [dense[0].kept(), best.kept()],
        "errors": [before, after],
        "inputs": set.union(*reads) == set(chosen),
        "pairing": sorted(map(sorted, reads)) == sorted(map(sorted, (chosen[:2], chosen[2:]))),
        "cycles": cost,
        "ways": ways,
        "curve": curve,
    }


def measure(quick):
    rng = np.random.default_rng(0)
    rows = []
    for depth in (1, 2) if quick else (1, 2, 3, 4, 5):
        say(f"a tree of depth {depth}")
        rows.append(sizes(depth, quick, rng))
    graphs = []
    for seed in range(1 if quick else 4):
        say(f"which graph? seed {seed}")
        graphs.append(learn_graph(seed, quick))
    return {"sizes": rows, "graphs": graphs}


def tables(found):
    head = ["depth", "inputs", "monomials", *(f"keep {keep}" for keep in KEEPS), "multiplied out, keep none", "equal"]
    graphs = [
        [f"seed {seed}", *row["weights"], *(f"{error:.1e}" for error in row["errors"]), row["inputs"], row["pairing"]]
        + row["cycles"]
        for seed, row in enumerate(found["graphs"])
    ]
    names = list(found["graphs"][0]["ways"])
    ways = [
        [f"seed {seed}", *(f"{row['ways'][name][0]} / {row['ways'][name][1]:.1e}" for name in names)]
        for seed, row in enumerate(found["graphs"])
    ]
    return [
        Table(
            "cycles of a tree of constituents w0 + w1·a + w2·b + w3·ab", head, [[*r.values()] for r in found["sizes"]]
        ),
        Table(
            "dense forms pruned: weights, error (part of the variance, new rows), graph, cycles",
            ["", "weights", "left", "error", "after", "right inputs", "right pairing", "cycles", "after"],
            graphs,
        ),
        Table("weights above 1 % of the largest of their form / error; trained on with a price on", ["", *names], ways),
    ]


def draw(found):
    figure, (left, right) = axes(2)
    rows = found["sizes"]
    inputs = [row["inputs"] for row in rows]
    left.loglog(inputs, [row["monomials"] for row in rows], color=GREY, linestyle="--", label="monomials")
    for key, colour, mark, label in (
        ("expanded", GREY, "^", "multiplied out"),
        ("linear,reversible", BLUE, "o", "tree, all promises"),
        ("none", INK, "D", "tree, none"),
    ):
        points = [(row["inputs"], row[key]) for row in rows if row[key]]
        left.plot(*zip(*points, strict=True), color=colour, marker=mark, markersize=5, label=label)
    left.set(xlabel="inputs", ylabel="cycles", title="a tree of constituents", ylim=(3, 1e6))
    left.set_xticks(inputs, [str(count) for count in inputs])
    left.set_xticks([], minor=True)
    left.legend(fontsize=8)
    for row, colour in zip(found["graphs"], (BLUE, ORANGE, GREY, INK), strict=False):
        right.semilogy(*zip(*row["curve"], strict=True), color=colour, marker="o", markersize=3, linewidth=1)
        right.plot(row["weights"][1], row["errors"][1], "*", color=colour, markersize=13)
    right.invert_xaxis()
    right.axvline(12, color=INK, linestyle=":", linewidth=1)
    right.text(11.7, 1e-15, "the tree", fontsize=9)
    right.set(xlabel="weights left", ylabel="error on new rows", title="pruned step by step (star: chosen)")
    return figure


STUDY = Study(__file__, measure, tables, draw)

if __name__ == "__main__":
    STUDY.main()
