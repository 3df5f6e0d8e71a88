"""2,000 random runs of the core against a model that was written from ``docs/isa.md`` alone: every pin of every cycle.

The traffic of a run is made in closed loop with the model (a source sees the model's ``ready``), written down as rows
of input pins, and played to the simulated core.
"""

import importlib.util
from collections import Counter
from itertools import zip_longest
from pathlib import Path
from random import Random

import numpy as np
import pytest
from skinny.model.machine.isa import CoreConfig
from skinny.model.rings import Boolean, FixedPoint, Modular, PrimeField
from skinny.sim.simulators.play import INPUTS, OUTPUTS, Player

spec = importlib.util.spec_from_file_location("independent", Path(__file__).with_name("independent.py"))
page = importlib.util.module_from_spec(spec)
spec.loader.exec_module(page)

RUNS, CYCLES = 2000, 300
#: More words than a program of these cores has.
MOST_COMPARED = 32
#: Ring, width, threads, depth, inputs, weights, FIFO, attention, check, guard, other units, pipeline of registers
#: in memory. FIFOs are small, so that they fill.
CORES = [
    (("fixed", 9, 4), 3, 4, 24, 5, 6, 8, True, True, True),
    (("fixed", 16, 8), 5, 3, 20, 3, 3, 4, True, True, False),
    (("fixed", 8, 0), 4, 1, 30, 1, 1, 2, True, False, False),
    (("modular", 5), 3, 2, 17, 1, 5, 2, True, True, False),
    (("modular", 32), 4, 6, 11, 3, 7, 16, False, True, True),
    (("fixed", 7, 6), 5, 5, 9, 6, 2, 8, True, False, False),
    (("prime", 251), 3, 3, 13, 2, 5, 16, True, True, False),
    (("prime", 8191), 4, 4, 10, 4, 3, 4, False, True, False),
    (("prime", 13), 3, 1, 33, 3, 4, 8, True, True, False),
    (("boolean", 64), 5, 2, 19, 5, 3, 16, True, True, False),
    (("boolean", 1), 3, 1, 12, 3, 2, 4, False, False, False),
    (("fixed", 9, 4), 3, 4, 24, 5, 6, 8, True, True, True, "assign sums relu argmax"),
    (("modular", 6), 5, 6, 18, 4, 3, 16, False, True, False, "assign relu argmax"),
    (("fixed", 8, 2), 4, 1, 20, 2, 4, 4, True, True, False, "assign sums relu"),
    (("prime", 251), 4, 2, 16, 2, 5, 8, True, True, False, "sums"),
    (("fixed", 9, 4), 5, 6, 32, 5, 6, 16, True, True, True, "relu argmax", 7),
    (("modular", 5), 3, 5, 24, 2, 3, 8, True, True, False, "", 6),
    (("prime", 251), 4, 8, 20, 3, 4, 8, True, True, False, "", 9),
    (("boolean", 7), 6, 7, 24, 2, 5, 16, False, True, True, "", 8),
    (("fixed", 9, 4), 3, 4, 40, 5, 6, 32, True, True, True, "", 0, 1),
    (("modular", 6), 5, 5, 48, 4, 7, 32, True, True, False, "assign sums relu argmax", 0, 2),
    (("fixed", 9, 4), 6, 6, 64, 5, 6, 32, True, True, True, "relu argmax", 7, 2),
    (("prime", 251), 5, 5, 90, 3, 4, 32, True, True, False, "", 6, 2),
    (("fixed", 9, 4), 3, 4, 24, 5, 6, 8, True, True, True, "state"),
    (("modular", 6), 4, 1, 24, 5, 6, 8, True, True, False, "assign state"),
    (("boolean", 4), 4, 3, 24, 4, 6, 8, True, True, True, "window"),
    (("fixed", 9, 4), 5, 6, 32, 8, 6, 16, True, True, True, "window", 7),
    (("modular", 6), 4, 5, 48, 8, 6, 32, True, True, True, "assign sums relu state window", 0, 2),
    (("fixed", 9, 4), 6, 6, 40, 5, 6, 16, True, True, True, "relu argmax state", 7),
    (("prime", 251), 5, 5, 64, 4, 4, 32, False, True, False, "state window", 6, 2),
]
#: The states of 2, 3, … rounds of a loop.
STATES = [1]
while (state := (STATES[-1] << 1 | (STATES[-1] >> 10 ^ STATES[-1] >> 8) & 1) % 2048) != 1:
    STATES.append(state)
STATES[1:] = STATES[:0:-1]


def name_of(core):
    ring, width, threads = core[:3]
    memory = [f"p{pipeline_of(core)}"] if pipeline_of(core) else []
    loops = [f"r{repeat_of(core)}"] if repeat_of(core) else []
    return "-".join([*map(str, ring), f"w{width}", f"t{threads}", *units_of(core).split(), *memory, *loops])


def units_of(core):
    return core[10] if len(core) > 10 else ""


def pipeline_of(core):
    return core[11] if len(core) > 11 else 0


def repeat_of(core):
    return core[12] if len(core) > 12 else 0


def config_of(core):
    (kind, *parameters), width, threads, depth, inputs, weights, fifo, attention, check, guard, *_ = core
    sizes = {"width": width, "threads": threads, "depth": depth, "inputs": inputs, "weights": weights, "fifo": fifo}
    units = {"attention": attention, "check": check, "guard": guard, "repeat": repeat_of(core)}
    units |= {name: MOST_COMPARED if name == "argmax" else True for name in units_of(core).split()}
    if pipeline_of(core):
        units |= {"registers": "memory", "pipeline": pipeline_of(core)}
    if kind == "boolean":
        return CoreConfig(Boolean(), slices=parameters[0], **sizes, **units)
    ring = {"fixed": FixedPoint, "modular": Modular, "prime": PrimeField}[kind]
    return CoreConfig(ring(*parameters), **sizes, **units)


class Traffic:
    """The traffic of one run: random programs, vectors, loads, gaps, stalls and resets."""

    def __init__(self, core, seed):
        ring, width, threads, depth, inputs, weights, self.fifo, attention, check, *_ = core
        self.rng = rng = Random(seed)
        self.model = page.Model(
            *(ring, width, threads, depth, inputs, weights, attention, check),
            *(units_of(core), pipeline_of(core), repeat_of(core)),
        )
        self.address_bits = max(self.model.address_bits)
        self.load_bits = max(*self.model.data_bits, *self.model.settings_bits)
        # In a core with a window, the words of that, and of a vector; otherwise of a vector alone.
        self.size = rng.choice([1 << n for n in range((inputs - 1).bit_length() + 1)]) if self.model.window else inputs
        few = rng.choice((1, 1, 1, 2, 3))
        self.lengths = rng.sample(range(1, self.size + 1), min(self.size, few))
        self.readable = min(inputs, self.size) if self.model.window else min(self.lengths)
        self.ops = [1, 1, 2, 2, *[3, 4, 5, 3, 4] * attention, *[7] * check]
        self.registers = [register for register in range(width) if not (self.model.memory and register == 1)]
        self.begins = self.model.memory and self.model.state
        if self.model.memory:
            # Loops would move what is read.
            self.ops = [op for op in self.ops if op != 5] + [5] * (self.begins and not self.model.repeat)
        self.marked = rng.random() < 0.95  # whether programs mark their last output
        self.kinds = (0,)
        if self.model.argmax and self.marked:
            self.kinds = rng.choice(((0,), (0, 1, 2, 3), (1,), (1, 1, 2), (1, 1, 3)))
        self.script, self.mode = [], "free"

    # Programs

    def element(self):
        rng, count = self.rng, self.model.elements
        return rng.choice((0, 1, count // 2, count - 1)) % count if rng.random() < 0.3 else rng.randrange(count)

    def encode(self, op, neg=None, flag=None, dst=None, src=None, u=None, k=None, relu=None):
        """A program word; fields that are not given are noise."""
        word = at = 0
        for size, value in zip_longest(self.model.fields, (op, neg, flag, relu, dst, src, u, k)):
            word |= (self.rng.getrandbits(size) if value is None else value) << at
            at += size
        return word

    def step(self, op, **fields):
        """A well-formed word of operation ``op`` that reads no input past the end of the shortest vector."""
        rng, model = self.rng, self.model
        dst = rng.choice(self.registers)
        if op <= 3:
            fields = {"dst": dst, "src": (dst + rng.randrange(1, model.width)) % model.width} | fields
        elif model.memory and op == 5:  # threads without a vector begin as well, but have nothing else to read
            fields = {"dst": dst, "src": 1, "flag": 1}
        elif model.memory:
            fields = {"dst": 1 if op == 4 else dst} | fields
        if op in (1, 4):
            fields["u"] = model.index(rng.randrange(self.readable))
        if op in (2, 4, 5):
            fields["k"] = rng.randrange(len(model.memories[page.WEIGHTS]))
        return self.encode(op, **fields)

    def other(self):
        """A word that is no ``EMIT``, malformed now and then."""
        rng, model = self.rng, self.model
        while rng.random() < self.malformed:
            word = self.encode(None)
            if word & 7 != page.EMIT and model.decode(word)[-1]:
                return word
        op = rng.choice(self.ops)
        if model.sums and op in (1, 2) and rng.random() < 0.4:
            return self.step(op, dst=model.accumulator, src=rng.randrange(model.width))
        if model.assign and op <= 3 and rng.random() < 0.1:
            register = rng.choice(self.registers)
            return self.step(op, dst=register, src=register, flag=1)
        return self.step(op)

    def emit(self, neg, flag=None, last=False):
        """An ``EMIT``, malformed now and then where there are numbers without a register."""
        width, every = self.model.width, 1 << self.model.fields[4]
        bad = every > width and self.rng.random() < self.malformed
        dst = self.rng.randrange(width, every) if bad else self.rng.choice(self.registers)
        if self.model.memory:  # nothing restarts
            flag = int(self.rng.random() < self.malformed)
        src = None
        if self.model.argmax:  # programs send all words, or compare some, or all; the last one is sent
            src = self.rng.choice([kind for kind in self.kinds if kind in (0, 3) or not last] or [3])
        return self.encode(page.EMIT, neg, flag, dst, src)

    def undone(self, room):
        """At most ``room`` steps, and their inverse with a check. The accumulator is built anew for each use."""
        rng, groups = self.rng, []
        while True:
            op = rng.choice([op for op in self.ops if op <= 3])
            build = [self.step(rng.choice((4, 5)), flag=int(not n)) for n in range(rng.randint(1, 2) * (op == 3))]
            room -= len(build) + 1
            if room < 0:
                break
            word = self.step(op, flag=0)
            if build and self.model.sums:  # a form must not read the register that is written
                others = [r for r in range(self.model.width) if r != self.model.decode(word)[4]]
                sum_of = {"dst": self.model.accumulator, "src": rng.choice(others), "flag": 0}
                build[1:] = [self.step(rng.choice((1, 2)), **sum_of) for _ in build[1:]]
            groups.append((build, word))
        there = [word for build, word in groups for word in (*build, word)]
        back = [word for build, word in reversed(groups) for word in (*build, word ^ 8)]
        if back and rng.random() < 0.2:
            back[rng.randrange(len(back))] ^= 8
        if self.model.memory:
            back += [word ^ 24 for word in self.assigns() if self.model.decode(word)[4] != 1]
            return there, [*back, *(self.encode(page.CHECK, flag=0, dst=register) for register in self.registers)]
        return there, [*back, self.encode(page.CHECK)]

    def assigns(self):
        """Words that assign all registers in memory, and ``S``; where there is state, half of them in first runs."""
        model = self.model
        if not model.memory:
            return []
        registers = [register for register in range(model.width) if register != 1 or model.attention]
        weights = len(model.memories[page.WEIGHTS])
        ops = [page.BIAS if self.begins and r % 2 == 0 else page.APPLY_W for r in registers]
        return [self.encode(op, 0, 1, r, 1, 0, r % weights, 0) for op, r in zip(ops, registers, strict=True)]

    def program(self):
        """A program, whose last ``EMIT`` alone has ``neg``, and the settings that go with it."""
        rng, model = self.rng, self.model
        self.malformed = rng.choice((0, 0, 0, 0.1, 0.3))
        most = self.fifo // model.threads
        outputs = rng.randint(1, min(most, model.depth, rng.choice((1, 2, most))))
        first = self.assigns()
        room = min(model.depth - len(first), rng.choice((outputs, 8, max(4, 60 // model.threads)))) - outputs
        emits = [self.emit(0) for _ in range(outputs - 1)]
        if model.check and room > 2 and rng.random() < 0.4:
            more = 2 * len(self.registers) if model.memory else 0
            there, back = self.undone(max(0, min(room, model.depth - len(first) - outputs - more) - 1) // 2)
            words = [*there, *(word & ~16 for word in emits), *back]
            tail = 0
        else:
            room = max(0, room)
            tail = rng.randint(0, room) if rng.random() < 0.3 else 0
            words = emits + [self.other() for _ in range(room - tail)]
            rng.shuffle(words)
        words += [self.emit(int(self.marked), last=True)]
        rest = [self.other() for _ in range(tail)]
        if model.repeat and rng.random() < 0.3:  # a loop that the run leaves open, unless its end is met
            rest += self.loop(rng.randrange(model.repeat), rng.randrange(3), [], rng.random() < 0.5)
        for _ in range(8 if model.repeat else 0):
            looped = self.looped(words, len(first))
            if self.may_run([*first, *looped, *rest]):
                words = looped
                break
        self.words = [*first, *words, *rest]
        self.first, self.end, self.outputs = len(first), len(first) + len(words) - 1, outputs
        if model.repeat:
            self.outputs = sum(word[0] == page.EMIT for _, word in model.walk(self.words, len(self.words) - 1))
        return [
            *((page.PROGRAM, address, word) for address, word in enumerate(self.words)),
            (page.SETTINGS, page.LAST_WORD, len(self.words) - 1),
            (page.SETTINGS, page.BATCHES, self.batches()),
        ]

    # Loops

    def loop(self, level, begin, body, stepped):
        """A loop over ``body`` whose first word, a step if ``stepped``, has the address ``begin``."""
        rng = self.rng
        few = (0, 0, 1, -1, 2)
        moves = [rng.choice(few) % (1 << size) for size in self.model.fields[4:8]]
        if self.model.repeat == 1:
            moves[:2] = None, None
        head = [self.encode(0, 1, level, *moves)] if stepped else []
        end = (begin + len(head) + len(body)) % 64
        rounds = rng.choice((0, *STATES[:4]))
        marks = self.encode(0, 0, 1) & (1 << self.model.payload_at) - 1
        above = rng.getrandbits(3) & 7 >> (self.model.repeat == 2) if self.model.repeat == 1 else level
        payload = end | rounds << 6 | above << 17
        word = marks | payload << self.model.payload_at
        return [*head, word & (1 << sum(self.model.fields)) - 1, *body]

    def looped(self, words, base):
        """``words``, whose first has the address ``base``, with loops; the last word may end one."""
        rng = self.rng
        cuts = sorted(rng.choices(range(len(words) + 1), k=4))
        before, head, body, tail, after = (
            words[begin:end] for begin, end in zip([0, *cuts], [*cuts, len(words)], strict=True)
        )
        at = base + len(before)
        outer = self.model.repeat == 2 and rng.random() < 0.7 and bool(head or body or tail)
        stepped = rng.random() < 0.8
        inside = at + (1 + stepped) * outer
        if body:
            body = self.loop(0, inside + len(head), body, rng.random() < 0.8)
        middle = [*head, *body, *tail]
        if outer:
            middle = self.loop(1, at, middle, stepped)
        if after and rng.random() < 0.5:
            after = self.loop(0, at + len(middle), after, rng.random() < 0.8)
        return [*before, *middle, *after]

    def may_run(self, words):
        """Whether a run of ``words`` is short, has room for its results, and reads what is known."""
        model = self.model
        if len(words) > model.depth:
            return False
        issued = [word for _, word in model.walk(words, len(words) - 1)]
        emits = [word for word in issued if word[0] == page.EMIT]
        return (
            len(issued) * model.threads <= CYCLES // 2
            and len(emits) * model.threads <= self.fifo
            and [word[1] for word in emits] == [0] * (len(emits) - 1) + [int(self.marked)]
            and all(model.index(word[6]) < self.readable for word in issued if word[0] in (1, 4) and not word[-1])
        )

    def batches(self):
        """Batches whose results fit the FIFO, or fewer."""
        most = min(7, self.fifo // (self.model.threads * self.outputs))
        return self.rng.choice((most, most, self.rng.randint(1, most)))

    # Loads

    def load_all(self):
        """Everything, in any order; before a vector may be offered its length must be known."""
        rng, model = self.rng, self.model
        script = self.program()
        script += [(page.WEIGHTS, n, self.element()) for n in range(len(model.memories[page.WEIGHTS]))]
        script += [(page.START, n, self.element()) for n in range(len(model.memories[page.START]))]
        script.append((page.SETTINGS, page.LAST_INPUT, rng.choice(self.lengths) - 1))
        if model.marks:
            script.append((page.SETTINGS, page.STATE, rng.getrandbits(model.width)))
        if model.window:
            script.append((page.SETTINGS, page.WINDOW, self.size))
        rng.shuffle(script)
        if rng.random() < 0.5:
            script.sort(key=lambda item: item[:2] == (page.SETTINGS, page.LAST_INPUT))
        self.script, self.mode = script, rng.choice(("steady", "alone"))

    def load_some(self):
        """One of the loads in mid-stream. ``steady``: offered in every cycle, so that no batch starts before all is
        written; ``alone``: no vector is offered meanwhile. Programs without a mark stay what they are."""
        rng, model = self.rng, self.model
        kind = rng.randrange(8 if self.marked else 3)
        mode = "free"
        if kind == 0 or (kind == 1 and model.memory):
            script = [(page.WEIGHTS, rng.randrange(len(model.memories[page.WEIGHTS])), self.element())]
        elif kind == 1:
            script = [(page.START, rng.randrange(model.width), self.element())]
        elif kind == 2:
            at = rng.randrange(self.first, len(self.words))
            words = self.words.copy()
            if words[at] & 7 != page.EMIT:
                words[at] = self.other()
            elif at != self.end:
                words[at] = self.emit(0)
            if not model.repeat or (self.words[at] & 7 and self.may_run(words)):
                self.words = words
            script = [(page.PROGRAM, at, self.words[at])]
        elif kind == 3:
            script = [(page.SETTINGS, page.BATCHES, self.batches())]
        elif kind == 4:
            script = [(page.SETTINGS, page.LAST_WORD, rng.randint(self.end, len(self.words) - 1))]
        else:
            script = self.program()
            mode = "steady" if model.waiting else rng.choice(("steady", "alone"))
            if not model.vector and not (model.window and model.vectors) and rng.random() < 0.7:
                mode = "alone" if mode == "alone" else "steady alone"
                script.append((page.SETTINGS, page.LAST_INPUT, rng.choice(self.lengths) - 1))
            rng.shuffle(script)
        self.script, self.mode = script, mode

    # Cycles

    def rows(self):
        """Rows of input pins, and of the output pins that the model expects. The first is a reset."""
        rng, model = self.rng, self.model
        random, noise = rng.random, rng.getrandbits
        settings = model.memories[page.SETTINGS]
        resets = rng.choice((0, 0, 0, 0.005, 0.02))
        loads = rng.choice((0, 0.005, 0.02))
        reloads = rng.choice((0, 0.05, 0.3))  # while results wait
        early = rng.choice((0, 0.1, 0.5))
        left = 0
        rows, expected = [], []
        self.load_all()
        for cycle in range(CYCLES):
            if not left:
                left = rng.randint(1, 60)
                offers, takes, writes = (rng.choice((0, 0.1, 0.5, 0.9, 1, 1)) for _ in range(3))
            left -= 1
            load_ready = model.out[5]
            if not self.script:
                self.mode = "free"
                if random() < (reloads if model.results and load_ready else loads):
                    self.load_some()

            reset = int(not cycle or random() < resets)
            i_valid, i_data, i_last = 0, noise(model.bits), noise(1)
            known = settings[page.LAST_INPUT] is not None and not (model.window and settings[page.WINDOW] is None)
            if random() < offers and known and "alone" not in self.mode:
                i_valid, i_data = 1, self.element()
                if len(model.vector) == settings[page.LAST_INPUT]:
                    i_last = int(random() < early)

            load_valid, space, address, data = 0, noise(2), noise(self.address_bits), noise(self.load_bits)
            if self.script and not reset and ("steady" in self.mode or random() < max(writes, 0.1)):
                load_valid = 1
                space, low, value = self.script[-1]
                size = model.settings_bits[low] if space == page.SETTINGS else model.data_bits[space]
                address = address >> model.address_bits[space] << model.address_bits[space] | low
                data = data >> size << size | value
                if load_ready:
                    self.script.pop()

            row = (reset, i_valid, i_data, i_last, int(random() < takes), load_valid, space, address, data)
            rows.append(row)
            expected.append(model.step(row))
        return np.array(rows, dtype=np.uint64), np.array(expected, dtype=np.uint64)


def first_difference(expected, seen):
    """Cycle, pin, expected and seen value of the first difference. Data pins mean nothing while their ``valid`` is low,
    and nothing does in the first cycle, before the reset."""
    seen = seen.copy()
    seen[seen[:, OUTPUTS.index("o_valid")] == 0, OUTPUTS.index("o_data") : OUTPUTS.index("o_fault") + 1] = 0
    seen[seen[:, OUTPUTS.index("retire_valid")] == 0, OUTPUTS.index("retire_thread") :] = 0
    seen[0] = expected[0]
    for cycle, pin in np.argwhere(expected != seen)[:1]:
        return int(cycle), OUTPUTS[pin], int(expected[cycle, pin]), int(seen[cycle, pin])
    return None


@pytest.mark.parametrize("number", range(len(CORES)), ids=map(name_of, CORES))
def test_every_pin_follows_the_page(number):
    core = CORES[number]
    player = Player(config_of(core))
    for seed in range(number, RUNS, len(CORES)):
        rows, expected = Traffic(core, seed).rows()
        if found := first_difference(expected, player.play(rows)):
            cycle, pin, want, got = found
            pytest.fail(f"run {seed} of {core}: {pin} is {got} in cycle {cycle}, the page says {want}")


def test_the_traffic_meets_everything():
    met = Counter()
    for seed in range(RUNS // 10):
        rows, expected = Traffic(CORES[seed % len(CORES)], seed).rows()
        pins = dict(zip((*INPUTS, *OUTPUTS), np.hstack([rows, expected]).T, strict=True))
        op = np.where(pins["retire_valid"], pins["retire_op"], 8)
        high = {name: pin == 1 for name, pin in pins.items()}
        taken, written = high["o_valid"] & high["o_ready"], high["load_valid"] & high["load_ready"]
        events = {
            "reset while busy": high["rst"] & high["busy"],
            "reset while a result waits": high["rst"] & high["o_valid"],
            "word lost in a reset": high["rst"] & high["i_valid"] & high["i_ready"],
            "word waits for a buffer": high["i_valid"] & ~high["i_ready"],
            "result waits": high["o_valid"] & ~high["o_ready"],
            "load waits": high["load_valid"] & ~high["load_ready"],
            "write while a result waits": written & high["o_valid"] & ~high["o_ready"],
            "write while a result is taken": written & taken,
            "write clears the fault": written[:-1] & high["fault"][:-1] & ~high["fault"][1:],
            "write leaves the fault": written[:-1] & high["fault"][:-1] & high["fault"][1:],
            "last result with fault": taken & high["o_last"] & high["o_fault"],
            "last result without fault": taken & high["o_last"] & ~high["o_fault"],
            **{f"operation {n} with fault": (op == n) & high["retire_fault"] for n in range(8)},
            **{f"operation {n} without fault": (op == n) & ~high["retire_fault"] for n in range(1, 8)},
        }
        met.update({name: int(cycles.sum()) for name, cycles in events.items()})
    assert {name: count for name, count in met.items() if count < 20} == {}
