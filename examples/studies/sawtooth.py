"""Study: a sawtooth of 2^k pieces, exponential in one layer, k layers deep, or a few words in a loop; and the
theorem that every deep network is one layer used again and again."""

from fractions import Fraction
from itertools import pairwise

import numpy as np
import skinny
from study import BLUE, GREY, INK, ORANGE, Study, Table, axes, say

#: The tent: up from 0 to 1 and down again.
TENT = "relu(2*{0}) - relu(4*{0} - 2)"
DEPTHS, SHALLOW = (1, 2, 3, 4, 6, 8, 12, 16), 10
RING = "fixed:20.16"


def deep(depth):
    """The tent of the tent of …, written out."""
    lines = [f"let h{n + 1} = {TENT.format(f'h{n}' if n else 'x')}" for n in range(depth)]
    return skinny.compile("\n".join([*lines, f"y = h{depth}"]), keep="none")


def shallow(depth):
    """The same function as one layer: a relu for each piece but the first, whose slopes alternate."""
    pieces = 1 << depth
    terms = [f"{pieces}*relu(x)"]
    terms += [f"{'-' if n % 2 else '+'} {2 * pieces}*relu(x - {n}/{pieces})" for n in range(1, pieces)]
    return skinny.compile("y = " + " ".join(terms), keep="none")


def recurrent():
    """One tent, which a state goes through again with every sample: the weights of one layer, for every depth."""
    tent = TENT.format("h")
    return skinny.compile(f"state h = 0; let before = relu(x); let n = {tent} + before; next h = n; y = n", keep="none")


def tent(depth, x):
    """The sawtooth, by folding, in whole numbers: ``x`` in units of 2^-16."""
    for _ in range(depth):
        x = np.minimum(2 * x, 2 * ((1 << 16) - x))
    return x


def pieces_of(values):
    """The number of pieces on which values on an even grid are straight."""
    return 1 + int(np.count_nonzero(np.diff(values, 2)))


def sawtooth(depth, quick):
    program = deep(depth)
    grid = np.arange((1 << 16) + 1 if not quick else 257) * (1 if not quick else 256)
    found = np.array(program.run((grid / (1 << 16))[:, None], RING)) * (1 << 16)
    words = program.info(RING)["memory_words"]
    flat = shallow(depth).info(RING)["memory_words"]["flat"] if depth <= SHALLOW else None
    return {
        "depth": depth,
        "pieces": pieces_of(found) if depth < 8 or not quick else None,
        "wrong": int(np.sum(found != tent(depth, grid))),
        "shallow": flat,
        "deep": words["flat"],
        "loop": words["rolled"] or words["flat"],
    }


def random_network(sizes, rng):
    """Layers of whole weights and biases."""
    return [(rng.integers(-4, 5, (b, a)), rng.integers(-4, 5, b)) for a, b in pairwise(sizes)]


def written(layers):
    """The network as formulas, layer after layer."""
    lines, before = [], [f"x{n}" for n in range(layers[0][0].shape[1])]
    for depth, (weights, biases) in enumerate(layers):
        names = [f"h{depth}_{n}" for n in range(len(biases))]
        lines += [
            f"let {name} = {neuron(row, before, bias)}" for name, row, bias in zip(names, weights, biases, strict=True)
        ]
        before = names
    return "\n".join([*lines, *(f"y{n} = {name}" for n, name in enumerate(before))])


def neuron(row, before, bias):
    return f"relu({' + '.join([f'({w})*{name}' for w, name in zip(row, before, strict=True)])} + ({bias}))"


def tied(layers):
    """The theorem: all layers side by side are one layer ``z <- relu(Wz·z + Wx·x + b)``: the blocks below the diagonal
    are the layers. Its values are states; ``x`` comes again with every sample."""
    lines, before = [], [f"x{n}" for n in range(layers[0][0].shape[1])]
    for depth, (weights, biases) in enumerate(layers):
        names = [f"z{depth}_{n}" for n in range(len(biases))]
        lines += [f"state {name} = 0" for name in names]
        for name, row, bias in zip(names, weights, biases, strict=True):
            lines += [f"let n_{name} = {neuron(row, before, bias)}", f"next {name} = n_{name}"]
        before = names
    return "\n".join([*lines, *(f"y{n} = n_{name}" for n, name in enumerate(before))])


def tying(sizes, rows, rng):
    layers = random_network(sizes, rng)
    unrolled = skinny.compile(written(layers), keep="none", width=32)
    loop = skinny.compile(tied(layers), keep="none", width=32)
    inputs = rng.integers(-8, 9, (rows, sizes[0]))
    wanted = inputs
    for weights, biases in layers:
        wanted = np.maximum(wanted @ weights.T + biases, 0)
    samples = np.repeat(inputs[:, None, :], len(layers), axis=1)
    once = np.array(list(unrolled.run(inputs, "exact").values())).T
    again = np.stack([np.array(values)[:, -1] for values in loop.run_stream(samples, "exact").values()], axis=1)
    cycles = {
        name: program.info("modular:32")["memory_words"]["flat"]
        for name, program in (("unrolled", unrolled), ("tied", loop))
    }
    return {
        "layers": "-".join(map(str, sizes)),
        "rows": rows,
        "unrolled wrong": int(np.sum(once != wanted)),
        "tied wrong": int(np.sum(again != wanted)),
        "words and cycles": cycles["unrolled"],
        "words, tied": cycles["tied"],
        "cycles, tied": cycles["tied"] * len(layers),
    }


def measure(quick):
    rng = np.random.default_rng(0)
    teeth = []
    for depth in (1, 2, 3, 6) if quick else DEPTHS:
        say(f"sawtooth of 2^{depth} pieces")
        teeth.append(sawtooth(depth, quick))
    depth, simulator = (3, "amaranth") if quick else (DEPTHS[-1], None)
    say("the core")
    words = np.concatenate([[0, 1, (1 << 16) - 1, 1 << 16], rng.integers(0, 1 << 16, 4 if quick else 1_000)])
    seen = deep(depth).simulate((words / (1 << 16))[:, None], RING, roll=True, simulator=simulator)
    wrong = int(np.sum(np.array(seen["results"]["y"]) * (1 << 16) != tent(depth, words)))
    body = recurrent()
    samples = np.zeros((4, depth + 1, 1))
    samples[:, 0, 0] = words[-4:] / (1 << 16)
    later = body.simulate_stream(samples, RING, simulator=simulator)
    again = np.array(later["results"]["y"]) * (1 << 16)
    wrong_again = int(np.sum(again[:, -1] != tent(depth, words[-4:])))
    say("weight tying")
    nets = [
        tying(sizes, 5 if quick else 200, rng)
        for sizes in ((2, 3, 2), (3, 4, 4, 2), (4, 5, 5, 5, 5, 2))[: 2 if quick else 3]
    ]
    return {
        "teeth": teeth,
        "core": {
            "the loop": [depth, len(words), teeth[-1]["loop"], wrong, seen["match"]],
            "the tent as a state": [depth, 4, body.info(RING)["memory_words"]["flat"], wrong_again, later["match"]],
        },
        "nets": nets,
        "curve": [float(value) for value in deep(4).run([[Fraction(n, 256)] for n in range(257)], "exact")],
    }


def tables(found):
    teeth = [[f"k = {row['depth']}", *list(row.values())[1:]] for row in found["teeth"]]
    core = [[name, *row] for name, row in found["core"].items()]
    nets = [list(row.values()) for row in found["nets"]]
    return [
        Table(
            "the sawtooth f∘…∘f, and words of program",
            ["", "pieces", "wrong", "one layer", "k layers", "as a loop"],
            teeth,
        ),
        Table("on the simulated core", ["", "k", "inputs", "words", "wrong", "core as the model"], core),
        Table("a network, and one layer that is used again and again", list(found["nets"][0]), nets),
    ]


def draw(found):
    figure, (left, right) = axes(2)
    left.plot(np.arange(257) / 256, found["curve"], color=BLUE, linewidth=1.2)
    left.set(xlabel="x", ylabel="f(f(f(f(x))))", title="2^4 pieces")
    depths = [row["depth"] for row in found["teeth"]]
    for key, colour, mark, label in (
        ("shallow", GREY, "^", "one layer"),
        ("deep", ORANGE, "s", "k layers"),
        ("loop", INK, "D", "k layers as a loop"),
    ):
        values = [(k, row[key]) for k, row in zip(depths, found["teeth"], strict=True) if row[key]]
        right.semilogy(*zip(*values, strict=True), color=colour, marker=mark, markersize=4, label=label)
    words = found["core"]["the tent as a state"][2]
    right.axhline(words, color=BLUE, linewidth=1.2, linestyle="--", label="the tent as a state")
    right.set(xlabel="k", ylabel="words of program", title="the same function, written three ways")
    right.legend(fontsize=8)
    return figure


STUDY = Study(__file__, measure, tables, draw)

if __name__ == "__main__":
    STUDY.main()
