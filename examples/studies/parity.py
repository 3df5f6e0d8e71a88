"""Study: the parity of n bits as an exact program, in O(n) words and, as a loop, in a handful."""

import numpy as np
import skinny
from skinny.model.program.text import loads
from study import BLUE, GREY, INK, ORANGE, Study, Table, axes, say

#: Sizes that are compiled; the largest is also run on the simulated core.
SIZES, QUICK = (8, 16, 32, 64, 128, 256, 512, 1000), (8, 20)
INFERENCES = 32


def names(count):
    return [f"x{u}" for u in range(count)]


def exclusive_or(count):
    """Over GF(2) a sum is an exclusive or."""
    return skinny.compile(" + ".join(names(count)), inputs=names(count), keep="none")


def signs(count, keep):
    """``(-1)^parity`` as the product of ``1 - 2x``, as the compiler does it."""
    return skinny.compile("*".join(f"(1 - 2*{x})" for x in names(count)), inputs=names(count), keep=keep)


def own_inverse(count):
    """The same product, written by hand: ``a = 1 - 2x`` is its own inverse, so ``diag(a, 1/a) = a·I`` is a product of
    four elementary matrices, and each bit multiplies the state by it. Nothing is assigned, so the program keeps all
    promises."""
    lines = ["skinny 1", "width 3", "contract clean", "start 0 1 0", f"inputs {' '.join(names(count))}"]
    lines += ["weight w[0] = 1", "weight w[1] = -2", "weight w[2] = 2"]
    for u in range(count):
        lines += [f"form f[{2 * u}] = w[1]*x{u} + w[0]", f"form f[{2 * u + 1}] = w[2]*x{u}"]
    for u in range(count):
        a, rest = f"f[{2 * u}]", f"f[{2 * u + 1}]"  # 1 - 2x and 2x = 1 - a
        lines += [f"R1 += {a}*R0", f"R0 += {rest}*R1", "R1 -= w[0]*R0", f"R0 += {rest}*R1"]
    return skinny.Program(loads("\n".join([*lines, "emit p = R1", "end"])))


#: Each way with its ring, what makes it, and whether its result is the parity or the sign.
WAYS = {
    "any factors, all promises": ("modular:16", lambda n: signs(n, "linear,reversible"), False),
    "own inverse, all promises": ("modular:16", own_inverse, False),
    "product, registers assigned": ("modular:16", lambda n: signs(n, "none"), False),
    "exclusive or, over GF(2)": ("boolean", exclusive_or, True),
}
#: The compiler's product in place of registers is left out of the simulation: it has no loop.
LOOPED = list(WAYS)[1:]


def wrong_results(results, bits, as_bit):
    parity = bits.sum(axis=1) % 2
    return int(np.sum(np.array(results) != (parity if as_bit else 1 - 2 * parity)))


def measure(quick):
    sizes = QUICK if quick else SIZES
    rng = np.random.default_rng(0)
    words = {way: [] for way in WAYS}
    wrong = 0
    programs = {}
    for count in sizes:
        say(f"{count} bits")
        bits = rng.integers(0, 2, (200, count)) if count > 8 else (np.arange(256)[:, None] >> np.arange(8)) & 1
        for way, (ring, make, as_bit) in WAYS.items():
            programs[way] = program = make(count)
            words[way].append(program.info(ring)["words"] + 1)
            wrong += wrong_results(program.run(bits.tolist(), ring), bits, as_bit)
    bits = rng.integers(0, 2, (4 if quick else INFERENCES, sizes[-1]))
    core = {}
    for way in LOOPED:
        say(f"the core, {way}")
        ring, _, as_bit = WAYS[way]
        told = programs[way].info(ring)
        seen = programs[way].simulate(bits.tolist(), ring, roll=True, simulator="amaranth" if quick else None)
        (results,) = seen["results"].values()
        core[way] = {
            "flat": told["memory_words"]["flat"],
            "rolled": told["memory_words"]["rolled"],
            "registers": told["width"],
            "linear": told["linear"],
            "reversible": told["reversible"],
            "match": seen["match"],
            "cycles": round(seen["cycles_per_inference"]),
            "wrong": wrong_results(results, bits, as_bit),
        }
    return {"sizes": list(sizes), "words": words, "wrong": wrong, "core": core, "inferences": len(bits)}


def tables(found):
    last = found["sizes"][-1]
    lengths = [[f"{n} bits", *column] for n, *column in zip(found["sizes"], *found["words"].values(), strict=True)]
    title = f"words of a program, output included; {found['wrong']} results wrong (8 bits: all inputs, others: 200)"
    core = [[way, *row.values()] for way, row in found["core"].items()]
    head = ["", "flat", "as a loop", "registers", "linear", "reversible", "core as the model", "cycles each", "wrong"]
    return [
        Table(title, ["", *found["words"]], lengths),
        Table(f"the simulated core, {last:,} bits, {found['inferences']} random inputs", head, core),
    ]


def draw(found):
    figure, (left, right) = axes(2)
    styles = dict(zip(WAYS, ((GREY, "^"), (BLUE, "o"), (ORANGE, "s"), (INK, "D")), strict=True))
    for way, (colour, mark) in styles.items():
        left.loglog(found["sizes"], found["words"][way], color=colour, marker=mark, markersize=4, label=way)
    left.set(xlabel="bits n", ylabel="words, flat", title="one word after the other")
    left.legend(fontsize=8)
    left.set_xticks([8, 64, 512], ["8", "64", "512"])
    for row, (way, core) in enumerate(reversed(found["core"].items())):
        right.barh(row, core["flat"], color=GREY, height=0.6)
        right.barh(row, core["rolled"], color=styles[way][0], height=0.6)
        right.text(core["rolled"] * 1.2, row, f"{core['rolled']} as a loop", va="center", fontsize=9)
        right.text(core["flat"] * 0.8, row, f"{core['flat']:,}", va="center", ha="right", fontsize=9)
    right.set_yticks(range(len(found["core"])), [way.replace(", ", ",\n") for way in reversed(found["core"])])
    right.set(
        xscale="log", xlim=(1, 10_000), xlabel=f"words of program, n = {found['sizes'][-1]:,}", title="and as a loop"
    )
    right.grid(axis="y", alpha=0)
    return figure


STUDY = Study(__file__, measure, tables, draw)

if __name__ == "__main__":
    STUDY.main()
