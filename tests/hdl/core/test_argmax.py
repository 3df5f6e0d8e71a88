"""Argmax: the number of the largest word of each thread, when words follow each other as fast as they can."""

import numpy as np
import pytest
from amaranth.back import rtlil
from skinny.hdl.core.argmax import Argmax
from skinny.model.machine.isa import CoreConfig, Sending
from skinny.model.rings import Modular
from skinny.sim.fpga.tools import run_tool


@pytest.mark.parametrize("threads", [4, 5, 8])
@pytest.mark.parametrize("seed", range(3))
def test_words_that_follow_each_other_are_compared_in_time(bench, threads, seed):
    """Runs of one to six words with nothing between them: each thread is back after ``threads`` cycles, and the word
    that it compares with was written just before. There are few different words, so that many are equal."""
    rng = np.random.default_rng(seed)
    argmax = Argmax(CoreConfig(Modular(4), threads=threads, argmax=8))
    sent, expected = [], []

    async def drive(ctx):
        await ctx.tick().repeat(int(rng.integers(3)))
        for _ in range(12):
            count = int(rng.integers(1, 7))
            words = rng.choice([0, 1, 7, 8, 15], (count, threads))
            valid = int(rng.integers(1, threads + 1))  # threads behind it have no vector
            for number in range(count):
                sending = Sending.DECIDE if number == count - 1 else Sending.COMPARE
                if rng.integers(4) == 0 and number < count - 1:
                    sending, words[number] = Sending.ZERO, 0
                for thread in range(threads):
                    word = {"data": int(words[number, thread]), "last": int(rng.integers(2)), "fault": 0}
                    last = number == count - 1
                    ctx.set(argmax.sender, {"live": 1, "emit": 1, "last": last, "sending": sending})
                    ctx.set(argmax.push, thread < valid)
                    ctx.set(argmax.word, word)
                    if last and thread < valid:
                        signed = (words[:, thread] ^ 8) - 8
                        expected.append((int(np.argmax(signed)), word["last"]))
                    await tick(ctx)
            # A word that is no EMIT, whose fields mean nothing, and now and then a gap before the next batch.
            for _ in range(threads):
                ctx.set(argmax.sender, {"live": 1, "emit": 0, "last": 1, "sending": int(rng.integers(4))})
                ctx.set(argmax.push, 0)
                ctx.set(argmax.word, {"data": int(rng.integers(16)), "last": 1, "fault": 0})
                await tick(ctx)
            ctx.set(argmax.sender, {"live": 0, "emit": 0, "last": 0, "sending": 0})
            for _ in range(int(rng.integers(3))):
                await tick(ctx)

    async def tick(ctx):
        await ctx.tick()
        if ctx.get(argmax.push_o):
            sent.append((ctx.get(argmax.word_o.data), ctx.get(argmax.word_o.last)))

    bench.simulate(argmax, drive)
    assert len(expected) > 12
    assert sent == expected


def test_other_words_pass_a_cycle_later(bench):
    argmax = Argmax(CoreConfig(Modular(8), argmax=2))

    async def drive(ctx):
        ctx.set(argmax.sender, {"live": 1, "emit": 1, "last": 1, "sending": Sending.SEND})
        for data, last, fault in ((200, 1, 0), (3, 0, 1), (0, 1, 1)):
            ctx.set(argmax.word, {"data": data, "last": last, "fault": fault})
            ctx.set(argmax.push, 1)
            await ctx.tick()
            word = argmax.word_o
            assert (ctx.get(argmax.push_o), ctx.get(word.data)) == (1, data)
            assert (ctx.get(word.last), ctx.get(word.fault)) == (last, fault)
        ctx.set(argmax.push, 0)
        await ctx.tick()
        assert not ctx.get(argmax.push_o)

    bench.simulate(argmax, drive)


@pytest.mark.parametrize("threads", [4, 8])
def test_no_word_is_read_while_it_is_written(tmp_path, threads):
    """Proven, without a bound, whatever comes in: the memory may give anything for such a word."""
    config = CoreConfig(Modular(2), threads=threads, argmax=2)
    bits = 1 + (threads - 1).bit_length()
    ports = "input clk, rst, push, input [3:0] word, input [4:0] sender"
    top = f"""module top({ports});
wire [{bits - 1}:0] addr, write_addr;
argmax core(.clk(clk), .rst(rst), .push(push), .word(word), .sender(sender),
  .\\best.addr (addr), .\\best.write_addr (write_addr));
always @* assert (addr != write_addr);
endmodule
"""
    (tmp_path / "top.sv").write_text(top)
    (tmp_path / "argmax.il").write_text(rtlil.convert(Argmax(config), name="argmax"))
    (tmp_path / "prove.ys").write_text(
        "read_rtlil argmax.il; delete t:$mem*; proc; flatten; expose w:best.addr w:best.write_addr; "
        "read_verilog -sv -formal top.sv; hierarchy -check -top top; proc; flatten; chformal -lower; opt -fast; "
        "sat -tempinduct -prove-asserts -seq 1 -maxsteps 3 top"
    )
    done = run_tool("yosys", ["-Q", "prove.ys"], tmp_path)
    assert done.code == 0, done.log
    assert "Import proof for assert" in done.log
    assert "Induction step proven: SUCCESS!" in done.log
