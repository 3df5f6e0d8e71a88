"""Segments: cut where nothing is built twice, of equal words, and together the program."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from skinny.model.errors import InputError
from skinny.model.machine.assemble import Image, assemble
from skinny.model.machine.isa import CoreConfig, Op, Space
from skinny.model.parallel.image import ImageOptions, build_image
from skinny.model.parallel.segments import EngineConfig, assemble_lanes, cut
from skinny.model.program.forms import Input, Linear, Weight
from skinny.model.program.program import Columns, Mode, Output, Program
from skinny.model.rings import FixedPoint, Modular

RING = Modular(16)


def program_of(forms, used, outputs=None, width=3):
    """Forms used one after the other by instructions of no interest."""
    length = len(used)
    return Program(
        width=width,
        inputs=("a", "b"),
        weights=(1, 2, 3),
        forms=tuple(forms),
        code=Columns.of([2] * length, [1] * length, [1] * length, used),
        outputs=tuple(outputs or (Output("y", 2, length),)),
    )


PLAIN = (Input(0), Weight(1))
LONG = Linear(((0, 0), (1, 1), (2, 0)), 2)


def words_of(program, cuts, state):
    """Words of each lane, counted by assembling its instructions alone."""
    out = []
    for number, (first, end) in enumerate(pairwise(cuts)):
        last = number == len(cuts) - 2
        alone = replace(program, code=program.code.part(slice(first, end)), outputs=(Output("y", 2, end - first),))
        core = CoreConfig(RING, width=program.width, depth=4096, inputs=4, weights=4)
        inside = [o for o in program.outputs if first < o.at <= end and (last or o.at < cuts[-1])]
        out.append(len(assemble(alone, core)) - 1 + len(inside) + (0 if last else state))
    return out


def test_equal_words():
    program = program_of(PLAIN, [0] * 100)
    for lanes in (2, 3, 7):
        words = words_of(program, cut(program, lanes, 3), 3)
        assert max(words) == -(-(101 + 3 * (lanes - 1)) // lanes)


def test_no_cut_is_better():
    # Every possible cut of a small program into three, compared by brute force.
    rng = np.random.default_rng(4)
    forms = (*PLAIN, LONG, Linear(((0, 0), (1, 1)), 2), Linear((), 1), Linear(((1, 1),)))
    for _ in range(4):
        used = rng.integers(0, len(forms), 11)
        program = program_of(forms, used, [Output("x", 0, 5), Output("y", 2, 11)])
        _, glued = program.costs()
        free = [p for p in range(12) if p in (0, 11) or not glued[p]]
        every = [[0, a, b, 11] for a in free for b in free if a <= b]
        best = min(max(words_of(program, cuts, 3)) for cuts in every)
        assert max(words_of(program, cut(program, 3, 3), 3)) == best


def test_a_form_is_never_built_for_nothing():
    # Two long forms, each used three times in a row: the only cuts that build neither twice are beside and between.
    program = program_of((LONG, Linear(((0, 1), (2, 1)))), [0, 0, 0, 1, 1, 1])
    assert cut(program, 2, 0) == [0, 3, 6]
    for lanes in (2, 3, 5):
        assert set(cut(program, lanes, 3)) <= {0, 3, 6}


def test_a_form_that_returns_is_built_anew():
    # What a lane builds again is counted: the middle would make 8 and 11 words of these 15.
    program = program_of((LONG, Input(0)), [0, *[1] * 4, 0, *[1] * 4])
    assert words_of(program, [0, 4, 10], 0) == [8, 11]
    assert words_of(program, cut(program, 2, 0), 0) == [10, 5]


def test_code_after_the_last_output_is_left_out():
    program = program_of(PLAIN, [0] * 50, [Output("y", 2, 20)])
    assert cut(program, 2, 3)[-1] == 20


def test_more_lanes_than_instructions():
    image = build_image(program_of(PLAIN, [0]), RING, ImageOptions(lanes=5))
    assert [len(lane) for lane in image.lanes][:3] == [3, 3, 3]
    assert sum(len(lane.program) for lane in image.lanes) == 1
    assert image.sent == (0, 0, 0, 0, 1)


def test_outputs_belong_to_the_lane_that_has_them():
    outputs = [Output("a", 0, 0), Output("b", 1, 10), Output("c", 2, 11, True), Output("d", 2, 20), Output("e", 0, 20)]
    image = build_image(program_of(PLAIN, [0] * 20, outputs), RING, ImageOptions(lanes=2))
    first, second = image.lanes
    assert len(first.program) == 10
    assert first.outputs == ("a", "b", "(R0)", "(R1)", "(R2)")
    assert second.outputs == ("c", "d", "e")
    assert (image.sent, image.combined) == ((2, 3), (0, 1))


def test_lanes_of_a_narrow_program_have_all_registers():
    program = Program(2, ("a",), (), (Input(0),), Columns.of([0] * 9, [1] * 9, [1] * 9, [0] * 9), (Output("y", 0, 9),))
    image = build_image(program, RING, ImageOptions(lanes=2))
    assert image.config.width == 3
    assert image.lanes[0].outputs == ("(R0)", "(R1)", "(R2)")


def test_load_words_name_lane_and_combiner():
    image = build_image(program_of(PLAIN, [0] * 20), RING, ImageOptions(lanes=2, depth=64))
    bits = image.hardware.lane_bits
    loads = list(image.loads())
    assert {item.address >> bits for item in loads} == {0, 1, 2}
    for number, lane in enumerate(image.lanes):
        mine = [
            item._replace(address=item.address & (1 << bits) - 1) for item in loads if item.address >> bits == number
        ]
        assert mine == list(lane.loads())
    combiner = [(item.space, item.address & (1 << bits) - 1, item.data) for item in loads if item.address >> bits == 2]
    # Batches, then outputs and combined columns of each lane.
    assert combiner == [(Space.SETTINGS, n, value) for n, value in enumerate([7, 0, 0, 1, 1])]
    assert all(item.address < 1 << image.hardware.address_bits for item in loads)
    assert all(item.data < 1 << image.hardware.load_bits for item in loads)


def test_listing_shows_all_lanes():
    text = build_image(program_of(PLAIN, [0] * 20), RING, ImageOptions(lanes=3)).listing()
    assert [line for line in text.splitlines() if line.startswith("lane")] == ["lane 0", "lane 1", "lane 2"]
    assert text.count("emit") == 3 + 3 + 1


def test_one_lane_is_a_core():
    image = build_image(program_of(PLAIN, [0] * 5), RING, ImageOptions(threads=2))
    assert isinstance(image, Image)
    assert (image.hardware, image.lanes, image.batch, image.emits) == (image.config, (image,), 2, 1)


def test_unit():
    def unit(ring):
        return EngineConfig(CoreConfig(ring, check=False), 2).unit

    assert unit(RING) == (1, 1)
    assert unit(FixedPoint(16, 8)) == (256, 1)
    assert unit(FixedPoint(16, 15)) == (1 << 15, -1)


def test_fit_leaves_what_is_given():
    engine = EngineConfig.fit(program_of(PLAIN, [0] * 100), RING, 2, threads=6, depth=4096, fifo=1024)
    assert (engine.core.depth, engine.core.fifo, engine.core.threads, engine.vectors) == (4096, 1024, 6, 2)
    assert EngineConfig.fit(program_of(PLAIN, [0] * 100), RING, 2).core.depth == 64


def core(**given):
    return CoreConfig(RING, **({"check": False, "threads": 4, "depth": 8, "inputs": 2, "weights": 4} | given))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: EngineConfig(core(), 17), "the number of lanes must be 1 to 16, not 17"),
        (
            lambda: build_image(program_of(PLAIN, [0]), RING, ImageOptions(lanes=0)),
            "the number of lanes must be 1 to 16, not 0",
        ),
        (lambda: EngineConfig(core(check=True), 2), "a lane cannot check: its registers do not begin with the start"),
        (
            lambda: EngineConfig(core(threads=3, width=4), 2),
            "lanes run a thread for each of 4 registers: 3 threads are too few",
        ),
        (
            lambda: assemble_lanes(program_of(PLAIN, [0] * 40), EngineConfig(core(), 2)),
            "lane 0: 22 program words do not fit a memory of 8",
        ),
        (
            lambda: assemble_lanes(program_of(PLAIN, [0], width=4), EngineConfig(core(), 2)),
            "4 registers do not fit the width 3",
        ),
        (
            lambda: assemble_lanes(program_of(PLAIN, [0] * 2), EngineConfig(core(fifo=8), 2)),
            "lane 0: 12 results of a batch do not fit a FIFO of 8",
        ),
    ],
)
def test_bad_arguments(make, message):
    with pytest.raises(InputError, match=message):
        make()


def test_no_lane_may_check():
    image = build_image(program_of(PLAIN, [0] * 20), RING, ImageOptions(lanes=2))
    assert image.config.malformed([image.config.encode(Op.CHECK)]).all()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"sums": True}, r"lanes need a linear program, but instruction \d+ multiplies with a sum of registers"),
        ({"modes": [Mode.RELU]}, "lanes need a linear program, but instruction 0 takes the relu"),
        ({}, "lanes send outputs, not the number of the largest: argmax needs a single core"),
    ],
)
def test_what_lanes_cannot_do_is_refused(random_program, changes, message):
    program = random_program(np.random.default_rng(2), **changes)
    program = program if changes else replace(program, argmax="best")
    with pytest.raises(InputError, match=f"^{message}$"):
        build_image(program, Modular(16), ImageOptions(lanes=2))
