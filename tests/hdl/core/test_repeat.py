"""The repeat unit by itself: where a body is begun again, and what is added to which index."""

import numpy as np
import pytest
from skinny.hdl.core.repeat import Loops, Mover
from skinny.model.machine.isa import CoreConfig, Op, Sending
from skinny.model.machine.repeat import repeat_word
from skinny.model.rings import Modular

CONFIG = CoreConfig(Modular(16), 5, 4, 128, 16, 64, sums=True, argmax=16, repeat=2)
APPLY = CONFIG.encode(Op.APPLY_X, dst=0, src=1)


def fields_of(word):
    """A program word as a value of its layout."""
    return {name: int(column) for name, column in CONFIG.decode(np.uint64(word)).items()}


def rtl_addresses(bench, words, last, restarts=()):
    """The addresses that are issued until ``last`` ends a run; the steps whose numbers are ``restarts`` are cut off,
    and a run begins anew."""
    loops = Loops(CONFIG)
    seen = []

    async def drive(ctx):
        pc = 0
        for number in range(200):
            ctx.set(loops.pc, pc)
            ctx.set(loops.over, 0)
            seen.append(pc)
            for cycle in range(CONFIG.threads):
                turn = cycle == CONFIG.threads - 1
                # A word is known two cycles after its address, and stays until the next one is.
                if cycle == 2:
                    ctx.set(loops.word, fields_of(words[pc]))
                ctx.set(loops.turn, turn)
                if turn:
                    back, begin = ctx.get(loops.back), ctx.get(loops.begin)
                    over = number in restarts or (pc == last and not back)
                    ctx.set(loops.over, over)
                await ctx.tick()
            if over and number not in restarts:
                return
            pc = 0 if over else begin if back else pc + 1

    bench.simulate(loops, drive)
    return seen


def test_an_inner_loop_runs_in_each_round_of_the_outer_one(bench):
    words = [repeat_word(CONFIG, 1, 3, 3), APPLY, repeat_word(CONFIG, 0, 3, 2), APPLY, APPLY]
    assert rtl_addresses(bench, words, 4) == [0] + 3 * [1, 2, 3, 3] + [4]


def test_a_run_that_ends_leaves_no_loop_open(bench):
    # The first run is ended in the middle of its loop; the next one does not meet the word that opens it.
    words = [APPLY, repeat_word(CONFIG, 0, 2, 9), APPLY, APPLY]
    assert rtl_addresses(bench, words, 3, restarts=(3,)) == [0, 1, 2, 2] + [0, 1] + 9 * [2] + [3]


def test_an_address_that_shares_its_low_bits_with_an_old_end_ends_nothing(bench):
    words = [repeat_word(CONFIG, 0, 1, 2), *[APPLY] * 63]
    assert rtl_addresses(bench, [*words, APPLY, APPLY], 65) == [0, 1, 1, *range(2, 66)]


@pytest.mark.parametrize("field", ["dst", "src", "u", "k"])
def test_a_step_is_added_to_its_own_index(bench, field):
    mover = Mover(CONFIG)

    async def drive(ctx):
        ctx.set(mover.first, 1)
        await ctx.tick()
        ctx.set(mover.first, 0)
        ctx.set(mover.step, {field: 3})
        ctx.set(mover.word, fields_of(CONFIG.encode(Op.APPLY_X, dst=1, src=2, u=3, k=4)))
        await ctx.tick()
        ctx.set(mover.step, {})
        assert moved(ctx) == {"dst": 1, "src": 2, "u": 3, "k": 4}
        await ctx.tick()
        wanted = {"dst": 1, "src": 2, "u": 3, "k": 4}
        wanted[field] += 3
        assert moved(ctx) == wanted
        # The offset is forgotten when a run begins.
        ctx.set(mover.first, 1)
        await ctx.tick()
        ctx.set(mover.first, 0)
        await ctx.tick()
        assert moved(ctx) == {"dst": 1, "src": 2, "u": 3, "k": 4}

    def moved(ctx):
        return {name: ctx.get(mover.word_o[name]) for name in ("dst", "src", "u", "k")}

    bench.simulate(mover, drive)


@pytest.mark.parametrize("looping", [0, 1])
def test_only_without_rounds_left_an_output_is_the_last(bench, looping):
    mover = Mover(CONFIG)

    async def drive(ctx):
        ctx.set(mover.first, 1)
        await ctx.tick()
        ctx.set(mover.looping, looping)
        ctx.set(mover.word, fields_of(CONFIG.encode(Op.EMIT, dst=2, neg=1, src=int(Sending.DECIDE))))
        await ctx.tick()
        assert ctx.get(mover.word_o.neg) == 1 - looping
        assert ctx.get(mover.word_o.src) == (Sending.COMPARE if looping else Sending.DECIDE)

    bench.simulate(mover, drive)
