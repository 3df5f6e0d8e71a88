"""Study: is a product of three the best building block? Separation ranks, exact, and training at equal parameters."""

from math import prod

import numpy as np
from sklearn.datasets import load_digits
from study import BLUE, GREY, INK, ORANGE, Study, Table, axes, say

PRIME = (1 << 31) - 1
#: Layers of d factors with 6 and with 12 matrices; and what is between 2 and 3, by mixing.
EQUAL = {6: [(6,), (3, 3), (2,) * 3], 12: [(12,), (6, 6), (4,) * 3, (3,) * 4, (2,) * 6]}
MIXED = {8: [(4, 4), (2,) * 4, (3, 3, 2)], 10: [(5, 5), (2,) * 5, (3, 3, 2, 2), (3, 3, 4)]}
MATRICES, WIDTH = 12, 16
RATES = (0.003, 0.01)


def times(x, matrix):
    """A matrix product modulo the prime."""
    return sum(x[:, [n]] * matrix[n] % PRIME for n in range(len(matrix))) % PRIME


def products(x, layers):
    """Layers ``Π_k (x·W_k)`` one after the other, modulo the prime."""
    for matrices in layers:
        out = times(x, matrices[0])
        for matrix in matrices[1:]:
            out = out * times(x, matrix) % PRIME
        x = out
    return x


def rank(table):
    """The rank of a matrix modulo the prime."""
    table, found = table.copy() % PRIME, 0
    for column in range(table.shape[1]):
        rows = np.flatnonzero(table[found:, column]) + found
        if not len(rows):
            continue
        table[[found, rows[0]]] = table[[rows[0], found]]
        table[found] = table[found] * pow(int(table[found, column]), -1, PRIME) % PRIME
        below = table[found + 1 :]
        below -= below[:, [column]] * table[found] % PRIME
        below %= PRIME
        found += 1
        if found == len(table):
            break
    return found


def separation_rank(factors, width, rng):
    """The rank of a grid of values: an output of random layers with so many factors each. One half of its inputs
    changes along the rows, the other one along the columns; more templates than the rank can be."""
    layers = [[rng.integers(PRIME, size=(width, width)) for _ in range(count)] for count in factors]
    count = most(prod(factors), width // 2) + 3
    one, other = rng.integers(PRIME, size=(2, count, width // 2))
    grid = np.concatenate([np.repeat(one, count, axis=0), np.tile(other, (count, 1))], axis=1)
    return rank(products(grid, layers)[:, 0].reshape(count, count))


def most(degree, half):
    """The most that it can be for a form of a degree in two halves of one or two variables: monomials of degree ``n``
    in one half, of the rest in the other."""
    counts = [n + 1 if half == 2 else 1 for n in range(degree + 1)]
    return sum(map(min, counts, reversed(counts)))


def ranks(budgets, width, rng):
    out = []
    for budget, choices in budgets.items():
        for factors in choices:
            degree = prod(factors)
            found = separation_rank(factors, width, rng)
            out.append([budget, " ".join(map(str, factors)), width, degree, found, most(degree, width // 2)])
    return out


class Network:
    """Inputs to ``WIDTH`` values, layers of products of ``d`` factors, each brought to the same size, and outputs. All
    ``d`` have the same parameters."""

    def __init__(self, inputs, outputs, d, rng):
        shapes = [(inputs + 1, WIDTH), *[(d, WIDTH, WIDTH)] * (MATRICES // d), (WIDTH, outputs)]
        self.weights = [(rng.standard_normal(s) / np.sqrt(s[-2])).astype(np.float32) for s in shapes]

    def run(self, x):
        """The outputs, and what the way back needs."""
        h, kept = np.concatenate([x, np.ones((len(x), 1), np.float32)], axis=1), []
        kept.append(h)
        h = h @ self.weights[0]
        for matrices in self.weights[1:-1]:
            z = h @ matrices
            p = z.prod(axis=0)
            size = np.sqrt((p * p).mean(axis=1, keepdims=True) + 1e-6)
            kept.append((h, z, p / size, size))
            h = p / size
        kept.append(h)
        return h @ self.weights[-1], kept

    def gradients(self, slope, kept):
        out = [kept[-1].T @ slope]
        slope = slope @ self.weights[-1].T
        for matrices, (h, z, y, size) in zip(self.weights[-2:0:-1], kept[-2:0:-1], strict=True):
            slope = (slope - y * (slope * y).mean(axis=1, keepdims=True)) / size
            each = np.stack([slope * np.delete(z, k, axis=0).prod(axis=0) for k in range(len(z))])
            out.append(h.T @ each)
            slope = (each @ matrices.transpose(0, 2, 1)).sum(axis=0)
        return [kept[0].T @ slope, *out[::-1]]

    def train(self, x, y, slope_of, steps, rate, rng):
        """Adam, 128 rows a step, the rate falling to zero."""
        first, second = ([np.zeros_like(w) for w in self.weights] for _ in "ab")
        for step in range(1, steps + 1):
            rows = rng.integers(len(x), size=128)
            found, kept = self.run(x[rows])
            now = rate * (1 - step / steps)
            for w, g, m, s in zip(
                self.weights, self.gradients(slope_of(found, y[rows]), kept), first, second, strict=True
            ):
                m += 0.1 * (g - m)
                s += 0.001 * (g * g - s)
                w -= now * (m / (1 - 0.9**step)) / (np.sqrt(s / (1 - 0.999**step)) + 1e-8)
        return self


def softmax_slope(found, y):
    e = np.exp(found - found.max(axis=1, keepdims=True))
    return (e / e.sum(axis=1, keepdims=True) - np.eye(10, dtype=np.float32)[y]) / len(y)


def right(found, y):
    return float((found.argmax(axis=1) == y).mean())


def squared_slope(found, y):
    return (found - y) / len(y)


def explained(found, y):
    return float(1 - ((found - y) ** 2).mean() / y.var())


def digits(rng):
    x, y = load_digits(return_X_y=True)
    order = rng.permutation(len(x))
    return (x[order] / 8 - 1).astype(np.float32), y[order]


def waves(rng):
    """A function that mixes all of its 6 inputs: the sum of 12 cosines of random directions."""
    x = rng.standard_normal((6_000, 6)).astype(np.float32)
    directions = 1.2 * rng.standard_normal((6, 12)) / np.sqrt(2)
    y = np.cos(x @ directions + rng.uniform(0, 7, 12)).sum(axis=1, keepdims=True)
    return x, (y / y.std()).astype(np.float32)


def monomials(rng):
    """A polynomial of 6 inputs: 30 products of 6 factors, some of which are equal."""
    x = rng.uniform(-1, 1, (6_000, 6)).astype(np.float32)
    y = sum(rng.normal() * x[:, rng.integers(6, size=6)].prod(axis=1) for _ in range(30))[:, None]
    return x, (y / y.std()).astype(np.float32)


TASKS = {
    "digits, rows right": (digits, 10, softmax_slope, right),
    "12 waves, variance explained": (waves, 1, squared_slope, explained),
    "30 monomials, variance explained": (monomials, 1, squared_slope, explained),
}


def learn(task, d, seed, steps, rates):
    """What networks get right of rows that they have not seen; the rate is chosen on others again."""
    draw_rows, outputs, slope_of, score = TASKS[task]
    x, y = draw_rows(np.random.default_rng(100 + seed))
    fit, check = int(0.6 * len(x)), int(0.75 * len(x))

    def trained(rate):
        rng = np.random.default_rng(seed)
        return Network(x.shape[1], outputs, d, rng).train(x[:fit], y[:fit], slope_of, steps, rate, rng)

    networks = [trained(rate) for rate in rates]
    best = max(networks, key=lambda network: score(network.run(x[fit:check])[0], y[fit:check]))
    return score(best.run(x[check:])[0], y[check:])


def measure(quick):
    rng = np.random.default_rng(0)
    say("separation ranks")
    two = ranks({6: EQUAL[6]} if quick else EQUAL | MIXED, 2, rng)
    four = [] if quick else ranks({6: EQUAL[6], 8: MIXED[8]}, 4, rng)
    learned = {}
    for task in list(TASKS)[:1] if quick else TASKS:
        for d in (2, 3, 4):
            say(f"training, d = {d}, {task}")
            seeds, steps, rates = ((0,), 120, RATES[:1]) if quick else (range(3), 1_500, RATES)
            learned[task, d] = [learn(task, d, seed, steps, rates) for seed in seeds]
    return {"ranks": two + four, "learned": learned}


def tables(found):
    head = ["matrices", "factors of the layers", "width", "degree", "separation rank", "at most"]
    seeds = [f"seed {n}" for n in range(len(next(iter(found["learned"].values()))))]
    rows = [
        [f"{task}, d = {d}", *(f"{share:.1%}" for share in shares), f"{np.mean(shares):.1%}"]
        for (task, d), shares in found["learned"].items()
    ]
    return [
        Table("random layers, modulo 2^31 - 1", head, found["ranks"]),
        Table(f"networks of {MATRICES} matrices, equal parameters", ["", *seeds, "mean"], rows),
    ]


def draw(found):
    figure, (left, *panels) = axes(2, 2, height=3.3)
    for budget, colour in ((6, GREY), (12, BLUE)):
        rows = [row for row in found["ranks"] if row[0] == budget and row[2] == 2]
        d = [int(row[1].split()[0]) for row in rows]
        if rows:
            left.semilogy(d, [row[4] for row in rows], "o", color=colour, label=f"{budget} matrices")
        smooth = np.linspace(1.5, 12, 200)
        left.plot(smooth[smooth <= budget], (smooth ** (budget / smooth))[smooth <= budget], color=colour, linewidth=1)
    left.axvline(np.e, color=INK, linestyle=":", linewidth=1)
    left.text(np.e + 0.1, 1.15, "e", fontsize=9)
    left.set(xlabel="factors of a layer d", ylabel="separation rank", title="ranks, and $d^{B/d}$ (lines)")
    left.set_ylim(1, 200)
    left.legend(fontsize=8)
    for panel, task in zip(panels, TASKS, strict=True):
        for d in (2, 3, 4):
            if shares := found["learned"].get((task, d)):
                panel.plot([d] * len(shares), shares, "o", color=GREY, markersize=5)
                panel.plot(d, np.mean(shares), "D", color=ORANGE, markersize=6)
        panel.set(xlabel="factors of a layer d", title=task, xticks=(2, 3, 4))
    return figure


STUDY = Study(__file__, measure, tables, draw)

if __name__ == "__main__":
    STUDY.main()
