"""Study: exclusive or, half adder and the sum of long numbers, exact, where networks were trained to add."""

import numpy as np
import skinny
from study import BLUE, GREY, INK, ORANGE, Study, Table, axes, say

#: What the document's table says of networks that were trained to add: symbols right, whole sums right.
TRAINED = {"LSTM": (0.08, 0.0), "Transformer": (0.07, 0.0), "Universal Transformer": (0.34, 0.02)}
#: One step of a ripple adder, over GF(2): + is exclusive or, * is and. The carry is a state.
STEP = "state c = 0; let p = a + b; s = p + c; next c = a*b + p*c"
#: Formulas of two bits, each with its right results for 00, 01, 10 and 11.
SMALL = {
    "exclusive or": ("boolean", "y = a + b", {"y": [0, 1, 1, 0]}),
    "exclusive or, of numbers": ("modular:8", "y = a + b - 2*a*b", {"y": [0, 1, 1, 0]}),
    "half adder": ("boolean", "sum = a + b; carry = a*b", {"sum": [0, 1, 1, 0], "carry": [0, 0, 0, 1]}),
}
PAIRS = [[0, 0], [0, 1], [1, 0], [1, 1]]


def ripple(bits):
    """The sum of two numbers, the lowest bit first; its inputs come in the order in which they are used."""
    lines, carry = [], "0"
    for n in range(bits):
        lines += [f"let p{n} = a{n} + b{n}", f"s{n} = p{n} + {carry}", f"let c{n} = a{n}*b{n} + p{n}*{carry}"]
        carry = f"c{n}"
    inputs = [f"{x}{n}" for n in range(bits) for x in "ab"]
    return skinny.compile("\n".join([*lines, f"s{bits} = {carry}"]), keep="linear", width=4, inputs=inputs)


def numbers(count, bits, rng):
    """Pairs of numbers as Python's integers; the first two have the longest carries."""
    longest = [((1 << bits) - 1, 1), ((1 << bits) - 1, (1 << bits) - 1)]
    drawn = [tuple(int.from_bytes(rng.bytes(-(-bits // 8))) >> -bits % 8 for _ in "ab") for _ in range(count - 2)]
    return longest + drawn


def digits(pairs, length):
    """The bits of numbers, the lowest first, as an array of shape (pairs, length, 2)."""
    return np.array([[[x >> n & 1 for x in pair] for n in range(length)] for pair in pairs])


def wrong_sums(sums, pairs):
    """How many of the sums, given as columns of bits, are not those of Python's integers."""
    found = [sum(int(bit) << n for n, bit in enumerate(row)) for row in zip(*sums, strict=True)]
    return sum(got != a + b for got, (a, b) in zip(found, pairs, strict=True))


def flat(count, bits, simulated, rng, simulator):
    program = ripple(bits)
    pairs = numbers(count, bits, rng)
    rows = digits(pairs, bits).reshape(count, 2 * bits).tolist()
    seen = program.simulate(rows[:simulated], "boolean", roll=True, simulator=simulator)
    words = program.info("boolean")["memory_words"]
    return {
        "flat": words["flat"],
        "rolled": words["rolled"] or words["flat"],
        "sums": count,
        "wrong": wrong_sums(program.run(rows, "boolean").values(), pairs),
        "simulated": simulated,
        "match": seen["match"],
        "wrong_core": wrong_sums(seen["results"].values(), pairs[:simulated]),
    }


def stream(count, bits, simulated, rng, simulator):
    program = skinny.compile(STEP, keep="none")
    pairs = numbers(count, bits, rng)
    samples = digits(pairs, bits + 1)
    seen = program.simulate_stream(samples[:simulated], "boolean", simulator=simulator)
    words = program.info("boolean")["memory_words"]["flat"]
    return {
        "flat": words,
        "rolled": words,
        "sums": count,
        "wrong": wrong_sums(np.array(program.run_stream(samples, "boolean")).T, pairs),
        "simulated": simulated,
        "match": seen["match"],
        "wrong_core": wrong_sums(np.array(seen["results"]["s"]).T, pairs[:simulated]),
    }


def measure(quick):
    simulator = "amaranth" if quick else None
    rng = np.random.default_rng(0)
    small = {}
    for name, (ring, text, right) in SMALL.items():
        program = skinny.compile(text, keep="none")
        seen = program.simulate(PAIRS, ring, simulator="amaranth")
        small[name] = {
            "words": program.info(ring)["words"],
            "outputs": len(program.outputs),
            "match": seen["match"],
            "right": seen["results"] == right,
        }
    ways = {
        "8 bits": (flat, 500, 8, 64),
        "40 bits": (flat, 10_000, 40, 1_000),
        "40 bits, carry as state": (stream, 2_000, 40, 4),
        "1,000 bits, carry as state": (stream, 100, 1_000, 4),
    }
    if quick:
        ways = {"8 bits": (flat, 500, 8, 64), "40 bits, carry as state": (stream, 20, 40, 4)}
    sums = {}
    for name, (way, *sizes) in ways.items():
        say(name)
        sums[name] = way(*sizes, rng, simulator)
    return {"small": small, "sums": sums}


def tables(found):
    small = [[name, *row.values()] for name, row in found["small"].items()]
    sums = [[name, *row.values()] for name, row in found["sums"].items()]
    head = ["", "words", "as a loop", "sums", "wrong", "of them on the core", "core as the model", "wrong"]
    trained = [[name, f"{symbols:.0%}", f"{whole:.0%}"] for name, (symbols, whole) in TRAINED.items()]
    return [
        Table(
            "two bits, all four inputs on the simulated core",
            ["", "cycles", "and outputs", "core as the model", "right"],
            small,
        ),
        Table("sums against Python's integers, over GF(2)", head, sums),
        Table("the document's table: networks that were trained to add", ["", "symbols right", "sums right"], trained),
    ]


def draw(found):
    figure, (left, right) = axes(2, height=3.4)
    ours = {name: 1 - row["wrong"] / row["sums"] for name, row in found["sums"].items() if "1,000" not in name}
    bars = {name: whole for name, (_, whole) in TRAINED.items()} | {
        f"program, {name}": share for name, share in ours.items()
    }
    colours = [GREY] * len(TRAINED) + [BLUE] * len(ours)
    left.barh(range(len(bars)), bars.values(), color=colours, height=0.6)
    for row, share in enumerate(bars.values()):
        left.text(share + 0.02, row, f"{share:.0%}", va="center", fontsize=9)
    left.set_yticks(range(len(bars)), [name.replace(", carry", ",\ncarry") for name in bars], fontsize=9)
    left.invert_yaxis()
    left.set(xlim=(0, 1.15), xlabel="whole sums right", title="trained (grey, from the document) and exact")
    left.set_xticks([0, 0.5, 1], ["0 %", "50 %", "100 %"])
    left.grid(axis="y", alpha=0)
    names = list(found["sums"])
    for row, name in enumerate(names):
        words = found["sums"][name]
        right.barh(row - 0.18, words["flat"], color=ORANGE, height=0.34, label="flat" if not row else None)
        right.barh(row + 0.18, words["rolled"], color=INK, height=0.34, label="as a loop" if not row else None)
        right.text(words["flat"] * 1.1, row - 0.18, words["flat"], va="center", fontsize=9)
        right.text(words["rolled"] * 1.1, row + 0.18, words["rolled"], va="center", fontsize=9)
    right.set_yticks(range(len(names)), [name.replace(", ", ",\n") for name in names], fontsize=9)
    right.invert_yaxis()
    right.set(xscale="log", xlim=(1, 1_000), xlabel="words of program", title="a carry in a register, or in a state")
    right.legend(fontsize=8, loc="lower right")
    right.grid(axis="y", alpha=0)
    return figure


STUDY = Study(__file__, measure, tables, draw)

if __name__ == "__main__":
    STUDY.main()
