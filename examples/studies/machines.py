"""Study: machines of finite depth: the depth of dense, convolutional and time machines, and what the backward pass
costs, which is a machine again."""

from fractions import Fraction

import numpy as np
import skinny
from study import BLUE, GREY, INK, ORANGE, Study, Table, axes, say

STEPS = (1, 2, 4, 8, 16)


def whole(shape, rng):
    """Weights that are whole numbers from 1 to 3, or their negatives."""
    return rng.integers(1, 4, shape) * rng.choice([-1, 1], shape)


def dense(nonlinearity, rng, size=8):
    return skinny.dense_machine([size] * 4, whole((4 * size, 4 * size), rng), nonlinearity)


def convolutional(nonlinearity, rng, length=16):
    return skinny.convolutional_machine([1, 2, 2, 1], length, whole((6, 6, 3), rng), nonlinearity)


def recurrent(nonlinearity, rng, steps=8, shortcuts=True):
    """Units in three layers at each step; without ``shortcuts`` a layer reads of the step before only the layers up to
    its own."""
    now, before = whole((8, 8), rng), whole((8, 8), rng)
    if not shortcuts:
        layer = np.array([0, 0, 1, 1, 1, 2, 2, 2])
        before = np.where(layer[:, None] >= layer, before, 0)
    return skinny.time_machine([2, 3, 3], steps, now, before, nonlinearity)


KINDS = {"dense 8-8-8-8": dense, "convolutional 1-2-2-1, 16 places": convolutional, "time 2-3-3, 8 steps": recurrent}
#: The derivative of a nonlinearity as an input of the backward pass, and what it is in terms of that.
SLOPES = {"relu": "s{0}", "square": "2*s{0}"}


def ends(machine):
    """The nodes that read none, and those that none reads."""
    readers = {j for entries in machine.parts.values() for _, j in entries}
    return machine.levels()[0], [node for node in range(machine.n) if node not in readers]


def matrix_of(program, count):
    """What the program does to unit vectors, as columns of fractions."""
    results = program.run(np.eye(count, dtype=int).tolist(), "exact")
    return np.array([*results.values()], dtype=object)


def identity_less(machine):
    table = -np.array(machine.matrix(), dtype=object)
    table[np.diag_indices(machine.n)] += 1
    return table


def laws(machine):
    """The laws, exactly: each in its own words, with whether it holds."""
    program = skinny.Program(machine.resolvent())
    found = matrix_of(program, machine.n)
    one = np.array([[Fraction(i == j) for j in range(machine.n)] for i in range(machine.n)], dtype=object)
    back = matrix_of(skinny.Program(machine.adjoint().resolvent()), machine.n)
    # the part that writes the first levels does not depend on the part that writes the others
    early = {node for level in machine.levels()[: (machine.depth + 1) // 2 + 1] for node in level}
    parts = [{at: w for at, w in machine.parts[None].items() if (at[0] in early) == first} for first in (True, False)]
    first, second = (skinny.Machine(machine.n, part) for part in parts)
    each = [matrix_of(skinny.Program(part.resolvent()), machine.n) for part in (first, second)]
    return {
        "resolvent = (I - F)^-1": bool((identity_less(machine) @ found == one).all()),
        "sum: one after the other": not first.depends_on(second) and bool((each[1] @ each[0] == found).all()),
        "other order differs": second.depends_on(first) and bool((each[0] @ each[1] != found).any()),
        "adjoint = transposed": bool((back == found.T).all()),
    }


def cycles(program):
    """Words of a program, its outputs included."""
    return program.words + len(program.outputs)


def backward(machine, nonlinearity, given, wanted):
    """The backward pass at any point, as formulas: gradients by the nodes ``given`` come in, and the derivative of the
    nonlinearity for each node that is read through it (of a square its value); gradients by ``wanted`` go out."""
    lines, readers = [], {}
    for kind, entries in machine.parts.items():
        for (i, j), weight in entries.items():
            readers.setdefault(j, {}).setdefault(kind, []).append(f"({weight})*b{i}")
    for node in reversed(machine.order):
        parts = [f"g{node}"] if node in given else []
        for kind, terms in readers.get(node, {}).items():
            text = " + ".join(terms)
            parts.append(text if kind is None else f"{SLOPES[nonlinearity].format(node)}*({text})")
        lines.append(f"let b{node} = {' + '.join(parts) or '0'}")
    text = "\n".join([*lines, *(f"y{node} = b{node}" for node in wanted)])
    return skinny.compile(text, keep="none", width=256)


def costs(kind, nonlinearity, rng):
    """Cycles of a network forwards, and of its backward pass: at one point, where the derivatives are known, and at
    any point."""
    machine = KINDS[kind](nonlinearity, rng)
    first, last = ends(machine)
    forwards = machine.resolvent(first, last)
    x = machine.solve([int(rng.integers(-3, 4)) if node in set(first) else 0 for node in range(machine.n)])
    adjoint = machine.adjoint(x)
    point = adjoint.resolvent(last, first)
    anywhere = point if nonlinearity is None else backward(machine, nonlinearity, set(last), first).model
    row = {
        "nodes": machine.n,
        "weights": machine.count,
        "forwards": cycles(forwards),
        "backwards, at a point": cycles(point),
        "anywhere": cycles(anywhere),
        "to forwards": round(cycles(anywhere) / cycles(forwards), 2),
        "with a product for each weight": round((cycles(anywhere) + machine.count) / cycles(forwards), 2),
    }
    return row, gradients_agree(machine, nonlinearity, x, first, last, point, anywhere)


def gradients_agree(machine, nonlinearity, x, first, last, point, anywhere):
    """Whether both backward passes give the derivatives that dual numbers carry forwards, exactly."""
    wanted = []
    for node in first:
        slope = [Fraction(0)] * machine.n
        slope[node] = Fraction(1)
        for reader in machine.order:
            for kind, entries in machine.parts.items():
                for (i, j), weight in entries.items():
                    if j == reader:
                        at = {None: 1, "relu": int(x[j] > 0), "square": 2 * x[j]}[kind]
                        slope[i] += weight * at * slope[j]
        wanted.append(sum(slope[node] for node in last))
    found = [skinny.Program(point).run([[1] * len(last)], "exact")]
    names = skinny.Program(anywhere).inputs
    inputs = {}
    for name in names:
        node = int(name[1:])
        inputs[name] = [1 if name[0] in "gx" else int(x[node] > 0) if nonlinearity == "relu" else x[node]]
    found.append(skinny.Program(anywhere).run(inputs, "exact"))
    return all(
        [(answer[f"y{node}"] if isinstance(answer, dict) else answer)[0] for node in first] == wanted
        for answer in found
    )


def on_the_core(nonlinearity, rng, quick):
    """A small network and its backward pass on the simulated core."""
    machine = dense(nonlinearity, rng, 2 if quick else 4)
    out = [machine.n]
    first, last = ends(machine)
    ways = {"forwards": machine.resolvent(first, last)}
    ways["backwards"] = (
        machine.adjoint().resolvent(last, first)
        if nonlinearity is None
        else backward(machine, nonlinearity, set(last), first).model
    )
    for program in ways.values():
        count = len(program.inputs)
        inputs = rng.integers(0, 2, (8 if quick else 200, count)).tolist()
        seen = skinny.Program(program).simulate(inputs, "modular:32", simulator="amaranth" if quick else None)
        out += [round(seen["cycles_per_inference"], 1), seen["match"]]
    return out


def measure(quick):
    rng = np.random.default_rng(0)
    shapes, held, spread = {}, {}, {}
    for kind, make in KINDS.items():
        say(kind)
        machine = make(None, rng)
        program = machine.resolvent()
        shapes[kind] = {
            "nodes": machine.n,
            "weights": machine.count,
            "depth": machine.depth,
            "instructions": len(program),
            "program depth": program.depth,
            "instructions a level": round(len(program) / program.depth, 1),
            "backward depth": machine.adjoint().resolvent().depth,
        }
        spread[kind] = [len(level) for level in machine.levels()]
        held[kind] = laws(machine if not quick else make(None, rng, 2))
    depths = {
        name: [recurrent(None, rng, steps, shortcuts).depth for steps in STEPS]
        for name, shortcuts in (("all nodes of the step before", True), ("only layers up to its own", False))
    }
    found, agreed = {}, []
    for kind in list(KINDS)[:1] if quick else KINDS:
        for nonlinearity in (None, "relu", "square"):
            say(f"forwards and backwards: {kind}, {nonlinearity or 'linear'}")
            row, right = costs(kind, nonlinearity, rng)
            found[f"{kind}, {nonlinearity or 'linear'}"] = row
            agreed.append(right)
    say("the core")
    core = {name or "linear": on_the_core(name, rng, quick) for name in (None, "relu", "square")[: 2 if quick else 3]}
    return {
        "shapes": shapes,
        "spread": spread,
        "laws": held,
        "depths": depths,
        "costs": found,
        "agreed": all(agreed),
        "core": core,
    }


def tables(found):
    first = next(iter(found["shapes"].values()))
    right = "gradients equal those of dual numbers" if found["agreed"] else "SOME GRADIENTS ARE WRONG"
    return [
        Table("linear machines", ["", *first], [[kind, *row.values()] for kind, row in found["shapes"].items()]),
        Table(
            "laws, over the rationals",
            ["", *next(iter(found["laws"].values()))],
            [[kind, *row.values()] for kind, row in found["laws"].items()],
        ),
        Table(
            "depth of a time machine 2-3-3; it reads",
            ["steps", *map(str, STEPS)],
            [[name, *row] for name, row in found["depths"].items()],
        ),
        Table(
            f"cycles from the first layer to the last, and back; {right}",
            ["", *next(iter(found["costs"].values()))],
            [[name, *row.values()] for name, row in found["costs"].items()],
        ),
        Table(
            "cycles on the simulated core, a dense machine of four layers",
            ["", "nodes", "forwards", "core as the model", "backwards", "core as the model"],
            [[name, *row] for name, row in found["core"].items()],
        ),
    ]


def draw(found):
    figure, (left, middle, right) = axes(3, height=3.8)
    for (kind, counts), (colour, mark) in zip(
        found["spread"].items(), ((BLUE, "o"), (ORANGE, "s"), (INK, "D")), strict=True
    ):
        left.plot(range(len(counts)), counts, color=colour, marker=mark, markersize=4, label=kind)
    left.set(xlabel="level", ylabel="nodes", ylim=(0, 48), title="nodes that can be found at once")
    left.legend(fontsize=7)
    for (name, depths), colour in zip(found["depths"].items(), (INK, GREY), strict=True):
        middle.plot(STEPS, depths, color=colour, marker="o", markersize=4, label=name)
    middle.set(xlabel="steps", ylabel="depth", title="a time machine 2-3-3 reads")
    middle.legend(fontsize=7)
    names = list(found["costs"])
    for place, (key, colour) in enumerate((("forwards", GREY), ("backwards, at a point", BLUE), ("anywhere", ORANGE))):
        values = [row[key] for row in found["costs"].values()]
        label = {"anywhere": "backwards, anywhere"}.get(key, key)
        right.barh(np.arange(len(names)) + 0.27 * (place - 1), values, height=0.25, color=colour, label=label)
    right.set_yticks(range(len(names)), [name.replace(", ", ",\n") for name in names], fontsize=6)
    right.invert_yaxis()
    right.set(xlabel="cycles", title="there and back", xlim=(0, 1_300))
    right.legend(fontsize=6)
    right.grid(axis="y", alpha=0)
    return figure


STUDY = Study(__file__, measure, tables, draw)

if __name__ == "__main__":
    STUDY.main()
