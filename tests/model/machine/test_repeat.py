"""Words that make loops: how they are written and read, and what a run of them issues, step by step."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from skinny.model.errors import InputError
from skinny.model.machine.assemble import disassemble, fit_image
from skinny.model.machine.isa import CoreConfig, Op, Sending
from skinny.model.machine.repeat import MOST_ROUNDS, loop_words, repeat_word, round_states, step_word, unroll
from skinny.model.program.forms import Linear
from skinny.model.program.program import Columns, Output, Program
from skinny.model.rings import Modular

ONE_LEVEL = CoreConfig(Modular(16), inputs=16, weights=64, repeat=1)
TWO_LEVELS = CoreConfig(Modular(16), 7, inputs=16, weights=64, argmax=16, repeat=2)
DEEP = CoreConfig(Modular(16), 32, 8, inputs=16, weights=64, registers="memory", repeat=2)


def run(config, words):
    """Addresses and fields of what a run of ``words`` issues."""
    trace = unroll(np.array(words, dtype=np.uint64), config)
    return trace.addresses.tolist(), {name: column.tolist() for name, column in config.decode(trace.words).items()}


def ref_states():
    """The states of 2, 3, … rounds, from a shift register that is stepped from one round to the next, as a list of
    bits: bit 0 is the exclusive or of bits 10 and 8, the others move up."""
    forwards, bits = [], [1] + [0] * 10
    for _ in range(2047):
        forwards.append(sum(bit << place for place, bit in enumerate(bits)))
        bits = [bits[10] ^ bits[8], *bits[:10]]
    assert bits == [1] + [0] * 10
    return [forwards[0], *reversed(forwards[1:])]


def test_rounds_are_states_of_a_shift_register():
    assert list(round_states()[2:]) == ref_states()
    assert len(round_states()) == MOST_ROUNDS + 1


def test_inner_loops_run_in_every_round_of_the_outer_one():
    inner = [TWO_LEVELS.encode(Op.APPLY_W, dst=0, src=1, k=0)]
    words = [
        step_word(TWO_LEVELS, 0, {"k": 1}),
        step_word(TWO_LEVELS, 1, {"k": 8, "dst": 1}),
        repeat_word(TWO_LEVELS, 1, 5, 3),
        repeat_word(TWO_LEVELS, 0, 4, 2),
        *inner,
        TWO_LEVELS.encode(Op.EMIT, dst=0, src=int(Sending.DECIDE), neg=1),
    ]
    addresses, fields = run(TWO_LEVELS, words)
    assert addresses == [0, 1, 2] + 3 * [3, 4, 4, 5]
    applies = [at for at, op in enumerate(fields["op"]) if op == Op.APPLY_W]
    # The step of the outer loop is added to what the inner one left.
    assert [fields["k"][at] for at in applies] == [0, 1, 9, 10, 18, 19]
    assert [fields["dst"][at] for at in applies] == [0, 0, 1, 1, 2, 2]
    emits = [at for at, op in enumerate(fields["op"]) if op == Op.EMIT]
    assert [fields["neg"][at] for at in emits] == [0, 0, 1]
    assert [fields["src"][at] & 3 for at in emits] == [Sending.COMPARE, Sending.COMPARE, Sending.DECIDE]


def test_bodies_that_end_together_end_the_inner_loop_first():
    words = [
        repeat_word(TWO_LEVELS, 1, 2, 2),
        repeat_word(TWO_LEVELS, 0, 2, 3),
        TWO_LEVELS.encode(Op.APPLY_X, dst=0, src=1),
    ]
    assert run(TWO_LEVELS, words)[0] == [0, 1, 2, 2, 2, 1, 2, 2, 2]


def test_offsets_stay_after_a_loop_and_wrap():
    words = [
        step_word(ONE_LEVEL, 0, {"u": 5, "k": -1}),
        repeat_word(ONE_LEVEL, 0, 2, 4),
        ONE_LEVEL.encode(Op.ATTEND, u=4, k=2),
        ONE_LEVEL.encode(Op.ATTEND, u=0, k=0),
    ]
    fields = run(ONE_LEVEL, words)[1]
    assert fields["u"][2:] == [4, 9, 14, 3, 15]
    assert fields["k"][2:] == [2, 1, 0, 63, 61]


def test_one_level_moves_no_register():
    words = [ONE_LEVEL.encode(Op.NONE, neg=1, dst=1, src=1, u=1), repeat_word(ONE_LEVEL, 0, 2, 2)]
    fields = run(ONE_LEVEL, [*words, ONE_LEVEL.encode(Op.APPLY_X, dst=0, src=1)])[1]
    assert (fields["dst"][2:], fields["src"][2:], fields["u"][2:]) == ([0, 0], [1, 1], [0, 1])


def test_a_stored_accumulator_is_not_moved():
    words = [
        step_word(DEEP, 0, {"dst": 3, "src": 2}),
        repeat_word(DEEP, 0, 3, 2),
        DEEP.encode(Op.APPLY_W, dst=1, src=4),
        DEEP.encode(Op.APPLY_W, dst=5, src=4),
    ]
    fields = run(DEEP, words)[1]
    assert fields["dst"][2:] == [1, 5, 1, 8]
    assert fields["src"][2:] == [4, 4, 6, 6]


def test_the_words_of_loops_are_known_and_shown():
    words = [step_word(TWO_LEVELS, 1, {"dst": -1, "k": 9}), repeat_word(TWO_LEVELS, 1, 70, 2048)]
    words += [TWO_LEVELS.encode(Op.APPLY_X, dst=0, src=1), 0]
    assert loop_words(TWO_LEVELS, np.array(words, dtype=np.uint64)).tolist() == [True, True, False, False]
    texts = disassemble(np.array(words[:2], dtype=np.uint64), TWO_LEVELS)
    assert texts[0] == "step 1: dst -1, k +9"
    assert texts[1].startswith("repeat 1: 2048 rounds")


def test_a_listing_shows_a_loop_as_a_loop():
    image = fit_image(twice_eight(), Modular(16), roll=True, registers="flipflops")
    lines = [line[16:].rstrip() for line in image.listing().splitlines()]
    repeats = [n for n, line in enumerate(lines) if line.lstrip().startswith("repeat")]
    for at in repeats:
        end = int(lines[at].split(" to ")[1].split()[0])
        indent = len(lines[at]) - len(lines[at].lstrip())
        inside, after = lines[at + 1 : end + 1], lines[end + 1]
        assert inside
        assert all(line.startswith(" " * (indent + 2)) for line in inside)
        assert not after.startswith(" " * (indent + 2))
    assert repeats


def test_a_self_check_that_does_not_fit_flat_is_rolled():
    flat = fit_image(twice_eight(), Modular(16), self_check=True)
    assert not flat.rolled
    image = fit_image(twice_eight(), Modular(16), self_check=True, depth=32)
    assert image.rolled
    assert image.config.depth == 32
    # The program alone would fit.
    assert len(fit_image(twice_eight(), Modular(16))) <= 32 < len(flat)


def twice_eight():
    """Two forms of eight terms each."""
    forms = tuple(Linear(tuple((8 * n + u, u) for u in range(8)), 16) for n in range(2))
    code = Columns.of([0, 0], [1, 1], [1, 1], [0, 1])
    inputs = tuple(f"x{u}" for u in range(8))
    return Program(3, inputs, tuple(range(1, 18)), forms, code, (Output("y", 0, 2, False),))


@pytest.mark.parametrize("marks", [(0, 0), (1, 1)])
def test_with_one_level_no_other_marks_mean_anything(marks):
    word = ONE_LEVEL.encode(Op.NONE, neg=marks[0], flag=marks[1])
    assert ONE_LEVEL.malformed(np.array([word], dtype=np.uint64)).all()


def test_runs_that_are_too_long_are_refused():
    body = [TWO_LEVELS.encode(Op.APPLY_X, dst=0, src=1)] * 60
    words = [repeat_word(TWO_LEVELS, 1, 61, 2048), repeat_word(TWO_LEVELS, 0, 61, 2048), *body]
    with pytest.raises(InputError, match="does not end within 16777216 steps"):
        run(TWO_LEVELS, words)


# Random loops in loops, written by a program and followed by a recursion

MOVES = st.fixed_dictionaries({name: st.integers(-3, 3) for name in ("dst", "src", "u", "k")})
BODY = st.lists(st.integers(0, 15), min_size=1, max_size=5)
INNER = st.tuples(st.none() | MOVES, st.integers(2, 5), BODY)
PARTS = st.lists(BODY | INNER, min_size=1, max_size=4)
OUTER = st.tuples(st.none() | MOVES, st.integers(2, 4), PARTS)


def written(parts, level, base):
    """The words of ``parts``, lists of inputs that words read and loops; the first has the address ``base``."""
    words = []
    for part in parts:
        if isinstance(part, list):
            words += [TWO_LEVELS.encode(Op.APPLY_X, dst=3, src=2, u=u, k=7) for u in part]
            continue
        moves, rounds, inside = part
        head = [] if moves is None else [step_word(TWO_LEVELS, level, moves)]
        inside = [inside] if level == 0 else inside
        begin = base + len(words) + len(head) + 1
        body = written(inside, 0, begin)
        words += [*head, repeat_word(TWO_LEVELS, level, begin + len(body) - 1, rounds), *body]
    return words


def ref_applied(parts, level, held, offsets):
    """What the words of ``parts`` that make no loop have in their index fields, in the order in which they run."""
    sizes = [TWO_LEVELS.fields[name] for name in ("dst", "src", "u", "k")]
    for part in parts:
        if isinstance(part, list):
            for u in part:
                yield tuple((n + o) % (1 << b) for n, o, b in zip((3, 2, u, 7), offsets, sizes, strict=True))
            continue
        moves, rounds, inside = part
        if moves is not None:
            held[level] = [moves[name] for name in ("dst", "src", "u", "k")]
        for number in range(rounds):
            if number:
                offsets[:] = [a + b for a, b in zip(offsets, held[level], strict=True)]
            yield from ref_applied([inside] if level == 0 else inside, 0, held, offsets)


@settings(max_examples=150, deadline=None)
@given(st.lists(BODY | OUTER, min_size=1, max_size=4))
def test_random_loops_issue_what_a_recursion_says(parts):
    words = np.array(written(parts, 1, 0), dtype=np.uint64)
    issued = unroll(words, TWO_LEVELS).words
    fields = TWO_LEVELS.decode(issued[~loop_words(TWO_LEVELS, issued)])
    seen = list(zip(*(fields[name].tolist() for name in ("dst", "src", "u", "k")), strict=True))
    assert seen == list(ref_applied(parts, 1, [[0] * 4, [0] * 4], [0] * 4))
