"""Upsets: what comes of a flipped bit is what an independent computation says, and a self-check misses none."""

from collections import Counter
from dataclasses import replace
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from skinny.model.compiler.pipeline import compile_formula
from skinny.model.errors import CheckError
from skinny.model.formula.parse import parse_formula
from skinny.model.machine.assemble import fit_image
from skinny.model.machine.cycles import retire_delay, timetable
from skinny.model.program.forms import Linear
from skinny.model.program.program import Columns, Output, Program
from skinny.model.program.text import loads
from skinny.model.rings import FixedPoint, Modular
from skinny.model.run import golden
from skinny.sim.check.stimulus import Stimulus, random_elements
from skinny.sim.simulators.state import MEMORIES, Element
from skinny.sim.upsets.campaign import OUTCOMES, Upsets, campaign, draw_bits
from skinny.sim.upsets.intervals import interval

RING = FixedPoint(16, 8)
#: Cores as ``skinny faults`` compares them, of one size for all programs: each is built once.
SIZE = {"depth": 64, "inputs": 4, "weights": 8}
CORES = {
    "plain": {"check": False, **SIZE},
    "undo": {"self_check": True, "guard": False, **SIZE},
    "self-check": {"self_check": True, **SIZE},
}


@cache
def program(text="y = (a + 2*b)*c*(a - 1/2*d)", attention=False):
    return compile_formula(parse_formula(text), attention=attention).program


@cache
def upsets(core, attention=False):
    return Upsets(fit_image(program(attention=attention), RING, **CORES[core]))


def stimulus_for(image, seed=1):
    elements = random_elements(np.random.default_rng(seed), image.config.ring, (16, image.vector))
    return Stimulus.steady(image, image.config.pack(elements))


def find(of, place, name):
    """The number of an element by its place and name."""
    chosen = [n for n, e in enumerate(of.elements) if (e.place, e.name.strip()) == (place, name)]
    assert len(chosen) == 1, [e.name for e in of.elements if e.place == place]
    return chosen[0]


def outcomes(of, stimulus, flips):
    done = of.run(stimulus, np.stack([of.flip(*flip) for flip in flips]))
    return [OUTCOMES[outcome] for outcome in done["outcome"]]


def when(image, stimulus, word, thread, batch=1):
    """The cycle in which the registers of ``thread`` meet word ``word``: the beginning of their way round."""
    start = int(timetable(image, stimulus.sizes).starts[batch])
    return start + word * image.config.threads + thread + retire_delay(image.config) - (image.config.threads - 1)


# Outcomes that are known


@pytest.mark.parametrize("core", CORES)
def test_flips_of_registers_do_what_the_golden_model_says(core):
    # A register that changes before word p is a run of the rest of the program from other registers.
    of = upsets(core)
    image, code = of.image, program().code
    stimulus = stimulus_for(image)
    elements = image.config.unpack(stimulus.vectors, len(stimulus.vectors))
    registers = golden.trace(program(), RING, elements)
    rng = np.random.default_rng(3)
    flips, differs = [], []
    for _ in range(300):
        word, thread, register, bit = (int(rng.integers(n)) for n in (len(program()) + 1, 4, 3, 16))
        flips.append((find(of, "registers R", f"r{register}_0"), 0, bit, when(image, stimulus, word, thread)))
        vector = 4 + thread
        start = registers[word, vector].copy()
        flipped = (int(start[register]) & 0xFFFF) ^ 1 << bit
        start[register] = flipped - (flipped >> 15 << 16)
        rest = replace(
            program(),
            code=code.part(slice(word, None)),
            outputs=tuple(output._replace(at=output.at - word) for output in program().outputs),
        )
        got = golden.run(rest, RING, elements[vector : vector + 1], start=start).outputs
        differs.append(bool((got != golden.run(program(), RING, elements[vector : vector + 1]).outputs).any()))
    assert 0.2 < np.mean(differs) < 0.95
    harm = ["masked", "wrong"] if core == "plain" else ["detected", "detected"]
    assert outcomes(of, stimulus, flips) == [harm[differ] for differ in differs]


def test_a_flip_after_the_last_use_is_masked():
    # Once the status was read from them nobody reads the registers, and the next run begins with the start vector.
    for core in ("plain", "self-check"):
        of = upsets(core)
        stimulus = stimulus_for(of.image)
        after = when(of.image, stimulus, len(of.image) - 1, 2) + 1
        flips = [(find(of, "registers R", f"r{register}_1"), 0, 5, after) for register in range(3)]
        assert outcomes(of, stimulus, flips) == ["masked"] * 3


def test_errors_that_undo_themselves_need_the_guard():
    # A weight, an input or a start value that is wrong from the beginning is wrong on the way back as well.
    seen = {}
    for core in CORES:
        of = upsets(core)
        stimulus = stimulus_for(of.image)
        first, second = (int(start) - 1 for start in timetable(of.image, stimulus.sizes).starts[:2])
        flips = [
            (find(of, "weight memory", "memory"), 0, 9, second),
            (find(of, "input memory", "memory"), 1 << 4, 9, second),  # bank 1, thread 0, input 0
            (find(of, "start and settings", "start1"), 0, 9, first),
        ]
        seen[core] = outcomes(of, stimulus, flips)
    assert seen == {"plain": ["wrong"] * 3, "undo": ["wrong"] * 3, "self-check": ["detected"] * 3}


def test_the_accumulator_is_checked_across_the_turn():
    # The form that was used last before the emit is the first on the way back.
    seen = {}
    for core in CORES:
        of = upsets(core, attention=True)
        image = of.image
        stimulus = stimulus_for(image)
        turn = int(np.flatnonzero(image.instructions <= -2)[0])
        uses = np.flatnonzero(image.config.decode(image.words[:turn])["op"] == 3)
        flips = [(find(of, "accumulator S", "r3_0"), 0, 9, when(image, stimulus, int(uses[-1]), 1))]
        seen[core] = outcomes(of, stimulus, flips)
    assert seen == {"plain": ["wrong"], "undo": ["detected"], "self-check": ["detected"]}


def test_a_word_on_its_way_out():
    # The product of an emit, then the word in the FIFO, read from it, and in front of the receiver.
    seen = {}
    for core in CORES:
        of = upsets(core)
        stimulus = stimulus_for(of.image)
        emit = int(np.flatnonzero(of.image.instructions <= -2)[0])
        retired = when(of.image, stimulus, emit, 1) + 3
        number = 4 * of.image.emits + 1  # of the second batch the second thread
        outside = {e.name: n for n, e in enumerate(of.elements) if e.scope.endswith(".results.memory")}
        flips = [
            (find(of, "multiply-add", "m3_0_o"), 0, 7, retired),
            (find(of, "result FIFO", "memory"), number, 7, retired + 1),
            (outside["_0_"], 0, 7, retired + 2),
            (outside["data"], 0, 7, retired + 3),
        ]
        seen[core] = outcomes(of, stimulus, flips)
    assert seen == {"plain": ["wrong"] * 4, "undo": ["wrong"] * 4, "self-check": ["detected"] * 4}


def test_lost_words_are_found_by_time_out_or_number():
    seen = {}
    for core in ("plain", "self-check"):
        of = upsets(core)
        stimulus = stimulus_for(of.image)
        middle = when(of.image, stimulus, len(of.image) // 2, 0)
        seen[core] = outcomes(of, stimulus, [(find(of, "FIFO control", "tail"), 0, 0, middle)])
    assert seen == {"plain": ["timeout"], "self-check": ["detected"]}


def test_a_core_that_fails_by_itself_is_an_error():
    of = upsets("self-check")
    stimulus = stimulus_for(of.image)
    wrong = replace(of.image, weights=of.image.weights ^ np.uint64(1))
    with pytest.raises(CheckError, match="the core fails without an upset: wrong"):
        of.run(Stimulus.steady(wrong, stimulus.vectors), np.stack([of.flip(0, 0, 0, 10)]))
    assert outcomes(Upsets(of.image), stimulus, [(0, 0, 0, 10)])


def looped_image(registers, **more):
    """A self-checked program of four forms, whose terms are a loop, in a loop over the forms, there and back."""
    weights = tuple(Fraction(n, 16) for n in range(1, 34))
    forms = tuple(Linear(tuple((8 * n + u, u) for u in range(8)), 32) for n in range(4))
    code = Columns.of([0] * 4, [1] * 4, [1] * 4, range(4))
    inputs = tuple(f"x{u}" for u in range(8))
    looped = Program(3, inputs, weights, forms, code, (Output("y", 0, 4, False),))
    return fit_image(looped, RING, self_check=True, roll=True, registers=registers, **more)


def test_an_offset_that_is_upset_is_found():
    # Another input is taken from the first word to the last, so that the way back undoes what the way there did.
    seen = {}
    for guard in (False, True):
        of = Upsets(looped_image("flipflops", guard=guard))
        stimulus = stimulus_for(of.image)
        lowest = sum(of.image.config.fields[name] for name in ("dst", "src"))
        flip = (find(of, "instructions", "offset"), 0, lowest, when(of.image, stimulus, 2, 0))
        seen[guard] = outcomes(of, stimulus, [flip])
    assert seen == {False: ["wrong"], True: ["detected"]}


# Campaigns


def test_the_same_seed_gives_the_same_campaign():
    image = upsets("plain").image
    first, again, other = (campaign(image, 200, seed) for seed in (5, 5, 6))
    assert (first.outcome == again.outcome).all()
    assert (first.word == again.word).all()
    assert (first.place == again.place).all()
    assert (first.place != other.place).any()
    assert first.in_memory.sum() == 200
    assert {
        first.place[first.in_memory].tolist().count(memory) for memory in MEMORIES if memory != "register memory"
    } == {50}
    assert sum(first.counts(~first.in_memory).values()) == 200


@pytest.mark.parametrize("core", CORES)
def test_what_a_campaign_misses(core):
    image = fit_image(program("y0 = (a + 2*b)*c - 1/2*d; y1 = a*b*d", True), RING, **CORES[core])
    told = []
    done = campaign(image, 8000, 1, told.append)
    assert told[-1] == 16_000
    wrong = interval(done.counts(~done.in_memory)["wrong"], 8000)
    memories = interval(done.counts(done.in_memory)["wrong"], 8000)
    if core == "plain":
        assert wrong[0] > 0.3
        assert memories[0] > 0.2
    elif core == "undo":
        assert 0.001 < wrong[0] < wrong[1] < 0.05
        assert memories[0] > 0.05
    else:
        assert wrong[1] < 0.001
        assert memories[1] < 0.001


@pytest.mark.parametrize(("ring", "threads"), [(Modular(5), 1), (FixedPoint(12, 0), 6)], ids=lambda value: str(value))
def test_other_rings_and_threads_miss_nothing(ring, threads):
    image = fit_image(program("y = (a + 2*b)*c - 3*d", True), ring, self_check=True, threads=threads)
    done = campaign(image, 4000, 2)
    assert not done.wrong.any()
    assert done.counts(~done.in_memory)["detected"] > 2000


def test_registers_in_memory_miss_nothing():
    """A program with sums of registers."""
    text = """skinny 1
width 24
start 0 1 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0
inputs a b c
weight w[0] = 1
weight w[1] = 2
weight w[2] = -1/2
form f[0] = w[0]*a + w[1]*b + w[2]
form f[1] = w[0]*R5 + w[2]*R23 + w[1]
form f[2] = w[1]*R5 + b*R23
R5 += f[0]*R1
R23 += c*R5
R11 += f[1]*R1
R0 += f[2]*R11
emit y = R0
emit z = R11
end
"""
    done = campaign(fit_image(loads(text), RING, self_check=True, registers="memory"), 4000, 3)
    assert not done.wrong.any()
    assert done.counts(~done.in_memory)["detected"] > 2000
    assert done.counts(done.place == "register memory")["detected"] > 50


# Recovery


def test_every_bit_of_every_register_recovers():
    image = upsets("self-check").image
    registers = [element for element in upsets("self-check").elements if element.place not in MEMORIES]
    count = sum(element.bits * element.words for element in registers)
    done = campaign(image, count, 4, recover=True)
    assert done.recovered.all(), np.unique(done.place[~done.recovered])
    hit = {element.place for element in registers}
    assert set(done.place[~done.in_memory]) == hit


def test_settings_recover_in_the_first_round():
    # The guard still sees the old value in the cycle in which it is written.
    of = Upsets(upsets("self-check").image)
    stimulus = stimulus_for(of.image)
    cycle = int(timetable(of.image, stimulus.sizes).starts[1]) + 3
    numbers = [n for n, element in enumerate(of.elements) if element.place == "start and settings"]
    flips = np.stack([of.flip(n, 0, bit, cycle) for n in numbers for bit in range(of.elements[n].bits)])
    done = of.run(stimulus, flips, recover=True)
    assert (done["outcome"] == OUTCOMES.index("detected")).all()
    assert done["recovered"].all()


def test_recovery_is_judged_by_the_results():
    # Another program is loaded than the one whose results are due.
    of = upsets("plain")
    stimulus = stimulus_for(of.image)
    flips = np.stack([of.flip(0, 0, 0, 10)])
    assert of.run(stimulus, flips.copy(), recover=True)["recovered"].tolist() == [1]
    other = Upsets(replace(of.image, start=of.image.start ^ np.uint64(1)))
    other._core.load(of.image)
    assert other.run(stimulus, flips.copy(), recover=True)["recovered"].tolist() == [0]


def test_every_bit_is_drawn_before_any_is_drawn_again():
    elements = [Element("s", "a", 3, 1, ""), Element("s", "b", 4, 5, ""), Element("s", "c", 7, 2, "")]
    rows = draw_bits(np.random.default_rng(1), elements, np.array([0, 2]), 40)
    drawn = Counter(map(tuple, rows.tolist()))
    every = {(0, 0, bit) for bit in range(3)} | {(2, word, bit) for word in range(2) for bit in range(7)}
    assert set(drawn) == every
    assert sorted(drawn.values()) == [2] * 11 + [3] * 6


@pytest.mark.parametrize("registers", ["flipflops", "memory"])
def test_loops_are_guarded(registers):
    image = looped_image(registers)
    assert image.rolled
    done = campaign(image, 4000, 1)
    assert not done.wrong.any()
    assert done.word.max() < len(image)
