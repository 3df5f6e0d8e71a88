"""Study: why two digits are told apart: where the runs of a learned program part, and what each pixel has to do with
it, against a network of the same accuracy."""

import warnings

import numpy as np
import skinny
from skinny.model.program.forms import Linear
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPClassifier
from study import BLUE, GREY, INK, ORANGE, Study, Table, axes, say

FIT, CHECK = 1_000, 1_347
HIDDEN = (8, 16, 24, 32)
#: Points of the line between two digits at which gradients of the network are taken.
POINTS = 64
#: What is asked, and what orders the pixels that change.
ORDERS = (
    "program: shares",
    "program: where it parts most",
    "program: wherever it parts",
    "program: largest change",
    "program: by chance",
    "network: shares",
    "network: largest change",
    "network: by chance",
)


def data():
    x, y = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(x))
    return x[order], y[order]


def learned(x, y, effort):
    """A program of at most 300 cycles, as `skinny learn` finds it, with less training."""
    return skinny.SkinnyClassifier(300, ring="fixed:16", curve=(), restarts=1, effort=effort).fit(x[:CHECK], y[:CHECK])


def network(x, y, accuracy, sizes):
    """The relu network whose accuracy on rows that it was not trained on is nearest."""
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for size in sizes:
            net = MLPClassifier((size,), max_iter=200, random_state=0).fit(x[:FIT] / 16, y[:FIT])
            found.append((abs(net.score(x[FIT:CHECK] / 16, y[FIT:CHECK]) - accuracy), size, net))
    return min(found, key=lambda entry: entry[:2])[1:]


class Program:
    """The learned program as a judge of digits: decisions, and a share for each pixel in the difference of two."""

    def __init__(self, model):
        self.model = model
        self.columns = [int(name.rpartition("x")[2]) for name in model.program_.inputs]

    def decide(self, rows):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a mixture of two digits may leave the box of the training data
            return self.model.predict(rows)

    def compare(self, a, b, first, second):
        """What speaks for class ``second`` and against ``first``, by pixel, and what is left over; and the trace."""
        answer = self.model.explain(a, b)
        up, down = (answer["outputs"][name] for name in self.names(first, second))
        shares = np.zeros(64)
        for name, column in zip(self.model.program_.inputs, self.columns, strict=True):
            shares[column] = float(up["shares"][name] - down["shares"][name])
        difference = float(up["difference"] - down["difference"])
        return shares, abs(difference - shares.sum()) / abs(difference), answer

    def names(self, first, second):
        outputs = [output.name for output in self.model.program_.model.outputs]
        classes = self.model.classes_.tolist()
        return outputs[classes.index(second)], outputs[classes.index(first)]

    def attended(self, step, a, b):
        """What the pixels of the form of an instruction, counted from 1, add to the difference of the form."""
        model = self.model.program_.model
        form = model.forms[int(model.code.form[step - 1])]
        out = np.zeros(64)
        if isinstance(form, Linear):
            for k, u in form.terms:
                apart = (b - a)[self.columns[u]] / 2.0 ** model.input_scales[u]
                out[self.columns[u]] += float(model.weights[k]) * apart
        return out


class Network:
    """The network as such a judge: integrated gradients, at the middles of even pieces of the line."""

    def __init__(self, net):
        self.net = net

    def decide(self, rows):
        return self.net.predict(np.asarray(rows) / 16)

    def outputs(self, rows):
        (first, last), (bias, end) = self.net.coefs_, self.net.intercepts_
        h = rows / 16 @ first + bias
        return np.maximum(h, 0) @ last + end, h > 0

    def compare(self, a, b, first, second, points=POINTS):
        places = (np.arange(points)[:, None] + 0.5) / points
        on = self.outputs(a + places * (b - a))[1]
        head = self.net.coefs_[1][:, second] - self.net.coefs_[1][:, first]
        gradient = ((on * head) @ self.net.coefs_[0].T).mean(axis=0) / 16
        ends = self.outputs(np.stack([a, b]))[0]
        difference = (ends[1] - ends[0])[second] - (ends[1] - ends[0])[first]
        shares = gradient * (b - a)
        return shares, abs(difference - shares.sum()) / abs(difference), None


def swaps(judge, a, b, order):
    """How many pixels of ``a`` must become those of ``b``, in this order, until the decision is no more that for a."""
    rows = np.tile(a, (len(order) + 1, 1))
    for n, pixel in enumerate(order):
        rows[n + 1 :, pixel] = b[pixel]
    decided = judge.decide(rows)
    return int(np.argmax(decided != decided[0])) if (decided != decided[0]).any() else len(order)


def pairs(x, y, judges, count, rng):
    """Pairs of test digits of different classes that all judges know."""
    rows = np.arange(CHECK, len(x))
    known = rows[np.all([judge.decide(x[rows]) == y[rows] for judge in judges], axis=0)]
    out = []
    while len(out) < count:
        i, j = rng.choice(known, 2, replace=False)
        if y[i] != y[j]:
            out.append((int(i), int(j)))
    return out


def compared(x, y, program, net, chosen, rng):
    """For each pair the pixels that must change, by what orders them, and what the traces show."""
    counts = {name: [] for name in ORDERS}
    rest, steps, same = {"program": [], "network": []}, [], []
    for i, j in chosen:
        a, b = x[i], x[j]
        ours, off, answer = program.compare(a, b, y[i], y[j])
        theirs, net_off, _ = net.compare(a, b, y[i], y[j])
        rest["program"].append(off)
        rest["network"].append(net_off)
        attended = [np.abs(program.attended(entry["step"], a, b)) for entry in answer["growth"]]
        chance = rng.permutation(64)
        largest = np.argsort(-np.abs(b - a), kind="stable")
        for name, judge, order in (
            ("program: shares", program, np.argsort(-ours, kind="stable")),
            ("program: where it parts most", program, np.argsort(-attended[0], kind="stable")),
            ("program: wherever it parts", program, np.argsort(-sum(attended), kind="stable")),
            ("program: largest change", program, largest),
            ("program: by chance", program, chance),
            ("network: shares", net, np.argsort(-theirs, kind="stable")),
            ("network: largest change", net, largest),
            ("network: by chance", net, chance),
        ):
            counts[name].append(swaps(judge, a, b, order))
        growth = np.array([float(entry["growth"]) for entry in answer["growth"]])
        steps.append([answer["parts"]["step"], 1 + int(np.argmax(growth.cumsum() >= growth.sum() / 2))])
        same.append(float(np.corrcoef(ours, theirs)[0, 1]))
    return counts, rest, np.array(steps), same


def measure(quick):
    rng = np.random.default_rng(0)
    x, y = data()
    say("learning a program")
    model = learned(x, y, 0.01 if quick else 0.2)
    program = Program(model)
    say("training networks")
    accuracy = float((program.decide(x[FIT:CHECK]) == y[FIT:CHECK]).mean())
    size, net = network(x, y, accuracy, HIDDEN[:1] if quick else HIDDEN)
    judge = Network(net)
    chosen = pairs(x, y, (program, judge), 3 if quick else 24, rng)
    say("comparing digits")
    counts, rest, steps, same = compared(x, y, program, judge, chosen, rng)
    i, j = chosen[0]
    shares, _, answer = program.compare(x[i], x[j], y[i], y[j])
    trace = [np.array(model.program_.trace(x[n][program.columns].tolist()).registers, dtype=float) for n in (i, j)]
    step = answer["growth"][0]["step"]
    return {
        "cycles": model.program_.info()["words"] + len(model.program_.outputs),
        "length": len(model.program_),
        "hidden": size,
        "parameters": sum(part.size for part in (*net.coefs_, *net.intercepts_)),
        "accuracy": {
            "program": float((program.decide(x[CHECK:]) == y[CHECK:]).mean()),
            "network": float((judge.decide(x[CHECK:]) == y[CHECK:]).mean()),
        },
        "pairs": len(chosen),
        "counts": counts,
        "rest": {name: [float(np.mean(found)), float(np.max(found))] for name, found in rest.items()},
        "parts": steps.tolist(),
        "correlation": float(np.mean(same)),
        "digits": [x[i].tolist(), x[j].tolist()],
        "classes": [int(y[i]), int(y[j])],
        "apart": np.abs(trace[1] - trace[0]).sum(axis=1).tolist(),
        "step": step,
        "instruction": answer["growth"][0]["instruction"],
        "attended": program.attended(step, x[i], x[j]).tolist(),
        "shares": [shares.tolist(), judge.compare(x[i], x[j], y[i], y[j])[0].tolist()],
    }


def tables(found):
    accuracy = found["accuracy"]
    first, half = np.array(found["parts"]).T
    rows = [[name, float(np.mean(c)), int(np.median(c)), max(c)] for name, c in found["counts"].items()]
    return [
        Table(
            "two judges of 450 digits that none of them has seen",
            ["", "size", "right", "left over, mean", "most"],
            [
                ["program", f"{found['cycles']} cycles", f"{accuracy['program']:.1%}"]
                + [f"{share:.1e}" for share in found["rest"]["program"]],
                ["network", f"{found['parameters']} parameters", f"{accuracy['network']:.1%}"]
                + [f"{share:.1e}" for share in found["rest"]["network"]],
            ],
        ),
        Table(
            f"{found['pairs']} pairs: pixels of 64 to change until the decision does, ordered by",
            ["", "mean", "median", "most"],
            rows,
        ),
        Table(
            f"where the traces of a program of {found['length']} instructions part",
            ["", "earliest", "median", "latest"],
            [
                ["the first step that differs", int(first.min()), int(np.median(first)), int(first.max())],
                ["steps with half of the growth", int(half.min()), int(np.median(half)), int(half.max())],
                ["correlation of the shares of both judges", None, found["correlation"], None],
            ],
        ),
    ]


def draw(found):
    figure, panels = axes(4, 2, height=3)
    for panel, pixels, title in (
        (panels[0], found["digits"][0], f"a: a {found['classes'][0]}"),
        (panels[1], found["digits"][1], f"b: a {found['classes'][1]}"),
        (panels[3], found["attended"], f"what step {found['step']} attends to"),
        (panels[4], found["shares"][0], "shares, program"),
        (panels[5], found["shares"][1], "shares, network"),
    ):
        image = np.array(pixels).reshape(8, 8)
        plain = panel in (panels[0], panels[1])
        limit = np.abs(image).max()
        panel.imshow(image, cmap="gray_r" if plain else "RdBu", vmin=0 if plain else -limit, vmax=limit)
        panel.set(title=title, xticks=[], yticks=[])
        panel.grid(visible=False)
    panels[2].plot(found["apart"], color=BLUE, drawstyle="steps-post")
    panels[2].axvline(found["step"], color=ORANGE, linewidth=1)
    panels[2].set(xlabel="step", title="distance of the traces")
    panels[6].set_ylabel("still decided as a")
    for panel, who in ((panels[6], "program"), (panels[7], "network")):
        for name, counts in found["counts"].items():
            if name.startswith(who):
                left = [np.mean(np.array(counts) > n) for n in range(64)]
                order = name.partition(": ")[2]
                colour = {"shares": BLUE, "by chance": GREY, "largest change": INK}.get(order, ORANGE)
                style = ":" if order.startswith("wherever") else "-"
                panel.plot(range(64), left, style, color=colour, label=order, linewidth=1.2)
        panel.set(xlabel="pixels changed", title=who, ylim=(0, 1.05))
        panel.legend(fontsize=6)
    return figure


STUDY = Study(__file__, measure, tables, draw)

if __name__ == "__main__":
    STUDY.main()
