"""Study: why gradients do not find parities: their variance over all targets against the bound G²/2^n, the same for
periodic functions of a linear form, and a network that learns 16 bits and not 32."""

from itertools import product

import numpy as np
from study import BLUE, GREY, INK, ORANGE, Study, Table, axes, say

BITS, HIDDEN, DRAWS = (4, 6, 8, 10, 12, 14, 16), 8, 5
#: The derivatives of losses by the output ``p`` of a network, for a right answer ``h`` of 1 or -1.
LOSSES = {
    "squared": lambda p, h: p - h,
    "hinge": lambda p, h: np.where(h * p < 1, -h, 0.0),
    "logistic": lambda p, h: -h / (1 + np.exp(h * p)),
}


def hadamard(columns):
    """The mean of each column times each of the 2^n parities of its rows: row ``v`` of the result is ``E[h_v g]``."""
    found, step = columns.copy(), 1
    while step < len(found):
        halves = found.reshape(-1, 2, step, *found.shape[1:])
        halves[:] = np.stack([halves[:, 0] + halves[:, 1], halves[:, 0] - halves[:, 1]], axis=1)
        step *= 2
    return found / len(found)


def network(count, hidden, rng, scale):
    """The outputs of a random network with tanh on all words of ``count`` bits, and their derivatives by weights."""
    x = 1.0 - 2 * ((np.arange(1 << count)[:, None] >> np.arange(count)) & 1)
    first, bias = scale * rng.standard_normal((count, hidden)) / np.sqrt(count), scale * rng.standard_normal(hidden)
    last = scale * rng.standard_normal(hidden) / np.sqrt(hidden)
    h = np.tanh(x @ first + bias)
    inner = last * (1 - h * h)
    return h @ last, [h, inner, *(x[:, [u]] * inner for u in range(count))]


def variance(count, rng, scale=1.0):
    """For each loss the variance of the gradient over all 2^n parities, in parts of ``G²/2^n``, and this bound.
    All words and all targets are taken. The derivative of a loss is ``even + h·odd`` for a right answer ``h``, so that
    ``E[even·g]`` is the same for all targets, and ``E[h·odd·g]`` is a Hadamard transform."""
    outputs, gradients = network(count, HIDDEN, rng, scale)
    bound = sum(float((g * g).sum()) for g in gradients) / 4**count
    found = {}
    for name, slope in LOSSES.items():
        odd = (slope(outputs, 1.0) - slope(outputs, -1.0)) / 2
        total = 0.0
        for g in gradients:
            parts = hadamard(odd[:, None] * g)
            total += float(((parts - parts.mean(axis=0)) ** 2).sum()) / 2**count
        found[name] = total / bound
    return found, bound


def periodic(dimensions, radius):
    """The variance of the gradient of ``E[(cos wx - cos vx)²]`` over all directions of ``v`` where ``|w| = |v| =
    radius``, for a standard normal ``x``. The mean of the cosines is known, so it is an integral over the angle."""
    angle = (np.arange(20_000) + 0.5) * np.pi / 20_000
    at, weight = np.cos(angle), np.sin(angle) ** (dimensions - 2)
    weight /= weight.sum()
    near, far = np.exp(-(radius**2) * (1 - at)), np.exp(-(radius**2) * (1 + at))
    # the part of the gradient that depends on v: (w - v)·near + (w + v)·far, along w and across it
    along = radius * ((1 - at) * near + (1 + at) * far)
    across = radius * np.sqrt(1 - at * at) * (near - far)
    return float((weight * ((along - (weight * along).sum()) ** 2 + across**2)).sum())


def trained(target, sample, size, steps, rng, hidden=128, rate=0.005, loss="logistic"):
    """Train a network of one hidden layer with relu (Adam, 256 new words a step, or words of a pool that ``sample``
    draws from), and return a function that gives its outputs."""
    weights = [rng.standard_normal((size, hidden)) * np.sqrt(2 / size), np.zeros(hidden)]
    weights = [w.astype(np.float32) for w in [*weights, rng.standard_normal((hidden, 1)) * np.sqrt(2 / hidden)]]
    first, second = ([np.zeros_like(w) for w in weights] for _ in range(2))
    for step in range(1, steps + 1):
        x = sample(rng)
        right = target(x)
        before = x @ weights[0] + weights[1]
        h = np.maximum(before, 0)
        slope = (LOSSES[loss]((h @ weights[2])[:, 0], right) / len(x))[:, None].astype(np.float32)
        back = (slope @ weights[2].T) * (before > 0)
        for w, g, m, s in zip(weights, (x.T @ back, back.sum(axis=0), h.T @ slope), first, second, strict=True):
            m += 0.1 * (g - m)
            s += 0.001 * (g * g - s)
            w -= rate * (m / (1 - 0.9**step)) / (np.sqrt(s / (1 - 0.999**step)) + 1e-8)
    return lambda x: (np.maximum(x @ weights[0] + weights[1], 0) @ weights[2])[:, 0]


def words(count, size):
    """What draws so many words of ``size`` bits, as 1 and -1."""
    return lambda rng: (1 - 2 * rng.integers(0, 2, (count, size))).astype(np.float32)


def learn_parity(size, seed, steps):
    """The share of right answers on new words, for the parity of a random half of the bits."""
    rng = np.random.default_rng(seed)
    chosen = rng.permutation(size)[: size // 2]

    def target(x):
        return x[:, chosen].prod(axis=1)

    answer = trained(target, words(256, size), size, steps, rng)
    new = words(10_000, size)(rng)
    return float(np.mean(np.sign(answer(new)) == target(new)))


def learn_pool(size, random_labels, seed, steps, count=2_000):
    """The shares of right answers on a pool of words that comes again and again, and on new ones; the answers are
    parities, or random, and then those of new words too."""
    rng = np.random.default_rng(seed)
    pool, new = words(count, size)(rng), words(10_000, size)(rng)
    chosen = rng.permutation(size)[: size // 2]
    right = [rng.choice([-1, 1], len(x)) if random_labels else x[:, chosen].prod(axis=1) for x in (pool, new)]
    places = {}

    def sample(rng):
        places["now"] = rng.integers(0, count, 256)
        return pool[places["now"]]

    answer = trained(lambda x: right[0][places["now"]], sample, size, steps, rng)
    return [float(np.mean(np.sign(answer(x)) == y)) for x, y in zip((pool, new), right, strict=True)]


def learn_periodic(dimensions, radius, seed, steps):
    """The part of the variance of ``cos(vx)`` that a trained network explains, for a random ``v`` of length
    ``radius``."""
    rng = np.random.default_rng(seed)
    v = rng.standard_normal(dimensions)
    v *= radius / np.linalg.norm(v)

    def sample(rng, count=256):
        return rng.standard_normal((count, dimensions)).astype(np.float32)

    def target(x):
        return np.cos(x @ v)

    answer = trained(target, sample, dimensions, steps, rng, loss="squared", rate=0.003)
    new = sample(rng, 10_000)
    return 1 - float(np.mean((answer(new) - target(new)) ** 2) / np.var(target(new)))


def measure(quick):
    rng = np.random.default_rng(0)
    parities = {}
    for count in (4, 6, 8) if quick else BITS:
        say(f"gradients of all parities of {count} bits")
        draws = [variance(count, rng) for _ in range(2 if quick else DRAWS if count < 16 else 2)]
        parities[count] = {name: float(np.mean([found[name] for found, _ in draws])) for name in LOSSES}
        parities[count]["G²/2^n"] = float(np.mean([bound for _, bound in draws]))
    waves = {d: {r: periodic(d, r) for r in (1, 2, 3, 4, 6, 8)} for d in (3, 10, 30, 100)}
    seeds = range(1 if quick else 3)
    learned, pools, explained = {}, {}, {}
    for size in (8, 32) if quick else (8, 16, 20, 24, 32):
        say(f"a network and the parity of {size} bits")
        learned[size] = [learn_parity(size, seed, 600 if quick else 4_000) for seed in seeds]
    for size, random_labels in product((32,) if quick else (16, 32), (False, True)):
        say(f"a pool of words of {size} bits, {'random answers' if random_labels else 'parities'}")
        runs = [learn_pool(size, random_labels, seed, 600 if quick else 2_500) for seed in seeds]
        pools[size, random_labels] = np.mean(runs, axis=0).tolist()
    for radius in (1, 6) if quick else (1, 2, 3, 4, 6):
        say(f"a network and cos(vx), |v| = {radius}")
        explained[radius] = [learn_periodic(10, radius, seed, 600 if quick else 4_000) for seed in seeds]
    return {"parities": parities, "waves": waves, "learned": learned, "pools": pools, "explained": explained}


def tables(found):
    parities = [[f"{n} bits", *row.values()] for n, row in found["parities"].items()]
    waves = [[f"{d} dimensions", *row.values()] for d, row in found["waves"].items()]
    shares = [[f"{n} bits", *(f"{share:.1%}" for share in row)] for n, row in found["learned"].items()]
    pools = [
        [f"{n} bits, {'random' if random else 'parity'}", *(f"{share:.1%}" for share in row)]
        for (n, random), row in found["pools"].items()
    ]
    explained = [[f"|v| = {r}", *(f"{share:.1%}" for share in row)] for r, row in found["explained"].items()]
    seeds = [f"seed {seed}" for seed in range(len(shares[0]) - 1)]
    lengths = [f"|v| = {r}" for r in found["waves"][10]]
    return [
        Table("variance of the gradient over all 2^n parities, in parts of G²/2^n", ["", *LOSSES, "G²/2^n"], parities),
        Table("its variance over all directions of v, for cos(vx)", ["", *lengths], waves),
        Table("a network on new words: answers right, parity of half of the bits", ["", *seeds], shares),
        Table("a pool of 2,000 words again and again", ["", "right on the pool", "on new words"], pools),
        Table("a network and cos(vx) of 10 inputs: part of the variance explained", ["", *seeds], explained),
    ]


def draw(found):
    figure, (bound, wave, learned, pools) = axes(2, 2)
    bits = list(found["parities"])
    limits = [row["G²/2^n"] for row in found["parities"].values()]
    bound.semilogy(bits, limits, color=GREY, linewidth=4, label="bound G²/2^n")
    for name, (colour, mark) in {"squared": (BLUE, "o"), "hinge": (ORANGE, "s"), "logistic": (INK, "D")}.items():
        values = [row[name] * row["G²/2^n"] for row in found["parities"].values()]
        bound.plot(bits, values, color=colour, marker=mark, markersize=4, linewidth=1, label=f"{name} loss")
    bound.set(xlabel="bits n", ylabel="variance of the gradient", title="over all 2^n parities")
    bound.legend(fontsize=8)
    for (dimensions, row), colour in zip(found["waves"].items(), (GREY, BLUE, ORANGE, INK), strict=True):
        points = zip(*row.items(), strict=True)
        wave.semilogy(*points, color=colour, marker="o", markersize=4, label=f"{dimensions} inputs")
    wave.set(xlabel="|v|", ylabel="variance of the gradient", title="over all directions of v in cos(vx)")
    wave.set_ylim(1e-22, 10)
    wave.legend(fontsize=8)
    for size, shares in found["learned"].items():
        learned.plot([size] * len(shares), shares, "o", color=BLUE, markersize=5, alpha=0.7)
    learned.axhline(0.5, color=GREY, linestyle="--", linewidth=1)
    learned.text(8, 0.515, "a coin", fontsize=9, color=GREY)
    learned.set(xlabel="bits n", ylabel="right on new words", ylim=(0.45, 1.03))
    learned.set_title("a network learns the parity of half of n bits")
    names = [f"{n} bits,\n{'random answers' if random else 'parity'}" for n, random in found["pools"]]
    for place, (colour, label) in enumerate(((GREY, "on the pool"), (BLUE, "on new words"))):
        values = [row[place] for row in found["pools"].values()]
        pools.bar(np.arange(len(names)) + 0.4 * place - 0.2, values, width=0.38, color=colour, label=label)
    pools.axhline(0.5, color=INK, linestyle="--", linewidth=1)
    pools.set_xticks(range(len(names)), names, fontsize=9)
    pools.set(ylabel="right", ylim=(0, 1.3), title="2,000 words again and again")
    pools.legend(fontsize=8, ncols=2, loc="upper center")
    return figure


STUDY = Study(__file__, measure, tables, draw)

if __name__ == "__main__":
    STUDY.main()
